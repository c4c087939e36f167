#include "decode/texts/finished_lines.h"

#include <algorithm>
#include <functional>

#include "decode/texts/translation/alignment.h"
#include "decode/texts/translation/unknown_words.h"

namespace heed {
namespace {

// Translations that the model wrote, which it does not for blank lines.
struct ModelTranslations {
  std::vector<std::vector<int32_t>> sources, targets;
  std::vector<TranslatedLine*> lines;
  std::vector<size_t> numbers;  // of the lines that they translate
};

template <class Select>
ModelTranslations translations_of(const std::vector<std::vector<int32_t>>& sources, TranslatedLines& translated,
                                  const Select& wanted) {
  ModelTranslations found;
  for (size_t i = 0; i < sources.size(); ++i) {
    for (TranslatedLine& line : translated[i]) {
      if (sources[i].size() > 1 && wanted(line)) {
        found.sources.push_back(sources[i]);
        found.targets.push_back(line.ids);
        found.lines.push_back(&line);
        found.numbers.push_back(i);
      }
    }
  }
  return found;
}

// Calls use(inference) with the backend of a lane.
template <class Use>
void on_a_lane(const TextTranslator& translator, const Use& use) {
  translator.scheduler.lanes().run(
      1, [&](size_t, Backend& backend) { use(translator.scheduler.inference().on(backend)); });
}

std::vector<std::vector<int64_t>> aligned(const TextTranslator& translator, const ModelTranslations& translations,
                                          const SearchRules& rules) {
  std::vector<std::vector<int64_t>> positions;
  on_a_lane(translator, [&](const Inference& inference) {
    positions = align_pairs(inference, {.sources = translations.sources, .targets = translations.targets}, rules);
  });
  return positions;
}

void align_lines(const TextTranslator& translator, const std::vector<std::vector<int32_t>>& sources,
                 const SearchRules& rules, TranslatedLines& translated) {
  const ModelTranslations all = translations_of(sources, translated, [](const TranslatedLine&) { return true; });
  const std::vector<std::vector<int64_t>> positions = aligned(translator, all, rules);
  for (size_t k = 0; k < positions.size(); ++k) {
    std::vector<AlignedPair>& alignment = all.lines[k]->translation.alignment;
    for (const int64_t source : positions[k]) {
      alignment.push_back({source, static_cast<int64_t>(alignment.size())});
    }
  }
}

// Replaces each unknown word by the source's word that it attends to most.
void copy_unknown_words(const TextTranslator& translator, const SearchedLines& searched,
                        std::span<const std::string> lines, const SearchRules& rules, TranslatedLines& translated) {
  const int32_t unknown = translator.tokenizers.target.special().unk.value;
  const auto is_unknown = [unknown](int32_t token) { return token == unknown; };
  const ModelTranslations with_unknown = translations_of(searched.sources, translated, [&](const TranslatedLine& line) {
    return std::ranges::any_of(line.ids, is_unknown);
  });
  const std::vector<std::vector<int64_t>> positions = aligned(translator, with_unknown, rules);
  for (size_t k = 0; k < positions.size(); ++k) {
    const std::vector<std::string> words =
        words_of_tokens(translator.tokenizers.source, lines[with_unknown.numbers[k]]);
    std::vector<std::string> copied;
    for (size_t t = 0; t < positions[k].size(); ++t) {
      if (is_unknown(with_unknown.targets[k][t])) {
        const auto source = static_cast<size_t>(positions[k][t]);
        copied.push_back(source < words.size() ? words[source] : "");
      }
    }
    std::string& text = with_unknown.lines[k]->translation.text;
    text = replace_unknown(translator.tokenizers.target, text, copied);
  }
}

// Adds the coverage penalty to the scores, and sorts the translations by them.
void add_coverage(const TextTranslator& translator, const std::vector<std::vector<int32_t>>& sources,
                  const TranslationOptions& options, const SearchRules& rules, TranslatedLines& translated) {
  const ModelTranslations all = translations_of(sources, translated, [](const TranslatedLine&) { return true; });
  std::vector<double> coverage;
  on_a_lane(translator, [&](const Inference& inference) {
    coverage = coverage_of_pairs(inference, {.sources = all.sources, .targets = all.targets}, rules);
  });
  for (size_t k = 0; k < coverage.size(); ++k) {
    all.lines[k]->translation.score += options.coverage_penalty * coverage[k];
  }
  for (std::vector<TranslatedLine>& line : translated) {
    std::ranges::stable_sort(line, std::greater(), [](const TranslatedLine& l) { return l.translation.score; });
    line.resize(std::min(line.size(), static_cast<size_t>(options.n_best)));
  }
}

}  // namespace

void finish_lines(const TextTranslator& translator, const SearchedLines& searched, std::span<const std::string> lines,
                  const TranslationOptions& options, const SearchRules& rules, TranslatedLines& translated) {
  if (options.coverage_penalty > 0.0) {
    add_coverage(translator, searched.sources, options, rules, translated);
  }
  if (options.unknown == UnknownWords::copy) {
    copy_unknown_words(translator, searched, lines, rules, translated);
  }
  if (options.alignments == Alignments::pieces) {
    align_lines(translator, searched.sources, rules, translated);
  }
}

}  // namespace heed
