#include "report/run/passages.h"

#include <algorithm>

#include "base/interruption.h"
#include "ops/loss/loss.h"
#include "report/figures/tokens_and_maps.h"

namespace heed {
namespace {

constexpr size_t kMaxPassageBytes = size_t{3} << 20;  // of all passages' maps

// Rows of one document.
struct DocumentRows {
  RowRange range;
  std::vector<int32_t> fed, expected;
};

// Rows of the document that most of the range lies in.
DocumentRows longest_part(const TextRows& rows, const RowRange& range) {
  const TokenBatch text = rows.read(std::span(&range, 1));
  const Segments& segments = text.tokens.segments();
  int64_t longest = 0;
  for (int64_t i = 1; i < segments.count(); ++i) {
    if (segments.length(i) > segments.length(longest)) {
      longest = i;
    }
  }
  const auto begin = segments.begin(longest), end = segments.end(longest);
  const std::span<const int32_t> fed = text.tokens.sequence(longest), expected = text.expected.ids();
  return {{range.begin + begin, range.begin + end},
          {fed.begin(), fed.end()},
          {expected.begin() + begin, expected.begin() + end}};
}

Passage read_passage(const Inference& inference, const Tokenizer& tokenizer, const DocumentRows& rows,
                     HeadFiguresSum& heads) {
  const CausalLM& model = inference.model.causal_lm();
  AttentionMaps maps;
  Pass pass = Pass::infer(inference.backend, inference.storage);
  const Hidden hidden = model.hidden(pass, Sequences({rows.fed}), {.maps = &maps});
  const LogProbs log_probs = log_softmax(pass, model.logits(pass, hidden));
  const auto length = static_cast<int64_t>(rows.fed.size());
  heads.add("decoder", maps.self, {inference.model.config().heads, length, length});
  const auto values = host<float>(log_probs.var().value());
  Passage passage{.where = {},
                  .fed_tokens = pieces_of(tokenizer, rows.fed),
                  .expected_tokens = pieces_of(tokenizer, rows.expected),
                  .log_probabilities = {},
                  .maps = in_255ths(maps.self)};
  for (size_t row = 0; row < rows.expected.size(); ++row) {
    passage.log_probabilities.push_back(values(static_cast<int64_t>(row), rows.expected[row]));
  }
  return passage;
}

}  // namespace

Passages read_passages(const Inference& inference, const Tokenizer& tokenizer, const TextRules& text,
                       const PassageRules& rules) {
  ThreadPool pool(inference.backend.threads());
  const TextCorpus corpus = read_text_corpus(text, tokenizer, pool);
  const TextRows rows(corpus, DocumentBorders::kept);
  Passages passages;
  const int64_t length = std::min(rules.max_tokens, inference.model.config().max_length);
  const int64_t count = std::clamp<int64_t>(rows.size() / length, 1, rules.count);
  size_t bytes = 0;
  HeadFiguresSum heads;
  for (int64_t i = 0; i < count && rows.size() > 0; ++i) {
    require_uninterrupted(state_of(rules.interruption), "report");
    const int64_t begin = i * (rows.size() / count);
    const RowRange range{begin, std::min(begin + length, rows.size())};
    const DocumentRows shown = longest_part(rows, range);
    Passage passage = read_passage(inference, tokenizer, shown, heads);
    passage.where = rows.describe(std::span(&shown.range, 1));
    bytes += passage.maps.size();
    if (bytes > kMaxPassageBytes) {
      passage.maps.clear();
    }
    passages.read.push_back(std::move(passage));
  }
  passages.heads = heads.take();
  if (bytes > kMaxPassageBytes) {
    passages.notes.emplace_back("Some attention maps are left out: they would make the page too large.");
  }
  return passages;
}

}  // namespace heed
