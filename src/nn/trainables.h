// What training stores for all of a model's weights.
#pragma once

#include <deque>
#include <string_view>

#include "nn/weights.h"
#include "ops/trainable.h"

namespace heed {

// Owns flat buffers: masters, gradients (from an update's second shard on also those of the current shard), and, where
// the run's precision is not the master type, the copy of the masters that matrices are read from. In them the weights
// are in the reverse order of registration, which is the order in which backward finishes them. The weights borrow
// their values from here, and must outlive this.
class Trainables {
 public:
  enum class Gradients : uint8_t { none, wanted };
  Trainables(Backend& backend, Weights& weights, DType precision, Gradients gradients = Gradients::wanted);
  ~Trainables();
  Trainables(const Trainables&) = delete;
  Trainables& operator=(const Trainables&) = delete;

  // Draws each weight from its own stream of `seed`, whatever other weights the model has.
  void initialize(Backend& backend, uint64_t seed);
  // Copies the masters into the run's precision, after something other than the optimizer changed them.
  void refresh(Backend& backend);

  // An update's gradient is the sum of its shards' gradients in their order. Each is complete before it is added: with
  // all contributions to a tied weight, and zeros where nothing contributed. Contributions belong to the first shard
  // until begin_shard() is called.
  void begin_update();
  void begin_shard(Backend& backend);
  void finish_update(Backend& backend);

  const Weights& weights() const { return weights_; }
  // In the order of the weights.
  const std::deque<Trainable>& all() const { return trainables_; }
  std::deque<Trainable>& all() { return trainables_; }
  Trainable& find(std::string_view name) { return weights_.find(name).trainable(); }
  const Trainable& find(std::string_view name) const { return weights_.find(name).trainable(); }

  int64_t offset(size_t weight) const { return offsets_[weight]; }  // of its first element in the flat buffers
  View masters() const { return masters_.view(); }
  View gradients() const { return gradients_.view(); }
  View copies() const { return copies_.view(); }  // empty where matrices are read from the masters

 private:
  View part(const Tensor& flat, size_t index) const;  // that of one weight
  void finish_shard(Backend& backend);

  Weights& weights_;
  Tensor masters_, gradients_, of_shard_, copies_;
  std::vector<int64_t> offsets_;  // of each weight in all of them
  std::deque<Trainable> trainables_;
  int64_t shards_ = 1;  // of this update, the current one included
};

}  // namespace heed
