#include "train/validation.h"

#include <algorithm>

#include "eval/bleu.h"

namespace heed {
namespace {

// The text up to as many tokens as the model takes, as text again.
std::string cut_to_fit(const Tokenizer& tokenizer, const std::string& line, int64_t longest) {
  std::vector<TokenId> tokens = tokenizer.encode(line);
  if (static_cast<int64_t>(tokens.size()) < longest) {
    return line;
  }
  // Decoding and encoding may give a few tokens more.
  tokens.resize(static_cast<size_t>(std::max<int64_t>(1, longest * 3 / 4)));
  return tokenizer.decode(tokens);
}

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
  const auto name = [](size_t) { return std::string("validation text"); };
  for (const LineScore& score : score_lines(translator, sources, targets, {name, name})) {
    sum -= score.log_probability;
    tokens += score.tokens;
  }
  return tokens > 0 ? sum / static_cast<double>(tokens) : 0.0;
}

double bleu_of(const TextTranslator& translator, const ValidationText& text, const ValidationRecipe& recipe) {
  const size_t count =
      recipe.sentences == 0 ? text.source.size() : std::min(text.source.size(), static_cast<size_t>(recipe.sentences));
  const std::span<const std::string> sources(text.source.data(), count);
  const auto found =
      translate_lines(translator, sources, {.beam = recipe.beam, .length_penalty = recipe.length_penalty},
                      [](size_t i) { return fmt::format("validation line {}", i + 1); });
  std::vector<std::string> hypotheses;
  std::ranges::transform(found, std::back_inserter(hypotheses), [](const auto& best) { return best.front().text; });
  const std::vector<std::vector<std::string>> references{
      {text.target.begin(), text.target.begin() + static_cast<int64_t>(count)}};
  return bleu(hypotheses, references, recipe.lowercase ? Case::lower : Case::mixed).score;
}

}  // namespace

ValidationScores validate(const TextTranslator& translator, const ValidationText& text,
                          const ValidationRecipe& recipe) {
  const int64_t longest = translator.translation.config.longest;
  ValidationText fitting = text;
  for (size_t i = 0; i < text.source.size(); ++i) {
    fitting.source[i] = cut_to_fit(translator.source, text.source[i], longest);
  }
  ValidationScores scores;
  if (recipe.bleu) {
    scores.bleu = bleu_of(translator, fitting, recipe);
  }
  for (std::string& target : fitting.target) {
    target = cut_to_fit(translator.target, target, longest);
  }
  scores.loss = loss_per_token(translator, fitting);
  return scores;
}

}  // namespace heed
