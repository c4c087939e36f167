#include "heed/translator.h"

#include <optional>
#include <utility>

#include "api/inside/forward.h"
#include "api/inside/text_attention.h"
#include "api/writing/draft_model.h"
#include "checkpoint/stored_shortlist.h"
#include "decode/texts/translation/text_translation.h"
#include "decode/texts/translation/translation_frame.h"
#include "kernels/cpu/precision.h"
#include "kernels/devices/device_choice.h"
#include "report/figures/tokens_and_maps.h"
#include "text/token_ids.h"
#include "text/unicode/unicode.h"

namespace heed {

struct Translator::State {
  State(const std::string& directory, const InferenceOptions& options, const DraftOptions& drafts,
        const std::string& shortlist_file)
      : backend(make_backend(options.device, options.threads)),
        storage(inference_type(options.precision, *backend)),
        cached(cache_type(options.cache, storage)),
        models({directory}, Architecture::seq2seq, options.ensemble, *backend, storage, options.context),
        draft(drafts, models, *backend, storage) {
    if (!shortlist_file.empty()) {
      shortlist.emplace(open_shortlist(shortlist_file, {directory}, tokenizers()));
    }
  }

  TextTranslator text() {
    return {scheduler, tokenizers(), &automata, shortlist ? &*shortlist : nullptr, models.first().marks()};
  }
  TranslationTokenizers tokenizers() const { return {models.first().source(), models.first().target()}; }

  std::unique_ptr<Backend> backend;
  DType storage, cached;
  LoadedEnsemble models;
  LoadedDraft draft;
  Scheduler scheduler{models.inference(*backend, storage, cached), draft.drafting(), vocabulary_of_source(tokenizers()),
                      Scheduler::Memory{.step_bytes = models.step_bytes()}};
  AutomatonCache automata{tokenizers().target};
  std::optional<Shortlist> shortlist;
};

Translator::Translator(const std::string& directory, const InferenceOptions& options, const DraftOptions& drafts,
                       const std::string& shortlist)
    : state_(std::make_unique<State>(directory, options, drafts, shortlist)) {}
Translator::~Translator() = default;
Translator::Translator(Translator&& other) noexcept = default;
Translator& Translator::operator=(Translator&& other) noexcept = default;

Precision Translator::precision() const { return precision_of(state_->storage); }
int Translator::threads() const { return state_->backend->threads(); }
int64_t Translator::parameters() const { return state_->models.parameters(); }
int64_t Translator::max_length() const { return state_->scheduler.inference().max_length(); }
Workload Translator::workload() const { return state_->scheduler.workload(); }
DraftReport Translator::drafts() const { return state_->draft.report(); }

TranslationOptions Translator::with_defaults(TranslationOptions options) const {
  state_->models.first().decoding().apply_to(options);
  return options;
}

int64_t Translator::candidates(const std::string& line) const {
  const TextTranslator text = state_->text();
  return text.shortlist == nullptr ? text.tokenizers.target.vocabulary_size()
                                   : std::ssize(text.shortlist->candidates(source_tokens(text, line), {}));
}

std::vector<std::vector<Translation>> Translator::translate(std::span<const std::string> lines,
                                                            const TranslationOptions& options, const LineName& name,
                                                            TranslationListener* listener) const {
  validate(options);
  std::vector<std::vector<Translation>> results;
  results.reserve(lines.size());
  for (std::vector<TranslatedLine>& line :
       translate_lines(state_->text(), lines, options, name, TooLong::refuse, listener)) {
    std::vector<Translation>& result = results.emplace_back();
    for (TranslatedLine& translated : line) {
      result.push_back(std::move(translated.translation));
    }
  }
  return results;
}

std::vector<std::string> Translator::source_pieces(const std::string& line) const {
  const TextTranslator text = state_->text();
  return pieces_of(text.tokenizers.source, source_tokens(text, line));
}

PairTokens Translator::tokens(const std::string& line, const std::string& translation, const LanguagePair& languages,
                              std::string_view where) const {
  const TextTranslator text = state_->text();
  const TranslationFrame frame(text.tokenizers, text.marks, languages);
  frame.require_target();
  const std::string of_source = fmt::format("{}source", where), of_target = fmt::format("{}target", where);
  const auto encode = [&](const Tokenizer& tokenizer, const std::string& one, std::string_view name) {
    require_text(one, name);
    return ids_of(tokenizer.encode(one));
  };
  PairTokens tokens{.source = frame.around_source(encode(text.tokenizers.source, line, of_source)),
                    .target = {frame.target_start().front()}};
  const std::vector<int32_t> written = frame.forced_target(encode(text.tokenizers.target, translation, of_target));
  tokens.target.insert(tokens.target.end(), written.begin(), written.end());
  const auto require_fits = [&](const std::vector<int32_t>& side, std::string_view name) {
    require<FormatError>(std::ssize(side) <= max_length(), name, "{} tokens, but the model takes at most {}",
                         side.size(), max_length());
  };
  require_fits(tokens.source, of_source);
  require_fits(tokens.target, of_target);
  return tokens;
}

TextAttention Translator::attention(const std::string& line, const std::string& translation,
                                    const AttentionRequest& request, const LanguagePair& languages) const {
  const PairTokens read = tokens(line, translation, languages);
  TextAttention found;
  const auto attend = [&](size_t /*task*/, Backend& backend) {
    found = attention_of_pair(state_->scheduler.inference().on(backend), state_->tokenizers(), read, request);
  };
  state_->scheduler.lanes().run(1, attend, request.interruption, request.sharing);
  return found;
}

ForwardResult Translator::forward(const PairTokens& tokens, const ForwardRequest& request) const {
  ForwardResult found;
  state_->scheduler.lanes().run(1, [&](size_t /*task*/, Backend& backend) {
    found = forward_of_pair(state_->scheduler.inference().on(backend), tokens, request);
  });
  return found;
}

std::vector<PairScore> Translator::score(const LinePairs& pairs, const LinePairName& name,
                                         const LanguagePair& languages, const Interruption& interruption,
                                         const Sharing& sharing, const OnResult<PairScore>& on_result) const {
  return score_lines(state_->text(), pairs, name, TooLong::refuse, languages, interruption, sharing, on_result);
}

}  // namespace heed
