// A model's parameters: registered by name while it is built, then given memory and values at once.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "ops/parameter.h"

namespace heed {

// How a parameter begins.
struct Initialization {
  enum class Kind : uint8_t { zeros, ones, normal, xavier_uniform };

  Kind kind = Kind::zeros;
  double deviation = 0.0;  // of normal
  int64_t parts = 1;       // matrices stacked in one, each initialized as if it stood alone

  static Initialization zeros() { return {}; }
  static Initialization ones() { return {Kind::ones, 0.0, 1}; }
  static Initialization normal(double deviation) { return {Kind::normal, deviation, 1}; }
  // Uniform within +-sqrt(6 / (in + out)).
  static Initialization xavier_uniform(int64_t parts = 1) { return {Kind::xavier_uniform, 0.0, parts}; }
};

// How a model's matrices begin: Xavier, or normal with one deviation, smaller for those that write to the residual
// stream, so that its variance does not grow with depth.
struct MatrixInitialization {
  double deviation = 0.0;  // 0: Xavier
  double residual_deviation = 0.0;

  Initialization inner(int64_t parts = 1) const {
    return deviation > 0.0 ? Initialization::normal(deviation) : Initialization::xavier_uniform(parts);
  }
  Initialization residual() const {
    return deviation > 0.0 ? Initialization::normal(residual_deviation) : Initialization::xavier_uniform();
  }
};

// Owns the parameters and, once allocated, three flat buffers: masters, gradients, and, when the storage type is not the
// master type, the copy that products read. Within them parameters lie in the reverse of their registration, which is
// the order backward finishes them in.
class ParameterStore {
 public:
  ParameterStore() = default;
  ParameterStore(const ParameterStore&) = delete;
  ParameterStore& operator=(const ParameterStore&) = delete;

  // The reference stays valid. Names are unique paths, such as "encoder.layers.0.feed_forward.inner.weight".
  const Parameter& add(std::string name, Shape shape, Initialization initialization);

  enum class Gradients : uint8_t { none, wanted };
  void allocate(Backend& backend, DType storage, Gradients gradients);
  bool allocated() const { return !masters_.empty(); }

  // Each parameter from its own stream of `seed`, whatever else the model holds.
  void initialize(Backend& backend, uint64_t seed);
  // Copies masters into the storage type, after they were changed other than by the optimizer.
  void refresh(Backend& backend);

  // Rearranges the matrices whose names end so, for products of a few rows. Whatever changes weights later unpacks them.
  void pack(Backend& backend, std::string_view ending);

  void begin_update();                   // gradients will be overwritten, not added to
  void finish_update(Backend& backend);  // zeros the gradients that nothing contributed to

  const std::vector<std::unique_ptr<Parameter>>& all() const { return parameters_; }
  const Parameter& find(std::string_view name) const;
  int64_t elements() const;

  View masters() const { return masters_.view(); }
  View gradients() const { return gradients_.view(); }
  View copies() const { return copies_.view(); }  // empty when products read the masters

 private:
  std::vector<std::unique_ptr<Parameter>> parameters_;
  std::vector<Initialization> initializations_;
  Tensor masters_, gradients_, copies_;
};

// Registers parameters below a path.
class Scope {
 public:
  explicit Scope(ParameterStore& store, std::string path = "") : store_(&store), path_(std::move(path)) {}

  Scope operator/(std::string_view name) const { return Scope(*store_, join(name)); }
  Scope operator/(int64_t index) const { return *this / std::to_string(index); }
  const Parameter& add(std::string_view name, Shape shape, Initialization initialization) const {
    return store_->add(join(name), shape, initialization);
  }
  // The random stream of a dropout site at this path.
  RandomKey site(std::string_view name) const { return RandomKey{}.derive(join(name)); }
  const std::string& path() const { return path_; }

 private:
  std::string join(std::string_view name) const {
    return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
  }

  ParameterStore* store_;
  std::string path_;
};

}  // namespace heed
