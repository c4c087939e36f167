#include "interchange/exported_weights.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.h"
#include "checkpoint/weights.h"

namespace heed {
namespace {

std::vector<float> read(const SafeTensors& stored, const std::string& weight) {
  return read_weight(stored, stored.at(weight));
}

}  // namespace

void ExportedWeights::add_plain(std::string name, const std::string& weight) {
  const SafeTensors& stored = stored_;
  tensors_.push_back(
      {std::move(name), stored.at(weight).shape, GgufType::f32, [&stored, weight] { return read(stored, weight); }});
}

void ExportedWeights::add(std::string name, const std::string& weight, StoredRows rows, const Change& change) {
  const SafeTensors& stored = stored_;
  const int64_t columns = stored.at(weight).shape.back();
  const bool in_blocks = type_ == GgufType::q8_0 || type_ == GgufType::q4_0;
  require<ConfigError>(!in_blocks || columns % kGgufBlock == 0, weight,
                       "has rows of {}, which {}'s blocks of {} do not divide: export the model as f16", columns,
                       name_of(type_), kGgufBlock);
  tensors_.push_back({std::move(name), {rows.count, columns}, type_, [=, &stored] {
                        const Values all = read(stored, weight);
                        const auto first = all.begin() + rows.first * columns;
                        return change(Values(first, first + rows.count * columns));
                      }});
}

void ExportedWeights::add_matrix(std::string name, const std::string& weight, StoredRows rows) {
  add(std::move(name), weight, rows, [](Values values) { return values; });
}

void ExportedWeights::add_matrix(std::string name, const std::string& weight) {
  add_matrix(std::move(name), weight, {0, stored_.at(weight).shape.front()});
}

void ExportedWeights::add_rotated(std::string name, const std::string& weight, StoredRows rows) {
  const int64_t width = config_.width_of_head(), columns = stored_.at(weight).shape.back();
  add(std::move(name), weight, rows, [width, columns](const Values& values) {
    Values paired;
    paired.reserve(values.size());
    const int64_t count = static_cast<int64_t>(values.size()) / columns;
    for (int64_t r = 0; r < count; ++r) {
      const int64_t in_head = r % width;
      const auto row = values.begin() + (r - in_head + in_head / 2 + in_head % 2 * (width / 2)) * columns;
      paired.insert(paired.end(), row, row + columns);
    }
    return paired;
  });
}

void ExportedWeights::add_vocabulary() {
  const std::string table = "embedding.tokens";
  const auto scale = static_cast<float>(
      config_.embedding_scale == EmbeddingScale::sqrt_model ? std::sqrt(static_cast<double>(config_.model)) : 1.0);
  add("token_embd.weight", table, {0, stored_.at(table).shape.front()}, [scale](Values values) {
    std::ranges::for_each(values, [scale](float& x) { x *= scale; });
    return values;
  });
  if (config_.tying == Tying::none) {
    add_matrix("output.weight", "output.weight");
  } else if (config_.embedding_scale != EmbeddingScale::none) {
    add_matrix("output.weight", table);
  }
}

}  // namespace heed
