// A model's weights: registered by name while it is built.
#pragma once

#include <deque>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"
#include "nn/weights/division.h"
#include "ops/weight.h"

namespace heed {

// How a weight is initialized.
struct Initialization {
  enum class Kind : uint8_t { zeros, ones, normal, xavier_uniform, inputs_uniform };

  Kind kind = Kind::zeros;
  double deviation = 0.0;  // of normal
  int64_t parts = 1;       // matrices stacked in one, each initialized on its own
  int64_t inputs = 0;      // of inputs_uniform; 0: the matrix's columns

  static Initialization zeros() { return {}; }
  static Initialization ones() { return {Kind::ones}; }
  static Initialization normal(double deviation, int64_t parts = 1) { return {Kind::normal, deviation, parts}; }
  // Uniform within +-sqrt(6 / (in + out)).
  static Initialization xavier_uniform(int64_t parts = 1) { return {Kind::xavier_uniform, 0.0, parts}; }

  // Uniform within +-1 / sqrt(inputs): of a linear layer's matrix and bias; a bias has to be told the inputs.
  static Initialization inputs_uniform(int64_t count = 0) { return {Kind::inputs_uniform, 0.0, 1, count}; }

  // How the bias of a matrix that is initialized like this is initialized.
  Initialization of_bias(int64_t count) const { return kind == Kind::inputs_uniform ? inputs_uniform(count) : zeros(); }

  // Element `index` of a weight of this shape, drawn from the weight's own stream.
  double value(const Shape& shape, RandomKey key, int64_t index) const;
};

// How matrices that write to the residual stream begin: like others, or at zero, so that each layer begins as the
// identity.
enum class BranchStart : uint8_t { random, zero };

// How a model's matrices are initialized: by Xavier, by the number of inputs, or normal with one deviation, and a
// smaller one for matrices that write to the residual stream, so that its variance does not grow with depth.
struct MatrixInitialization {
  enum class Kind : uint8_t { xavier, inputs, normal };

  Kind kind = Kind::xavier;
  double deviation = 0.0, residual_deviation = 0.0;  // of normal
  BranchStart branches = BranchStart::random;        // what the residual stream gets at first

  Initialization inner(int64_t parts = 1) const { return with(deviation, parts); }
  Initialization residual() const {
    return branches == BranchStart::zero ? Initialization::zeros() : with(residual_deviation, 1);
  }

 private:
  Initialization with(double deviation_of_normal, int64_t parts) const {
    switch (kind) {
      case Kind::inputs:
        return Initialization::inputs_uniform();
      case Kind::normal:
        return Initialization::normal(deviation_of_normal, parts);
      default:
        return Initialization::xavier_uniform(parts);
    }
  }
};

// How matrices are held for inference: in the run's precision, or as integers with scales.
enum class MatrixForm : uint8_t { precision, int8, int4 };

// Owns the weights. Their values come from a Trainables, or for inference from a file.
class Weights {
 public:
  Weights() = default;
  // The weights of a model of which this rank has a part.
  explicit Weights(Parts parts) : parts_(std::move(parts)) {}
  Weights(const Weights&) = delete;
  Weights& operator=(const Weights&) = delete;

  // The reference stays valid. Names are unique paths, such as "encoder.layers.0.feed_forward.inner.weight"; what a
  // weight is, its identity says. The shape is that of the whole; the weight has that of this rank's part.
  const Weight& add(std::string name, Shape shape, WeightUse use, Initialization initialization,
                    const Division& division = {}, WeightIdentity identity = {});
  // No weight can be added any more: memory has been allocated for them.
  void close() { closed_ = true; }

  // The random stream that a weight is initialized from, whatever other weights the model has.
  static RandomKey initial_stream(uint64_t seed, const Weight& weight) {
    return RandomKey{seed}.derive("initialization").derive(weight.name());
  }
  // For measuring inference with untrained weights: stores their initial values.
  void store_initial(Backend& backend, DType precision, uint64_t seed, MatrixForm form = MatrixForm::precision);

  const std::deque<Weight>& all() const { return weights_; }  // in the order of registration
  std::deque<Weight>& all() { return weights_; }
  const Initialization& initialization(size_t index) const { return initializations_[index]; }
  // A part begins with what the whole has there.
  void initial_values(size_t index, uint64_t seed, const std::function<void(int64_t element, double value)>& use) const;

  const Parts& parts() const { return parts_; }
  const RankElements& own_elements(size_t index) const { return rank_elements_[index]; }
  const Division& division(size_t index) const { return divisions_[index]; }
  bool is_divided(size_t index) const {
    return divisions_[index].kind == Division::Kind::rows || divisions_[index].kind == Division::Kind::columns;
  }
  const Weight& find(std::string_view name) const;
  int64_t elements() const;  // of the whole model

 private:
  Parts parts_;
  std::deque<Weight> weights_;
  std::vector<RankElements> rank_elements_;
  std::vector<Division> divisions_;
  std::vector<Initialization> initializations_;
  bool closed_ = false;
};

// What a weight is at the place where it is registered.
struct RolesAndTerm {
  // NOLINTBEGIN(google-explicit-constructor): most have one role, which says it all
  RolesAndTerm(WeightRole role, WeightTerm what = WeightTerm::factor) : RolesAndTerm(WeightRoles{{role}}, what) {}
  RolesAndTerm(WeightRoles stacked, WeightTerm what = WeightTerm::factor) : roles(std::move(stacked)), term(what) {}
  // NOLINTEND(google-explicit-constructor)

  WeightRoles roles;
  WeightTerm term;
};

// Registers weights below a path, which names them, at a place in the model.
class Scope {
 public:
  explicit Scope(Weights& weights, std::string path = "") : Scope(weights, std::move(path), {}) {}

  Scope operator/(std::string_view name) const { return {*weights_, join(name), place_}; }
  Scope operator/(int64_t index) const { return *this / std::to_string(index); }
  // The same path, at a more precise place.
  Scope in(Stack stack) const { return {*weights_, path_, {stack, place_.layer, place_.sublayer}}; }
  Scope in(Sublayer sublayer) const { return {*weights_, path_, {place_.stack, place_.layer, sublayer}}; }
  Scope in_layer(int64_t layer) const { return {*weights_, path_, {place_.stack, layer, place_.sublayer}}; }

  const Weight& add(std::string_view name, RolesAndTerm what, Shape shape, WeightUse use, Initialization initialization,
                    const Division& division = {}) const {
    return weights_->add(join(name), shape, use, initialization, division, {place_, std::move(what.roles), what.term});
  }
  // What this rank has of the model.
  const Parts& parts() const { return weights_->parts(); }
  // The random stream of a dropout site at this path.
  RandomKey site(std::string_view name) const { return RandomKey{}.derive(join(name)); }
  const std::string& path() const { return path_; }

 private:
  Scope(Weights& weights, std::string path, const WeightPlace& place)
      : weights_(&weights), path_(std::move(path)), place_(place) {}

  std::string join(std::string_view name) const {
    return path_.empty() ? std::string(name) : path_ + "." + std::string(name);
  }

  Weights* weights_;
  std::string path_;
  WeightPlace place_;
};

}  // namespace heed
