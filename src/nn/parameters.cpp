#include "nn/parameters.h"

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

constexpr int64_t kAlignment = 32;  // elements: parameters begin on a cache line in either type

int64_t padded(int64_t elements) { return (elements + kAlignment - 1) / kAlignment * kAlignment; }

View part_of(const Tensor& flat, int64_t offset, const Shape& shape) {
  if (flat.empty()) {
    return {};
  }
  auto* const address = static_cast<std::byte*>(host_address(flat.view())) + offset * size_of(flat.type());
  return {address, flat.type(), shape.rows(), shape.columns(), shape.columns()};
}

double initial_value(const Initialization& how, const Shape& shape, RandomKey key, int64_t index) {
  switch (how.kind) {
    case Initialization::Kind::zeros:
      return 0.0;
    case Initialization::Kind::ones:
      return 1.0;
    case Initialization::Kind::normal:
      return how.deviation * normal_draw(key, static_cast<uint64_t>(index));
    case Initialization::Kind::xavier_uniform: {
      const int64_t out = shape[0] / how.parts;
      const double limit = std::sqrt(6.0 / static_cast<double>(shape[1] + out));
      return limit * (2.0 * uniform_draw(key, static_cast<uint64_t>(index)) - 1.0);
    }
  }
  return 0.0;
}

}  // namespace

const Parameter& ParameterStore::add(std::string name, Shape shape, Initialization initialization) {
  ensure(!allocated(), "parameters", "{} is registered after the memory was given out", name);
  ensure(std::ranges::none_of(parameters_, [&](const auto& p) { return p->name() == name; }), "parameters",
         "{} is registered twice", name);
  parameters_.push_back(std::make_unique<Parameter>(std::move(name), shape));
  initializations_.push_back(initialization);
  return *parameters_.back();
}

void ParameterStore::allocate(Backend& backend, DType storage, Gradients gradients) {
  int64_t total = 0;
  for (const auto& parameter : parameters_) {
    total += padded(parameter->shape().elements());
  }
  masters_ = Tensor({total}, backend.master_type());
  if (gradients == Gradients::wanted) {
    gradients_ = Tensor({total}, backend.master_type());
  }
  if (storage != backend.master_type()) {
    copies_ = Tensor({total}, storage);
  }
  int64_t offset = 0;
  for (auto it = parameters_.rbegin(); it != parameters_.rend(); ++it) {
    Parameter& parameter = **it;
    const Shape& shape = parameter.shape();
    parameter.bind(part_of(masters_, offset, shape), part_of(copies_.empty() ? masters_ : copies_, offset, shape),
                   part_of(gradients_, offset, shape));
    offset += padded(shape.elements());
  }
}

void ParameterStore::initialize(Backend& backend, uint64_t seed) {
  for (size_t i = 0; i < parameters_.size(); ++i) {
    const Parameter& parameter = *parameters_[i];
    const RandomKey key = RandomKey{seed}.derive("initialization").derive(parameter.name());
    const Shape& shape = parameter.shape();
    for (int64_t e = 0; e < shape.elements(); ++e) {
      const double value = initial_value(initializations_[i], shape, key, e);
      if (backend.master_type() == DType::f64) {
        host<double>(parameter.master()).data[e] = value;
      } else {
        host<float>(parameter.master()).data[e] = static_cast<float>(value);
      }
    }
  }
  refresh(backend);
}

void ParameterStore::pack(Backend& backend, std::string_view ending) {
  for (const auto& parameter : parameters_) {
    if (parameter->name().ends_with(ending)) {
      parameter->pack(backend);
    }
  }
}

void ParameterStore::refresh(Backend& backend) {
  for (const auto& parameter : parameters_) {
    parameter->unpack();
  }
  if (!copies_.empty()) {
    backend.copy(masters(), copies());
  }
}

void ParameterStore::begin_update() {
  for (const auto& parameter : parameters_) {
    parameter->begin_update();
  }
}

void ParameterStore::finish_update(Backend& backend) {
  for (const auto& parameter : parameters_) {
    if (parameter->untouched()) {
      parameter->gradient_to_add_to(backend);
    }
  }
}

const Parameter& ParameterStore::find(std::string_view name) const {
  const auto it = std::ranges::find_if(parameters_, [&](const auto& p) { return p->name() == name; });
  require<ConfigError>(it != parameters_.end(), "parameters", "the model has no {}", name);
  return **it;
}

int64_t ParameterStore::elements() const {
  int64_t total = 0;
  for (const auto& parameter : parameters_) {
    total += parameter->shape().elements();
  }
  return total;
}

}  // namespace heed
