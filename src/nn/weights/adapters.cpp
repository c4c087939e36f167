#include "nn/weights/adapters.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/text/pattern.h"
#include "ops/rows/low_rank.h"

namespace heed {
namespace {

constexpr std::string_view kMatrix = ".weight";

void add_adapter(Weights& weights, Weight& matrix, const AdapterConfig& config) {
  const AdapterNames names = adapter_names(matrix.name());
  const int64_t out = matrix.shape()[0], in = matrix.shape()[1];
  const Weight& a = weights.add(names.a, {config.rank, in}, WeightUse::product,
                                Initialization::normal(1.0 / std::sqrt(static_cast<double>(in))), {},
                                {matrix.identity().place, {{WeightRole::adapter_a}}});
  const Weight& b = weights.add(names.b, {out, config.rank}, WeightUse::product, Initialization::zeros(), {},
                                {matrix.identity().place, {{WeightRole::adapter_b}}});
  const DropoutSite dropout{RandomKey{}.derive(names.a), Probability(static_cast<float>(config.dropout))};
  matrix.add_low_rank(std::make_shared<LowRank>(LowRank{&a, &b, config.scale(), dropout}));
}

constexpr std::array kHiddenMatrices{
    WeightRole::query, WeightRole::key, WeightRole::value, WeightRole::attention_output,
    WeightRole::gate,  WeightRole::up,  WeightRole::down};

// The names among which patterns choose, and which of them each chooses.
template <class Use>
void for_each_match(const std::vector<std::string_view>& names, const std::vector<std::string>& patterns,
                    std::string_view key, std::string_view what, Use use) {
  for (const std::string& pattern : patterns) {
    bool found = false;
    for (size_t i = 0; i < names.size(); ++i) {
      if (matches_pattern(pattern, names[i])) {
        use(i);
        found = true;
      }
    }
    require<ConfigError>(found, "recipe", "{}: '{}' matches no {}; the nearest is '{}'", key, pattern, what,
                         nearest_to_pattern(pattern, names));
  }
}

}  // namespace

bool is_hidden_matrix(const Weight& weight) {
  const auto is_projection = [](const RoleRows& rows) { return std::ranges::count(kHiddenMatrices, rows.role) > 0; };
  return weight.identity().term == WeightTerm::factor && std::ranges::any_of(weight.identity().roles, is_projection);
}

void AdapterConfig::validate() const {
  require<ConfigError>(rank >= 0, "recipe", "adapter.rank is {}, expected at least 0", rank);
  require<ConfigError>(rank > 0 || *this == AdapterConfig{}, "recipe",
                       "[adapter] has settings, but adapter.rank is 0: there is no adapter");
  require<ConfigError>(alpha > 0.0, "recipe", "adapter.alpha is {}, expected above 0", alpha);
  require<ConfigError>(dropout >= 0.0 && dropout < 1.0, "recipe",
                       "adapter.dropout is {}, expected at least 0 and below 1", dropout);
  require<ConfigError>(!matrices.empty(), "recipe", "adapter.matrices names no matrix");
}

AdapterNames adapter_names(std::string_view matrix) {
  if (matrix.ends_with(kMatrix)) {
    matrix.remove_suffix(kMatrix.size());
  }
  return {fmt::format("{}.adapter_a", matrix), fmt::format("{}.adapter_b", matrix)};
}

bool is_adapter(const Weight& weight) {
  return weight.identity().has(WeightRole::adapter_a) || weight.identity().has(WeightRole::adapter_b);
}

std::vector<std::string> add_adapters(Weights& weights, const AdapterConfig& config) {
  std::vector<Weight*> matrices;
  std::vector<std::string_view> names;
  for (Weight& weight : weights.all()) {
    if (is_hidden_matrix(weight)) {
      matrices.push_back(&weight);
      names.push_back(weight.name());
    }
  }
  require<ConfigError>(!names.empty(), "recipe", "adapter.rank is {}, but the model has no matrix for an adapter",
                       config.rank);
  std::vector<bool> chosen(names.size());
  for_each_match(names, config.matrices, "adapter.matrices", "matrix of a hidden layer",
                 [&](size_t i) { chosen[i] = true; });
  std::vector<std::string> adapted;
  for (size_t i = 0; i < names.size(); ++i) {
    if (chosen[i]) {
      const int64_t smaller = std::min(matrices[i]->shape()[0], matrices[i]->shape()[1]);
      require<ConfigError>(config.rank <= smaller, "recipe", "adapter.rank is {}, but {} is {}", config.rank, names[i],
                           matrices[i]->shape());
      adapted.emplace_back(names[i]);
      add_adapter(weights, *matrices[i], config);
    }
  }
  return adapted;
}

std::vector<bool> matching_weights(const Weights& weights, const std::vector<std::string>& patterns,
                                   std::string_view key) {
  std::vector<std::string_view> names;
  for (const Weight& weight : weights.all()) {
    names.push_back(weight.name());
  }
  std::vector<bool> chosen(names.size());
  for_each_match(names, patterns, key, "weight", [&](size_t i) { chosen[i] = true; });
  return chosen;
}

}  // namespace heed
