#include "heed/translator.h"

#include <utility>

#include "api/precision.h"
#include "base/threads.h"
#include "checkpoint/stored_model.h"
#include "decode/text_translation.h"
#include "kernels/cpu/cpu_backend.h"

namespace heed {
namespace {

std::string name_line(const LineName& name, size_t line) {
  return name ? name(line) : fmt::format("line {}", line + 1);
}

ModelFolder folder_of_translator(const std::string& directory) {
  ModelFolder folder{directory};
  require_architecture(folder, Architecture::seq2seq);
  return folder;
}

}  // namespace

struct Translator::State {
  State(const std::string& directory, const TranslatorOptions& options)
      : storage(inference_type(options.precision)),
        backend(make_cpu_backend(thread_count(options.threads))),
        stored(folder_of_translator(directory), *backend, storage) {}

  TextTranslator text() { return {{stored.model(), *backend, storage}, stored.source(), stored.target(), lanes}; }

  DType storage;
  std::unique_ptr<Backend> backend;
  StoredModel stored;
  Lanes lanes{*backend};
};

Translator::Translator(const std::string& directory, const TranslatorOptions& options)
    : state_(std::make_unique<State>(directory, options)) {}
Translator::~Translator() = default;
Translator::Translator(Translator&& other) noexcept = default;
Translator& Translator::operator=(Translator&& other) noexcept = default;

Precision Translator::precision() const { return precision_of(state_->storage); }
int Translator::threads() const { return state_->backend->threads(); }
int64_t Translator::parameters() const { return state_->stored.parameters(); }
int64_t Translator::max_length() const { return state_->stored.config().max_length; }

std::vector<std::vector<Translation>> Translator::translate(std::span<const std::string> lines,
                                                            const TranslationOptions& options,
                                                            const LineName& name) const {
  const SearchOptions search{.beam = options.beam,
                             .n_best = options.n_best,
                             .length_penalty = options.length_penalty,
                             .max_length = options.max_length,
                             .never = {}};
  search.validate();
  const TextTranslator text = state_->text();
  const auto found = translate_lines(text, lines, search, [&](size_t line) { return name_line(name, line); });
  std::vector<std::vector<Translation>> results;
  results.reserve(lines.size());
  for (const std::vector<TranslatedLine>& line : found) {
    std::vector<Translation>& result = results.emplace_back();
    for (const auto& [words, hypothesis] : line) {
      result.push_back({.text = words,
                        .score = hypothesis.score,
                        .log_probability = hypothesis.log_probability,
                        .tokens = static_cast<int64_t>(hypothesis.tokens.size()) + 1,
                        .alignment = {}});
    }
  }
  if (options.alignments == Alignments::pieces) {
    const auto aligned = align_lines(text, lines, found);
    for (size_t i = 0; i < aligned.size(); ++i) {
      for (size_t h = 0; h < aligned[i].size(); ++h) {
        for (const int64_t source : aligned[i][h]) {
          auto& pairs = results[i][h].alignment;
          pairs.push_back({source, static_cast<int64_t>(pairs.size())});
        }
      }
    }
  }
  return results;
}

std::vector<PairScore> Translator::score(std::span<const std::string> sources, std::span<const std::string> targets,
                                         const LinePairName& name) const {
  const PairNames names{[&](size_t line) { return name_line(name.source, line); },
                        [&](size_t line) { return name_line(name.target, line); }};
  std::vector<PairScore> scores;
  for (const LineScore& score : score_lines(state_->text(), sources, targets, names)) {
    scores.push_back({score.log_probability, score.tokens});
  }
  return scores;
}

}  // namespace heed
