#include "decode/texts/translation/translation_news.h"

#include "decode/texts/scored_tokens.h"

namespace heed {

void TranslationNews::grown(size_t number, const Hypothesis& more) {
  Line& line = growing_.try_emplace(number, target_).first->second;
  line.tokens.insert(line.tokens.end(), more.tokens.begin(), more.tokens.end());
  if (each_ == EachToken::listed) {
    for (const ScoredToken& token : scored(target_, more, line.offsets)) {
      listener_.on_token(number, token);
    }
  }
  if (const std::string piece = line.text.add(line.tokens); !piece.empty()) {
    listener_.on_piece(number, piece);
  }
}

void TranslationNews::considered(size_t number, const BeamSteps& steps) {
  for (const std::vector<BeamHypothesis>& step : steps) {
    listener_.on_step(number, step);
  }
}

void TranslationNews::ready(size_t number, std::span<const TranslatedLine> translated) {
  const Translation& best = translated.front().translation;
  const auto entry = growing_.try_emplace(number, target_).first;
  Line& line = entry->second;
  for (size_t i = line.tokens.size(); i < best.each.size(); ++i) {
    listener_.on_token(number, best.each[i]);
  }
  if (const std::string piece = line.text.finish(best.text); !piece.empty()) {
    listener_.on_piece(number, piece);
  }
  growing_.erase(entry);
  std::vector<Translation> translations;
  translations.reserve(translated.size());
  for (const TranslatedLine& one : translated) {
    translations.push_back(one.translation);
  }
  listener_.on_translations(number, translations);
}

}  // namespace heed
