#include "nn/weights/weights.h"

#include <algorithm>
#include <cmath>

#include "kernels/integer_rows.h"
#include "nn/weights/integer_matrix.h"

namespace heed {

double Initialization::value(const Shape& shape, RandomKey key, int64_t index) const {
  switch (kind) {
    case Kind::zeros:
      return 0.0;
    case Kind::ones:
      return 1.0;
    case Kind::normal:
      return deviation * normal_draw(key, static_cast<uint64_t>(index));
    case Kind::xavier_uniform: {
      const int64_t out = shape[0] / parts;
      const double limit = std::sqrt(6.0 / static_cast<double>(shape[1] + out));
      return limit * (2.0 * uniform_draw(key, static_cast<uint64_t>(index)) - 1.0);
    }
    case Kind::inputs_uniform: {
      const double limit = 1.0 / std::sqrt(static_cast<double>(inputs > 0 ? inputs : shape[1]));
      return limit * (2.0 * uniform_draw(key, static_cast<uint64_t>(index)) - 1.0);
    }
  }
  return 0.0;
}

const Weight& Weights::add(std::string name, Shape shape, WeightUse use, Initialization initialization,
                           const Division& division, WeightIdentity identity) {
  ensure(!closed_, "weights", "{} is registered after memory was allocated", name);
  ensure(std::ranges::none_of(weights_, [&](const Weight& w) { return w.name() == name; }), "weights",
         "{} is registered twice", name);
  if (identity.roles.size() == 1 && identity.roles.front().rows == 0) {
    identity.roles.front().rows = shape[0];
  }
  initializations_.push_back(initialization);
  divisions_.push_back(division);
  rank_elements_.emplace_back(shape, division, parts_, parts_.index());
  return weights_.emplace_back(std::move(name), rank_elements_.back().shape(), use, std::move(identity));
}

void Weights::initial_values(size_t index, uint64_t seed,
                             const std::function<void(int64_t element, double value)>& use) const {
  const RandomKey key = initial_stream(seed, weights_[index]);
  const RankElements& elements = rank_elements_[index];
  elements.each_stretch([&](int64_t first, int64_t of_whole, int64_t count) {
    for (int64_t e = 0; e < count; ++e) {
      use(first + e, initializations_[index].value(elements.whole(), key, of_whole + e));
    }
  });
}

namespace {

// Quantizes rows of floats, and packs them.
void hold_as_integers(Backend& backend, MatrixForm form, const RowSource& rows, Weight& weight) {
  const Shape& shape = weight.shape();
  const std::span<const float> values(host<float>(rows(0, shape.rows())).data, static_cast<size_t>(shape.elements()));
  if (form == MatrixForm::int8) {
    weight.store(backend, to_int8(values, shape).as_int8());
  } else {
    weight.store(backend, to_int4(values, shape, kInt4Group).as_int4());
  }
}

}  // namespace

void Weights::store_initial(Backend& backend, DType precision, uint64_t seed, MatrixForm form) {
  ensure(parts_.is_whole(), "weights", "inference with a part of a model");
  for (size_t i = 0; i < weights_.size(); ++i) {
    Weight& weight = weights_[i];
    const RandomKey stream = initial_stream(seed, weight);
    const int64_t columns = weight.shape().columns();
    std::vector<float> values;
    const RowSource rows = [&](int64_t first, int64_t count) {
      values.resize(static_cast<size_t>(count * columns));
      for (size_t e = 0; e < values.size(); ++e) {
        const int64_t index = first * columns + static_cast<int64_t>(e);
        values[e] = static_cast<float>(initializations_[i].value(weight.shape(), stream, index));
      }
      return ConstView(values.data(), DType::f32, count, columns, columns);
    };
    if (form != MatrixForm::precision && weight.use() != WeightUse::vector) {
      hold_as_integers(backend, form, rows, weight);
    } else {
      weight.store(backend, {precision, precision}, rows);
    }
  }
}

const Weight& Weights::find(std::string_view name) const {
  const auto it = std::ranges::find_if(weights_, [&](const Weight& w) { return w.name() == name; });
  require<ConfigError>(it != weights_.end(), "weights", "the model has no {}", name);
  return *it;
}

int64_t Weights::elements() const {
  int64_t total = 0;
  for (const RankElements& elements : rank_elements_) {
    total += elements.whole().elements();
  }
  return total;
}

}  // namespace heed
