#include "propose/model_sizes.h"

#include <algorithm>
#include <array>

namespace heed {
namespace {

constexpr std::array<ModelSize, 7> kTranslation{{{64, 128, 2, 3},
                                                 {96, 192, 3, 4},
                                                 {128, 256, 4, 4},
                                                 {192, 512, 3, 4},
                                                 {256, 1024, 4, 5},
                                                 {384, 1536, 6, 6},
                                                 {512, 2048, 8, 6}}};
constexpr std::array<ModelSize, 6> kLanguageModel{
    {{64, 192, 2, 3}, {128, 384, 4, 4}, {192, 512, 6, 4}, {256, 704, 4, 6}, {384, 1024, 6, 8}, {512, 1408, 8, 10}}};

}  // namespace

std::span<const ModelSize> translation_sizes() { return kTranslation; }
std::span<const ModelSize> language_model_sizes() { return kLanguageModel; }

SizeChoice choose_size(std::span<const ModelSize> sizes, const LearningRules& rules, double tokens, double seconds,
                       const std::function<int64_t(const ModelSize&)>& parameters,
                       const std::function<double(const ModelSize&)>& speed) {
  std::vector<CostedSize> allowed;
  for (const ModelSize& size : sizes) {
    allowed.push_back({size, parameters(size)});
    if (allowed.size() > 1 && static_cast<double>(allowed.back().parameters) > rules.parameters_per_token * tokens) {
      allowed.pop_back();
      break;
    }
  }
  SizeChoice choice;
  while (true) {
    CostedSize& size = allowed.back();
    size.tokens_per_second = speed(size.size);
    choice.seen = std::min(size.tokens_per_second * seconds, rules.passes * tokens);
    choice.is_full = size.tokens_per_second * seconds >= rules.passes * tokens;
    const double needed =
        std::min(rules.tokens_per_parameter * static_cast<double>(size.parameters), rules.passes * tokens);
    if (choice.seen >= needed || allowed.size() == 1) {
      choice.chosen = size;
      return choice;
    }
    choice.slower.push_back(size);
    allowed.pop_back();
  }
}

}  // namespace heed
