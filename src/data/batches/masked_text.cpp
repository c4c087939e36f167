#include "data/batches/masked_text.h"

#include <algorithm>

#include "base/errors.h"

namespace heed {
namespace {

constexpr std::string_view kSpace = "\u2581";  // how pieces of bpe and unigram show that a word begins

// Draws of a row, each from its own stream.
double draw(RandomKey key, std::string_view what, uint64_t row) { return uniform_draw(key.derive(what), row); }

std::vector<bool> word_beginnings(const Tokenizer& tokenizer) {
  constexpr std::string_view kContinuation = "##";
  std::vector<bool> begins;
  for (int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    const std::string_view piece = tokenizer.piece(TokenId(id));
    switch (tokenizer.kind()) {
      case TokenizerKind::bpe:
      case TokenizerKind::unigram:
        begins.push_back(piece.starts_with(kSpace));
        break;
      case TokenizerKind::wordpiece:
        begins.push_back(piece.size() <= kContinuation.size() || !piece.starts_with(kContinuation));
        break;
      default:
        begins.push_back(true);
    }
  }
  return begins;
}

}  // namespace

void MaskingRules::validate() const {
  require<ConfigError>(chosen > 0.0 && chosen <= 1.0, "recipe", "data.mask_share is {}, expected above 0 and at most 1",
                       chosen);
  require<ConfigError>(masked >= 0.0 && random >= 0.0 && masked + random <= 1.0, "recipe",
                       "data.mask_token_share is {} and data.random_token_share {}, expected at least 0, and at most 1 "
                       "together",
                       masked, random);
}

Masking::Masking(const Tokenizer& tokenizer, TokenId mask, const MaskingRules& rules)
    : rules_(rules), mask_(mask.value), begins_word_(word_beginnings(tokenizer)) {
  require<ConfigError>(
      rules.unit == MaskUnit::tokens ||
          (tokenizer.kind() != TokenizerKind::character && tokenizer.kind() != TokenizerKind::byte),
      "recipe", "data.whole_words needs tokens that are words or parts of words, but the tokenizer's kind is \"{}\"",
      name_of(tokenizer.kind()));
  const SpecialTokens& special = tokenizer.special();
  for (int32_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    const TokenId token(id);
    maskable_.push_back(token != mask && token != special.pad && token != special.bos && token != special.eos &&
                        token != special.sep);
    if (maskable_.back() && token != special.unk) {
      replacements_.push_back(id);
    }
  }
}

// The text's first token begins a word, and so does one after a mark.
bool Masking::begins_word(std::span<const int32_t> ids, int64_t row) const {
  const auto at = static_cast<size_t>(row);
  return rules_.unit == MaskUnit::tokens || begins_word_[static_cast<size_t>(ids[at])] ||
         !maskable_[static_cast<size_t>(ids[at - 1])];
}

int32_t Masking::replacement(int32_t token, RandomKey key, uint64_t row) const {
  const double kind = draw(key, "kind", row);
  if (kind < rules_.masked) {
    return mask_;
  }
  if (kind >= rules_.masked + rules_.random || replacements_.empty()) {
    return token;
  }
  const auto choices = static_cast<double>(replacements_.size());
  return replacements_[static_cast<size_t>(draw(key, "token", row) * choices)];
}

TokenBatch Masking::apply(Sequences text, RandomKey key) const {
  const Segments& segments = text.segments();
  const std::span<const int32_t> ids = text.tokens().ids();
  std::vector<int32_t> seen(ids.begin(), ids.end());
  std::vector<int32_t> expected(ids.size(), Targets::kIgnored);
  for (int64_t s = 0; s < segments.count(); ++s) {
    bool chosen = false;
    for (int64_t r = segments.begin(s); r < segments.end(s); ++r) {
      const auto at = static_cast<size_t>(r);
      const uint64_t row = segments.first_row() + static_cast<uint64_t>(r);
      if (r == segments.begin(s) || begins_word(ids, r)) {
        chosen = draw(key, "choice", row) < rules_.chosen;
      }
      if (chosen && maskable_[static_cast<size_t>(ids[at])]) {
        expected[at] = ids[at];
        seen[at] = replacement(ids[at], key, row);
      }
    }
  }
  text.set_tokens(std::move(seen));
  return {std::move(text), Targets(std::move(expected))};
}

bool Masking::mask_first_maskable(TokenBatch& text) const {
  const std::span<const int32_t> ids = text.tokens.tokens().ids(), expected = text.expected.ids();
  std::vector<int32_t> seen(ids.begin(), ids.end()), now_expected(expected.begin(), expected.end());
  for (size_t row = 0; row < seen.size(); ++row) {
    if (maskable_[static_cast<size_t>(seen[row])]) {
      now_expected[row] = std::exchange(seen[row], mask_);
      text.tokens.set_tokens(std::move(seen));
      text.expected = Targets(std::move(now_expected));
      return true;
    }
  }
  return false;
}

std::vector<int32_t> MarkedText::types(std::span<const RowRange> ranges, TokenId separator) const {
  std::vector<int32_t> types;
  for (const auto& [begin, end] : ranges) {
    int64_t document = corpus_.document_of(begin);
    for (int64_t at = begin; at < end; ++document) {
      // From the document's begin on, which a tokenizer without bos and sep writes like the separator.
      const int64_t start = document == 0 ? 0 : corpus_.store().end(document - 1);
      const int64_t stop = std::min(end, corpus_.store().end(document));
      std::vector<int32_t> ids;
      corpus_.store().read_between(start, stop, ids);
      const auto mark = std::find(ids.begin() + 1, ids.end(), separator.value);
      for (; at < stop; ++at) {
        types.push_back(at - start > mark - ids.begin() ? 1 : 0);
      }
    }
  }
  return types;
}

Sequences MarkedText::read(std::span<const RowRange> ranges, uint64_t first_row) const {
  std::vector<int32_t> ids;
  std::vector<int64_t> lengths;
  for (const auto& [begin, end] : ranges) {
    ensure(0 <= begin && begin < end && end <= size(), "text", "tokens {} to {} of {}", begin, end, size());
    corpus_.store().read_between(begin, end, ids);
    int64_t document = corpus_.document_of(begin);
    for (int64_t at = begin; at < end; ++document) {
      const int64_t stop = borders_ == DocumentBorders::crossed ? end : std::min(end, corpus_.store().end(document));
      lengths.push_back(stop - at);
      at = stop;
    }
  }
  return Sequences(std::move(ids), Segments(lengths, first_row));
}

}  // namespace heed
