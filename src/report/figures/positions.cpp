#include "report/figures/positions.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>

#include "base/rounding.h"
#include "models/any_model.h"
#include "tensor_files/safetensors.h"

namespace heed {
namespace {

constexpr int64_t kMaxPositions = 64;
constexpr int64_t kMaxColumns = 128;

using Value = std::function<double(int64_t position, int64_t column)>;

// Sine and cosine of one frequency are usually neighbours, so columns are chosen in pairs.
std::vector<int64_t> chosen_columns(int64_t width) {
  std::vector<int64_t> columns;
  const int64_t pairs = ceil_div(width, 2);
  const int64_t shown = std::min(pairs, kMaxColumns / 2);
  for (int64_t k = 0; k < shown; ++k) {
    const int64_t first = k * pairs / shown * 2;
    columns.push_back(first);
    if (first + 1 < width) {
      columns.push_back(first + 1);
    }
  }
  return columns;
}

PositionMap tabulate(std::string kind, int64_t positions, std::vector<int64_t> columns, const Value& value) {
  PositionMap table{.kind = std::move(kind), .positions = positions, .columns = std::move(columns), .values = {}};
  std::vector<double> values;
  double limit = 0.0;
  for (int64_t p = 0; p < positions; ++p) {
    for (const int64_t c : table.columns) {
      const double v = value(p, c);
      values.push_back(std::isfinite(v) ? v : 0.0);
      limit = std::max(limit, std::abs(values.back()));
    }
  }
  table.limit = limit > 0.0 ? limit : 1.0;
  for (const double v : values) {
    table.values.push_back(static_cast<char>(std::lround(127.5 + 127.5 * v / table.limit)));
  }
  return table;
}

PositionMap sinusoidal(const ModelConfig& config) {
  const int64_t positions = std::min(kMaxPositions, config.max_length);
  const Tensor table =
      sinusoidal_positions(positions, {config.model, config.sinusoid, config.position_offset}, DType::f64);
  const auto values = host<double>(table.view());
  PositionMap result = tabulate("sinusoidal", positions, chosen_columns(config.model),
                                [&](int64_t p, int64_t c) { return values(p, c); });
  return result;
}

PositionMap rotary(const ModelConfig& config) {
  const Rotary turned = config.rotary(first_rotary_layer(config));
  const RotaryPairs all{turned.dims, turned.base, turned.scale};
  std::vector<int64_t> pairs;
  for (int64_t c = 0; c < std::min(turned.dims / 2, kMaxColumns); ++c) {
    pairs.push_back(c);
  }
  return tabulate("rotary", std::min(kMaxPositions, config.max_length), std::move(pairs),
                  [&](int64_t p, int64_t c) { return std::cos(static_cast<double>(p) * all.frequency(c)); });
}

std::optional<PositionMap> learned(const ModelConfig& config, const std::filesystem::path& weights) {
  if (!std::filesystem::exists(weights)) {
    return std::nullopt;
  }
  const SafeTensors file(weights);
  Weights registered;
  const AnyModel model(Scope(registered), config);
  const auto table = std::ranges::find_if(
      registered.all(), [](const Weight& weight) { return weight.identity().has(WeightRole::position_embedding); });
  const auto found = std::ranges::find_if(file.tensors(), [&](const StoredTensor& tensor) {
    return table != registered.all().end() && tensor.name == table->name() && tensor.shape.size() == 2 &&
           tensor.type == StoredType::f32;
  });
  if (found == file.tensors().end()) {
    return std::nullopt;
  }
  const int64_t width = found->shape[1];
  const int64_t first = config.position_offset;
  return tabulate("learned", std::min(kMaxPositions, found->shape[0] - first), chosen_columns(width),
                  [&](int64_t p, int64_t c) {
                    float value = 0.0F;
                    const auto offset = static_cast<size_t>((first + p) * width + c) * sizeof(value);
                    std::memcpy(&value, found->bytes.data() + offset, sizeof(value));
                    return static_cast<double>(value);
                  });
}

}  // namespace

int64_t first_rotary_layer(const ModelConfig& config) {
  const std::vector<double>& bases = config.rotary_base.values();
  return std::ranges::find_if(bases, [](double base) { return base > 0.0; }) - bases.begin();
}

std::optional<PositionMap> position_map(const ModelConfig& config, const std::filesystem::path& weights) {
  switch (config.positions) {
    case Positions::sinusoidal:
      return sinusoidal(config);
    case Positions::learned:
    case Positions::learned_relative_bias:
      return learned(config, weights);
    case Positions::rotary:
      return rotary(config);
    default:
      return std::nullopt;
  }
}

}  // namespace heed
