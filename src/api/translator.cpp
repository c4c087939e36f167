#include "heed/translator.h"

#include <optional>
#include <utility>

#include "api/draft_model.h"
#include "checkpoint/stored_shortlist.h"
#include "decode/texts/text_translation.h"
#include "kernels/cpu/precision.h"
#include "kernels/devices/device_choice.h"

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
      shortlist.emplace(load_shortlist(shortlist_file, tokenizers()));
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
ModelLoad Translator::load() const { return state_->scheduler.load(); }
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
                                                            const TranslationOptions& options,
                                                            const LineName& name) const {
  validate(options);
  std::vector<std::vector<Translation>> results;
  results.reserve(lines.size());
  for (std::vector<TranslatedLine>& line : translate_lines(state_->text(), lines, options, name)) {
    std::vector<Translation>& result = results.emplace_back();
    for (TranslatedLine& translated : line) {
      result.push_back(std::move(translated.translation));
    }
  }
  return results;
}

std::vector<PairScore> Translator::score(const LinePairs& pairs, const LinePairName& name,
                                         const LanguagePair& languages) const {
  return score_lines(state_->text(), pairs, name, TooLong::refuse, languages);
}

}  // namespace heed
