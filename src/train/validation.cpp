#include "train/validation.h"

#include <algorithm>
#include <cmath>

#include "eval/bleu.h"

namespace heed {
namespace {

double loss_per_token(const TextTranslator& translator, const ValidationText& text) {
  std::vector<std::string> sources, targets;
  for (size_t i = 0; i < text.source.size(); ++i) {
    if (!translator.source.encode(text.source[i]).empty() && !translator.target.encode(text.target[i]).empty()) {
      sources.push_back(text.source[i]);
      targets.push_back(text.target[i]);
    }
  }
  double sum = 0.0;
  int64_t tokens = 0;
  const auto name = [](size_t i) { return fmt::format("validation pair {}", i + 1); };
  for (const LineScore& score : score_lines(translator, sources, targets, {name, name}, Overlong::cut)) {
    sum -= score.log_probability;
    tokens += score.tokens;
  }
  return tokens > 0 ? sum / static_cast<double>(tokens) : 0.0;
}

double bleu_of(const TextTranslator& translator, const ValidationText& text, const ValidationRecipe& recipe) {
  const size_t count =
      recipe.sentences == 0 ? text.source.size() : std::min(text.source.size(), static_cast<size_t>(recipe.sentences));
  const std::span<const std::string> sources(text.source.data(), count);
  const auto found = translate_lines(
      translator, sources, {.beam = recipe.beam, .length_penalty = recipe.length_penalty},
      [](size_t i) { return fmt::format("validation line {}", i + 1); }, Overlong::cut);
  std::vector<std::string> hypotheses;
  std::ranges::transform(found, std::back_inserter(hypotheses), [](const auto& best) { return best.front().text; });
  const std::vector<std::vector<std::string>> references{
      {text.target.begin(), text.target.begin() + static_cast<int64_t>(count)}};
  return bleu(hypotheses, references, recipe.lowercase ? Case::lower : Case::mixed).score;
}

}  // namespace

ValidationScores validate(const TextTranslator& translator, const ValidationText& text,
                          const ValidationRecipe& recipe) {
  ValidationScores scores{.loss = loss_per_token(translator, text), .bleu = std::nullopt};
  if (recipe.bleu && std::isfinite(scores.loss)) {
    scores.bleu = bleu_of(translator, text, recipe);
  }
  return scores;
}

}  // namespace heed
