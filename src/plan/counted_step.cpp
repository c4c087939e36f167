#include "plan/counted_step.h"

#include <algorithm>
#include <map>
#include <optional>

#include "kernels/counting/counting_backend.h"
#include "models/any_model.h"
#include "nn/weights/trainables.h"
#include "ops/tape.h"
#include "parallel/stage_run.h"
#include "plan/layouts/absent_ranks.h"
#include "plan/random_batch.h"

namespace heed {
namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 18;  // that a run has, unless one sequence has more
constexpr uint64_t kBatchSeed = 1;
constexpr Smoothing kSmoothing{0.1F};

// Sinusoids are computed by the host, in time, and cost nothing that is counted here.
ModelConfig without_sinusoids(ModelConfig config) {
  if (config.positions == Positions::sinusoidal) {
    config.positions = Positions::none;
  }
  return config;
}

PlanBatch fewer_sequences(PlanBatch batch) {
  const int64_t length = std::max(batch.source_length, batch.target_length);
  batch.sequences = std::min(batch.sequences, std::max<int64_t>(1, kMaxTokens / length));
  return batch;
}

void scale(CountedStep& counted, double factor) {
  const auto scaled = [&](int64_t bytes) { return static_cast<int64_t>(static_cast<double>(bytes) * factor); };
  for (CountedWeight& weight : counted.weights) {
    weight.forward_flops *= factor;
    weight.training_flops *= factor;
  }
  counted.forward_flops *= factor;
  counted.training_flops *= factor;
  counted.peak_bytes = scaled(counted.peak_bytes);
  counted.kept_bytes = scaled(counted.kept_bytes);
  counted.summed_bytes *= factor;
}

class CountedRun {
 public:
  CountedRun(const ModelConfig& config, const RankPart& part, const PlanBatch& batch, DType storage)
      : part_(part),
        storage_(storage),
        backend_(make_counting_backend(profile_)),
        others_(part.shares),
        ranks_(others_),
        weights_(Parts(ranks_)),
        plan_(config, part.stages),
        model_(Scope(weights_), without_sinusoids(config)),
        trainables_(*backend_, weights_, storage),
        batch_(config, batch, kBatchSeed) {
    if (part.stage > 0) {
      inputs_ = plan_.inputs_of(part.stage);
    }
    if (part.stage + 1 < part.stages) {
      outputs_ = plan_.inputs_of(part.stage + 1);
    }
    find_matrices();
  }

  // Training comes first: the peak is that of all runs so far.
  CountedStep count() {
    CountedStep counted;
    for (const size_t i : held_) {
      const Weight& weight = weights_.all()[i];
      counted.weights.push_back({weight.identity(), weight.use(), weight.shape().elements(), 0.0, 0.0});
    }
    train(counted);
    counted.training_flops = profile_.flops();
    add_products([&](size_t held, double flops) { counted.weights[held].training_flops += flops; });
    profile_ = {};
    Pass pass = Pass::infer(*backend_, storage_);
    StageEnds ends;
    (void)forward(pass, ends);
    counted.forward_flops = profile_.flops();
    add_products([&](size_t held, double flops) { counted.weights[held].forward_flops += flops; });
    return counted;
  }

 private:
  void find_matrices() {
    for (size_t i = 0; i < weights_.all().size(); ++i) {
      const Weight& weight = weights_.all()[i];
      if (plan_.stage_of(weight.identity()) != part_.stage) {
        continue;
      }
      matrices_[host_address(weight.value().matrix)] = held_.size();
      matrices_[host_address(weight.trainable().gradient())] = held_.size();
      held_.push_back(i);
    }
  }

  // A product may read some rows of a matrix.
  template <class Use>
  void add_products(Use use) const {
    for (const auto& [address, flops] : profile_.flops_of_matrices) {
      const auto after = matrices_.upper_bound(address);
      if (after != matrices_.begin()) {
        use(std::prev(after)->second, flops);
      }
    }
  }

  Tensor room_for(const StagePort& port) const {
    const PlanBatch& shape = batch_.shape();
    const bool of_source = port.rows == StagePort::Rows::source && shape.source_length > 0;
    const int64_t length = of_source || shape.target_length == 0 ? shape.source_length : shape.target_length;
    return {{shape.sequences * length, model_.config().model}, storage_, backend_->arena()};
  }

  // The losses, in the last stage.
  std::optional<TokenLosses> forward(Pass& pass, StageEnds& ends) const {
    for (const StagePort& port : inputs_) {
      ends.in(port.what) = Var(room_for(port), 0);
    }
    for (const EmbeddingRoute& route : plan_.routes()) {
      if (route.reader == part_.stage) {
        ends.in(route.port.what) = Var(room_for(route.port), 0);
      }
    }
    const std::optional<Hidden> hidden = run_stage(pass, model_, plan_.layers_of(part_.stage), batch_.texts(), ends);
    return hidden ? std::optional(batch_.loss_of_hidden(pass, model_, *hidden, kSmoothing)) : std::nullopt;
  }

  void train(CountedStep& counted) {
    trainables_.begin_update();
    Tape tape;
    Pass pass = Pass::train(*backend_, storage_, tape, RandomKey{kBatchSeed});
    StageEnds ends;
    const std::optional<TokenLosses> losses = forward(pass, ends);
    std::vector<Tensor> gradients;  // for which there is room from now on
    for (const StagePort& port : outputs_) {
      gradients.push_back(room_for(port));
    }
    counted.kept_bytes = backend_->arena().bytes_in_use();
    for (size_t i = 0; i < outputs_.size(); ++i) {
      ends.out(outputs_[i].what).set_gradient(std::move(gradients[i]));
    }
    tape.backward(*backend_);
    counted.peak_bytes = backend_->arena().peak_bytes();
    count_sums(counted);
  }

  // Where n ranks exchange a sum by rows, each sends (n - 1) / n of its bytes twice. Where they divide a vocabulary,
  // each also sends four numbers (LogitSums) for each row of logits to all others.
  void count_sums(CountedStep& counted) {
    if (part_.shares == 1) {
      return;
    }
    counted.sums = profile_.ops["sum of parts"].calls;
    const int64_t others = part_.shares - 1;
    const bool divides_logits = outputs_.empty() && model_.config().head == Head::tokens;
    const int64_t of_logits = divides_logits ? batch_.shape().tokens() * 4 * size_of(DType::f32) * others : 0;
    counted.summed_bytes =
        static_cast<double>((ranks_.bytes_sent() - of_logits) * part_.shares) / static_cast<double>(2 * others);
  }

  RankPart part_;
  DType storage_;
  Profile profile_;
  std::unique_ptr<Backend> backend_;
  AbsentRanks others_;
  Ranks ranks_;
  Weights weights_;
  StagePlan plan_;
  AnyModel model_;
  Trainables trainables_;
  RandomBatch batch_;
  std::vector<StagePort> inputs_, outputs_;
  std::vector<size_t> held_;                // weights of this stage
  std::map<const void*, size_t> matrices_;  // by where they, or their gradients, begin: which of those
};

}  // namespace

CountedStep count_step(const ModelConfig& config, const RankPart& part, const PlanBatch& batch, DType storage) {
  const PlanBatch few = fewer_sequences(batch);
  CountedStep counted = CountedRun(config, part, few, storage).count();
  if (few.sequences < batch.sequences) {
    scale(counted, static_cast<double>(batch.sequences) / static_cast<double>(few.sequences));
  }
  return counted;
}

}  // namespace heed
