#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "base/median.h"
#include "base/system/clock.h"
#include "base/system/memory.h"
#include "bench/bench.h"
#include "bench/roofline.h"
#include "bench/train_shapes.h"
#include "kernels/cpu/machine/instruction_sets.h"
#include "kernels/cpu/product/product.h"
#include "kernels/devices/device_choice.h"
#include "kernels/profiled_backend.h"
#include "models/any_model.h"
#include "models/config_keys.h"
#include "ops/tape.h"
#include "optim/optimizer.h"
#include "train/recipe/recipe.h"

namespace heed {
namespace {

constexpr Smoothing kSmoothing{0.1F};
constexpr uint64_t kSeed = 1;

std::string describe_setup(const BenchShape& shape) {
  const bool pairs = shape.architecture == Architecture::seq2seq;
  return fmt::format(
      "{}: {}, model {}, inner {}, heads {}, layers {}, vocabulary {}, batch {} of {} tokens, {} positions, {}; "
      "pre-norm, final norms, biases, untied; dropout 0.1 (embeddings, attention weights, inner activation, branches), "
      "smoothing 0.1, clipping at 1, AdamW",
      shape.name, pairs ? "encoder-decoder" : "decoder-only", shape.model, shape.inner, shape.heads,
      pairs ? fmt::format("{0}+{0}", shape.layers) : fmt::format("{}", shape.layers), shape.vocabulary, shape.sequences,
      pairs ? fmt::format("{0}+{0}", shape.length) : fmt::format("{}", shape.length), pairs ? "sinusoidal" : "learned",
      pairs ? "ReLU" : "GELU");
}

std::vector<std::vector<int32_t>> random_sequences(const BenchShape& shape, uint64_t stream) {
  std::vector<std::vector<int32_t>> sequences(static_cast<size_t>(shape.sequences));
  const RandomKey key = RandomKey{kSeed}.derive(stream);
  uint64_t draw = 0;
  for (auto& sequence : sequences) {
    for (int64_t i = 0; i < shape.length; ++i) {
      sequence.push_back(static_cast<int32_t>(uniform_draw(key, draw++) * static_cast<double>(shape.vocabulary)));
    }
  }
  return sequences;
}

// A model, its batch and its optimizer: everything that a step needs.
class WholeStep {
 public:
  WholeStep(Backend& backend, const BenchShape& shape, DType storage, const AdapterConfig& adapter)
      : storage_(storage) {
    const ModelConfig config = config_of(shape);
    const Sequences target(random_sequences(shape, 2));
    const Sequences drawn(random_sequences(shape, 3));
    const Targets expected({drawn.tokens().ids().begin(), drawn.tokens().ids().end()});
    model_.emplace(Scope(weights_), config);
    pairs_ = {SourceSequences(random_sequences(shape, 1)), TargetSequences(target), expected};
    tokens_ = {target, expected};
    std::vector<WeightTreatment> treatments;
    if (adapter.rank > 0) {
      treatments.resize(weights_.all().size(), WeightTreatment::of_base);
      add_adapters(weights_, adapter);
    }
    treatments.resize(weights_.all().size(), WeightTreatment::trained);
    trainables_.emplace(backend, weights_, storage, Trainables::Gradients::wanted, std::move(treatments));
    trainables_->initialize(backend, kSeed);
    trainables_->initialize_base(backend, kSeed);
    optimizer_.emplace(backend, *trainables_, OptimizerConfig{});
  }

  // Returns the loss per token.
  double step(Backend& backend) {
    const double tokens = static_cast<double>(tokens_.expected.counted());
    Tape tape(1.0 / tokens);
    Pass pass = Pass::train(backend, storage_, tape, RandomKey{kSeed}.derive(steps_++));
    const TokenLosses losses = model_->visit([&](const auto& model) { return loss(model, pass); });
    tape.backward(backend);
    optimizer_->update(backend, 1e-4);
    return losses.total_smoothed() / tokens;
  }

  int64_t parameters() const { return weights_.elements(); }
  int64_t trained_parameters() const { return trainables_->trained_elements(); }

 private:
  TokenLosses loss(const Seq2Seq& model, Pass& pass) const { return model.loss(pass, pairs_, kSmoothing); }
  template <class TokenModel>
  TokenLosses loss(const TokenModel& model, Pass& pass) const {
    return model.loss(pass, tokens_, kSmoothing);
  }

  DType storage_;
  Weights weights_;
  std::optional<AnyModel> model_;
  PairBatch pairs_;
  TokenBatch tokens_;
  std::optional<Trainables> trainables_;
  std::optional<Optimizer> optimizer_;
  uint64_t steps_ = 0;
};

double timed_step(WholeStep& whole, Backend& backend) {
  const double begin = seconds_now();
  const double loss = whole.step(backend);
  backend.wait();
  const double seconds = seconds_now() - begin;
  ensure(std::isfinite(loss), "bench", "the loss is {}", loss);
  return seconds;
}

// Returns how many steps to time.
int warm_up(WholeStep& whole, Backend& backend, const TrainBenchOptions& options) {
  double estimate = 0.0;
  for (int i = 0; i < std::max(1, options.warmup_steps); ++i) {
    estimate = timed_step(whole, backend);
  }
  return options.steps > 0 ? options.steps : std::clamp(static_cast<int>(10.0 / estimate), 5, 100);
}

// A step's products, by the yardstick: the best time of each so far, and the total time of each round.
class Roofline {
 public:
  Roofline(const Profile& profile, DType storage, int threads)
      : products_(profile.products), storage_(storage), threads_(threads) {}

  void measure() {
    double round = 0.0;
    for (const auto& [shape, count] : products_) {
      const ProductTime time = best_product(shape, storage_, threads_);
      const auto best = best_.try_emplace(shape, time).first;
      if (time.seconds < best->second.seconds) {
        best->second = time;
      }
      round += time.seconds * static_cast<double>(count);
    }
    rounds_.push_back(round);
  }

  const std::vector<double>& rounds() const { return rounds_; }

  void report(TrainBenchReport& report) const {
    double flops = 0.0, seconds = 0.0;
    std::set<std::string_view> types;
    for (const auto& [shape, time] : best_) {
      const double count = static_cast<double>(products_.at(shape));
      flops += shape.flops() * count;
      seconds += time.seconds * count;
      report.peak_product_flops_per_second =
          std::max(report.peak_product_flops_per_second, shape.flops() / time.seconds);
      types.insert(name_of(time.type));
    }
    report.roofline_flops_per_second = flops / seconds;
    report.yardstick = fmt::format("oneDNN {}, {}", roofline_library(), fmt::join(types, " and "));
  }

 private:
  std::map<ProductShape, int64_t> products_;
  DType storage_;
  int threads_;
  std::map<ProductShape, ProductTime> best_;
  std::vector<double> rounds_;
};

// The slowest / the fastest.
double spread(const std::vector<double>& rounds) {
  const auto [fastest, slowest] = std::ranges::minmax(rounds);
  return slowest / fastest;
}

// Steps and yardstick alternate, so that a disturbance of either shows, and does not distort the share.
void measure_rounds(WholeStep& whole, Backend& backend, int steps, std::optional<Roofline>& roofline,
                    TrainBenchReport& report) {
  constexpr int kRounds = 3;
  const int rounds = std::min(kRounds, steps);
  std::vector<double> all, medians;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> times;
    for (int i = steps * round / rounds; i < steps * (round + 1) / rounds; ++i) {
      times.push_back(timed_step(whole, backend));
    }
    all.insert(all.end(), times.begin(), times.end());
    medians.push_back(median(std::move(times)));
    if (roofline) {
      roofline->measure();
    }
  }
  report.step_seconds = median(std::move(all));
  report.disturbance = spread(medians);
  if (roofline) {
    report.disturbance = std::max(report.disturbance, spread(roofline->rounds()));
  }
}

// An op is bound by the resource of which it uses at least half.
std::string bound_of(const TrainBenchOp& op, const TrainBenchReport& report) {
  if (op.flops_per_second >= 0.5 * report.roofline_flops_per_second) {
    return "matrix";
  }
  return op.bytes_per_second >= 0.5 * report.memory_bytes_per_second ? "memory" : "overhead";
}

void break_down(const Profile& profile, TrainBenchReport& report) {
  for (const auto& [name, op] : profile.ops) {
    TrainBenchOp entry{name, "", op.calls, op.seconds, op.flops / op.seconds, op.bytes / op.seconds};
    entry.bound = bound_of(entry, report);
    report.ops.push_back(std::move(entry));
  }
  std::ranges::sort(report.ops, std::ranges::greater(), &TrainBenchOp::seconds);
}

}  // namespace

std::vector<std::string> train_bench_shapes() {
  std::vector<std::string> names;
  for (const BenchShape& shape : bench_shapes()) {
    names.push_back(shape.name);
  }
  return names;
}

TrainBenchReport bench_train(const TrainBenchOptions& options) {
  const BenchShape& shape = shape_named(options.shape, train_bench_shapes());
  const DType storage = storage_of(options.precision);
  require<ConfigError>(options.steps >= 0 && options.warmup_steps >= 0, "bench",
                       "{} steps after {} of warm-up, expected 0 or more of each", options.steps, options.warmup_steps);
  const std::unique_ptr<Backend> backend = make_backend(options.device, options.threads);
  const bool has_yardstick = backend->device() == Device::cpu;

  Profile profile;
  TrainBenchReport report;
  report.setup = describe_setup(shape);
  report.precision = precision_of(storage);
  report.bf16_products = cpu::fastest_bf16_products() == cpu::Bf16Products::pairs ? "pairs" : "widened";
  report.instruction_set = cpu::best_instruction_set();
  report.threads = backend->threads();
  report.device = backend->device_name();
  report.target_tokens = shape.sequences * shape.length;
  {
    AdapterConfig adapter{.rank = options.adapter_rank, .matrices = options.adapter_matrices};
    if (adapter.matrices.empty()) {
      adapter.matrices = AdapterConfig().matrices;
    }
    adapter.validate();
    WholeStep whole(*backend, shape, storage, adapter);
    report.parameters = whole.parameters();
    report.trained_parameters = whole.trained_parameters();
    const int steps = warm_up(whole, *backend, options);
    whole.step(*make_profiled_backend(*backend, profile));
    // Before the yardstick takes memory.
    report.peak_memory_bytes = has_yardstick ? peak_memory_bytes() : backend->arena().peak_bytes();
    std::optional<Roofline> roofline;
    if (has_yardstick) {
      roofline.emplace(profile, storage, report.threads);
    }
    measure_rounds(whole, *backend, steps, roofline, report);
    if (roofline) {
      roofline->report(report);
      report.memory_bytes_per_second = copy_rate(report.threads);
    }
  }
  report.target_tokens_per_second = static_cast<double>(report.target_tokens) / report.step_seconds;
  report.model_flops_per_second = profile.flops() / report.step_seconds;
  report.share = has_yardstick ? report.model_flops_per_second / report.roofline_flops_per_second : 0.0;
  break_down(profile, report);
  return report;
}

}  // namespace heed
