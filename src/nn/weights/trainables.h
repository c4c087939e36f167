// What training stores for all of a model's weights.
#pragma once

#include <deque>
#include <memory>
#include <string_view>

#include "nn/weights/weights.h"
#include "ops/trainable.h"

namespace heed {

// What training does with a weight.
enum class WeightTreatment : uint8_t {
  trained,
  frozen,  // keeps its value, which is saved with those of the others
  of_base,  // keeps its value, which is that of another model's file, in the run's precision or as packed there: no master
};

// A part of a trained weight, at most kMaxElements long: what ranks own, exchange and measure. `first` is its position
// in the flat buffers.
struct WeightSlice {
  static constexpr int64_t kMaxElements = 128 * 1024;

  size_t weight = 0;
  int64_t first = 0, count = 0;
};

// Owns flat buffers: masters, gradients (from an update's second shard on also those of the current shard), and, where
// the run's precision is not the master type, the copy of the masters that matrices are read from. In them the weights
// are in the reverse order of registration, which is the order in which backward finishes them. Weights that are not
// trained are not in the buffers, but each in memory of its own. The weights borrow their values from here, and must
// outlive this.
//
// A stage of a model holds some of the weights. The others have their positions in the buffers, so that these are the
// same in all stages, but they have no values here, and nothing touches their memory.
class Trainables {
 public:
  enum class Gradients : uint8_t { none, wanted };
  // `treatments` and `held` have one for each weight; none: all are trained, and all are held.
  Trainables(Backend& backend, Weights& weights, DType precision, Gradients gradients = Gradients::wanted,
             std::vector<WeightTreatment> treatments = {}, std::vector<bool> held = {});
  ~Trainables();
  Trainables(const Trainables&) = delete;
  Trainables& operator=(const Trainables&) = delete;

  // Draws each weight from its own stream of `seed`, whatever other weights the model has.
  void initialize(Backend& backend, uint64_t seed);
  // The value of a weight of the base, in any type. It has none before.
  void store_base(Backend& backend, size_t weight, ConstView value);
  // The same of a matrix that stays packed: products unpack it (ops/unpacked_weight.h).
  void store_base(size_t weight, std::unique_ptr<PackedWeight> packed);
  // For measuring with untrained weights: the same values for what has none of the base.
  void initialize_base(Backend& backend, uint64_t seed);
  // Copies the masters into the run's precision, after something other than the optimizer changed them.
  void refresh(Backend& backend);

  // An update's gradient is the sum of its shards' gradients in their order. Each is complete before it is added: with
  // all contributions to a tied weight, and zeros where nothing contributed. Contributions belong to the first shard
  // until begin_shard() is called.
  void begin_update();
  void begin_shard(Backend& backend);
  void finish_update(Backend& backend);

  // Where shards are exchanged between ranks, each is written to memory of its own, and whoever exchanges them adds
  // what a rank owns of the sum to gradients().
  void begin_exchanged_shard();
  View exchanged_shard() const { return of_shard_.view(); }
  void finish_exchanged_shard(Backend& backend);  // zeros where nothing contributed; sums over other ranks' heads

  // The same for one weight.
  void complete(Backend& backend, size_t weight);

  const Weights& weights() const { return weights_; }
  Backend& backend() const { return backend_; }   // whose memory holds all of it
  DType precision() const { return precision_; }  // of what layers read, but for vectors
  WeightTreatment treatment_of(size_t weight) const { return treatments_[weight]; }
  // What is not trained is held everywhere.
  bool is_held(size_t weight) const { return held_[weight] || treatments_[weight] != WeightTreatment::trained; }
  // Trained here.
  bool has_gradient(size_t weight) const { return held_[weight] && treatments_[weight] == WeightTreatment::trained; }
  int64_t trained_elements() const;  // of the whole model
  // One for each weight that has one here, in the order of the weights.
  const std::deque<Trainable>& all() const { return trainables_; }
  std::deque<Trainable>& all() { return trainables_; }
  Trainable& find(std::string_view name) { return weights_.find(name).trainable(); }
  const Trainable& find(std::string_view name) const { return weights_.find(name).trainable(); }

  // Where a trained weight begins and ends in the flat buffers, in elements.
  int64_t offset(size_t weight) const { return offsets_[weight]; }
  int64_t end(size_t weight) const;
  // All of them, in their order in the flat buffers. They depend on each weight's size alone.
  std::vector<WeightSlice> slices() const;
  View masters() const { return masters_.view(); }
  View gradients() const { return gradients_.view(); }
  View copies() const { return copies_.view(); }  // empty where matrices are read from the masters
  // A slice of what layers read: of the copies or, for vectors and where there are none, of the masters.
  View values(const WeightSlice& slice) const;
  // Gives the memory of a slice's master back, where layers don't read it.
  void discard_master(const WeightSlice& slice);
  // Gives the gradients' memory back until the next update.
  void discard_gradients();
  // While the masters of all weights are here: lets layers also read those that other ranks hold, and ends that.
  void attach_remote_weights(Backend& backend);
  void detach_remote_weights();

 private:
  View part(const Tensor& flat, size_t index) const;  // that of one weight
  // Uses the ranges of the flat buffers that belong to weights that are held: (first, count).
  template <class Use>
  void for_each_held_range(Use use) const;
  void finish_shard(Backend& backend);
  void complete_shard(Backend& backend);
  void write_to_shard();
  bool reads_master(size_t weight) const;
  template <class Use>
  void for_each_trained(Use use);

  // A weight that is not trained: its master, unless it is of the base, and what it is read from if that is not the
  // master.
  struct Kept {
    Tensor master, copy;
  };
  void keep(Backend& backend, size_t index);
  void train(size_t index);

  Backend& backend_;
  Weights& weights_;
  DType precision_;
  std::vector<WeightTreatment> treatments_;
  std::vector<bool> held_;
  std::vector<Kept> kept_;  // by weight
  Tensor masters_, gradients_, of_shard_, copies_;
  std::vector<int64_t> offsets_;  // of each weight in all of them
  std::deque<Trainable> trainables_;
  int64_t shards_ = 1;  // of this update, the current one included
};

}  // namespace heed
