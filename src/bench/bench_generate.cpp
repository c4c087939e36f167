#include <algorithm>
#include <charconv>

#include "base/median.h"
#include "base/system/clock.h"
#include "base/system/memory.h"
#include "base/system/threads.h"
#include "base/text/names.h"
#include "bench/bench.h"
#include "bench/op_shares.h"
#include "bench/random_model.h"
#include "bench/roofline.h"
#include "decode/sampling/score_blocks.h"
#include "decode/steppers/stepper.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/precision.h"
#include "kernels/profiled_backend.h"

namespace heed {
namespace {

constexpr uint64_t kModelSeed = 1;
constexpr int kPrompts = 5;        // timed
constexpr int kWarmupSteps = 3;    // of a group of streams, before the timed ones
constexpr int kProfiledSteps = 4;  // after them

struct GenerateShape {
  std::string name;
  ModelConfig config;
};

ModelConfig gpt(int64_t model, int64_t layers, int64_t heads, int64_t vocabulary, int64_t context) {
  return {.architecture = Architecture::causal_lm,
          .model = model,
          .inner = 4 * model,
          .heads = heads,
          .encoder_layers = 0,
          .decoder_layers = layers,
          .target_vocabulary = vocabulary,
          .max_length = context,
          .activation = Activation::gelu,
          .positions = Positions::learned,
          .output_bias = Bias::none,
          .tying = Tying::output,
          .embedding_scale = EmbeddingScale::none};
}

ModelConfig llama(int64_t model, int64_t inner, int64_t layers, int64_t heads, int64_t vocabulary, int64_t context) {
  ModelConfig config = gpt(model, layers, heads, vocabulary, context);
  config.inner = inner;
  config.activation = Activation::silu;
  config.gating = Gating::gated;
  config.positions = Positions::rotary;
  config.norm = NormKind::rms;
  config.bias = Bias::none;
  config.tying = Tying::none;
  return config;
}

const std::vector<GenerateShape>& generate_shapes() {
  static const std::vector<GenerateShape> kAll{{"gpt-char", gpt(384, 6, 6, 65, 256)},
                                               {"gpt2", gpt(768, 12, 12, 50257, 1024)},
                                               {"llama-11m", llama(384, 1024, 6, 6, 512, 2048)},
                                               {"llama-134m", llama(768, 2048, 12, 12, 32000, 2048)}};
  return kAll;
}

const GenerateShape& generate_shape_named(const std::string& name) {
  const auto it = std::ranges::find(generate_shapes(), name, &GenerateShape::name);
  if (it == generate_shapes().end()) {
    const std::vector<std::string> names = generate_bench_shapes();
    fail<ConfigError>("bench", "there is no shape '{}'{}; the shapes are {}", name,
                      suggest_name(name, {names.begin(), names.end()}), fmt::join(names, ", "));
  }
  return *it;
}

std::string describe_setup(const GenerateShape& shape) {
  const ModelConfig& c = shape.config;
  return fmt::format(
      "{}: decoder-only, model {}, inner {}, heads {}, layers {}, vocabulary {}, context {}, {}", shape.name, c.model,
      describe(c.inner), c.heads, c.decoder_layers, c.target_vocabulary, c.max_length,
      c.gating == Gating::gated ? "rotary positions, SwiGLU, RMSNorm, untied" : "learned positions, GELU, tied");
}

int64_t parse_streams(const std::string& text) {
  constexpr int64_t kMaxStreams = 4096;
  int64_t streams = 0;
  const char* const end = text.data() + text.size();
  const bool whole = std::from_chars(text.data(), end, streams).ptr == end;
  require<ConfigError>(whole && streams >= 1 && streams <= kMaxStreams, "bench",
                       "'{}' streams, expected a number from 1 to {}", text, kMaxStreams);
  return streams;
}

// Sequences that are continued greedily.
class Streams {
 public:
  Streams(const Inference& inference, int64_t count)
      : stepper_(make_stepper(inference)), tokens_(static_cast<size_t>(count)) {
    sequences_ = stepper_->begin(std::vector<std::vector<int32_t>>(static_cast<size_t>(count)));
  }

  void read(const std::vector<int32_t>& prompt) {
    std::vector<NewTokens> new_tokens;
    for (const SequenceId sequence : sequences_) {
      new_tokens.push_back({sequence, prompt});
    }
    take(stepper_->next(new_tokens));
  }
  void step() {
    new_tokens_.clear();
    for (size_t s = 0; s < sequences_.size(); ++s) {
      new_tokens_.push_back({sequences_[s], std::span(&tokens_[s], 1)});
    }
    take(stepper_->next(new_tokens_));
  }
  int64_t length() const { return stepper_->length(sequences_.front()); }

 private:
  void take(const NextTokens& next) {
    for (size_t s = 0; s < sequences_.size(); ++s) {
      const std::span row(next.log_probs.row(static_cast<int64_t>(s)), static_cast<size_t>(next.log_probs.columns));
      tokens_[s] = best_token(row, [](int32_t) { return true; });
    }
  }

  std::unique_ptr<Stepper> stepper_;
  std::vector<SequenceId> sequences_;
  std::vector<int32_t> tokens_;
  std::vector<NewTokens> new_tokens_;
};

std::vector<int32_t> random_prompt(int64_t tokens, int64_t vocabulary) {
  std::vector<int32_t> prompt;
  for (int64_t i = 0; i < tokens; ++i) {
    const double draw = uniform_draw(RandomKey{kModelSeed}, static_cast<uint64_t>(i));
    prompt.push_back(static_cast<int32_t>(draw * static_cast<double>(vocabulary)));
  }
  return prompt;
}

template <class Run>
double seconds_of(Run&& run) {
  const double begin = seconds_now();
  run();
  return seconds_now() - begin;
}

void warm_up(const RandomModel& model, Backend& backend, const std::vector<int32_t>& prompt, int64_t streams) {
  Streams group(model.on(backend), streams);
  group.read(prompt);
  for (int i = 0; i < kWarmupSteps; ++i) {
    group.step();
  }
}

// Reads the prompt in one sequence after another, and measures the products' roofline after each.
void measure_prompt(const RandomModel& model, Backend& backend, const std::vector<int32_t>& prompt,
                    GenerateBenchReport& report, DType yardstick) {
  Profile profile;
  const auto profiled = make_profiled_backend(backend, profile);
  Streams(model.on(*profiled), 1).read(prompt);
  report.prompt_ops = op_shares(profile);
  std::vector<double> seconds, ideal;
  for (int i = 0; i < kPrompts; ++i) {
    Streams stream(model.on(backend), 1);
    seconds.push_back(seconds_of([&] { stream.read(prompt); }));
    double products = 0.0;
    for (const auto& [shape, count] : profile.products) {
      products += static_cast<double>(count) * best_product(shape, yardstick, report.threads).seconds;
    }
    ideal.push_back(products);
  }
  double flops = 0.0;
  for (const auto& [shape, count] : profile.products) {
    flops += shape.flops() * static_cast<double>(count);
  }
  report.prompt_seconds = median(seconds);
  report.prompt_flops_per_second = profile.flops() / report.prompt_seconds;
  report.roofline_flops_per_second = flops / median(ideal);
  report.prompt_share = report.prompt_flops_per_second / report.roofline_flops_per_second;
}

// A step reads each weight once, and the keys and values of each sequence.
int64_t bytes_of_step(const Inference& inference, int64_t weight_bytes, int64_t positions) {
  const ModelConfig& config = inference.model.config();
  const DType type = inference.cache_type();
  const int64_t scales = type == DType::i8 ? 2 * size_of(DType::f32) : 0;
  const int64_t of_head = (config.width_of_head() + config.width_of_values()) * size_of(type) + scales;
  return weight_bytes + config.decoder_layers * config.heads_of_keys(0) * of_head * positions;
}

// The machine's rates. A disturbance makes a yardstick slower: the better of two readings is closer to the real rate.
struct Rates {
  double read, products;

  static Rates measured(const ModelConfig& config, DType yardstick, int threads) {
    const double products = product_rate(config.inner.of(0), config.model, yardstick, threads);
    return {read_rate(threads), products};
  }
  Rates better_of(const Rates& other) const { return {std::max(read, other.read), std::max(products, other.products)}; }
};

StreamsBench measure_streams(const RandomModel& model, Backend& backend, const std::vector<int32_t>& prompt,
                             int64_t streams, const GenerateBenchOptions& options, DType yardstick,
                             GenerateBenchReport& report) {
  const Inference inference = model.on(backend);
  Profile profile;
  profile.records = false;
  const auto profiled = make_profiled_backend(backend, profile);
  Streams group(model.on(*profiled), streams);
  group.read(prompt);
  for (int i = 0; i < kWarmupSteps; ++i) {
    group.step();
  }
  Rates rates = Rates::measured(inference.model.config(), yardstick, report.threads);
  std::vector<double> seconds;
  for (int64_t i = 0; i < options.tokens; ++i) {
    seconds.push_back(seconds_of([&] { group.step(); }));
  }
  const int64_t positions = (group.length() - options.tokens / 2) * streams;
  rates = rates.better_of(Rates::measured(inference.model.config(), yardstick, report.threads));
  report.read_bytes_per_second = std::max(report.read_bytes_per_second, rates.read);
  report.product_flops_per_second = std::max(report.product_flops_per_second, rates.products);
  profile.records = true;
  for (int i = 0; i < kProfiledSteps; ++i) {
    group.step();
  }
  const auto bytes = static_cast<double>(bytes_of_step(inference, report.weight_bytes, positions));
  StreamsBench bench{.streams = streams, .step_seconds = median(seconds)};
  bench.tokens_per_second = static_cast<double>(streams) / bench.step_seconds;
  bench.bytes_per_second = bytes / bench.step_seconds;
  bench.limits = {bytes / rates.read, profile.flops() / kProfiledSteps / rates.products};
  bench.share = bench.limits.seconds() / bench.step_seconds;
  bench.ops = op_shares(profile, kProfiledSteps);
  return bench;
}

}  // namespace

std::vector<std::string> generate_bench_shapes() {
  std::vector<std::string> names;
  for (const GenerateShape& shape : generate_shapes()) {
    names.push_back(shape.name);
  }
  return names;
}

GenerateBenchReport bench_generate(const GenerateBenchOptions& options) {
  const GenerateShape& shape = generate_shape_named(options.shape);
  const DType storage = inference_type(options.precision);
  std::vector<int64_t> streams;
  std::ranges::transform(options.streams, std::back_inserter(streams), parse_streams);
  if (streams.empty()) {
    streams = {1, 8, 64};
  }
  require<ConfigError>(options.prompt >= 1 && options.tokens >= 1, "bench",
                       "{} tokens of prompt and {} more, expected at least 1 of each", options.prompt, options.tokens);
  const int64_t prompt_tokens = std::min(options.prompt, shape.config.max_length / 2);
  require<ConfigError>(prompt_tokens + kWarmupSteps + options.tokens + kProfiledSteps <= shape.config.max_length,
                       "bench", "{} timed tokens and {} others after a prompt of {}, but the context is {}",
                       options.tokens, kWarmupSteps + kProfiledSteps, prompt_tokens, shape.config.max_length);
  const std::unique_ptr<Backend> backend = make_cpu_backend(thread_count(options.threads));
  RandomModel model(*backend, shape.config, storage, options.weights, kModelSeed);
  model.cache_in(cache_type(options.cache, storage));
  GenerateBenchReport report{.setup = describe_setup(shape),
                             .precision = precision_of(storage),
                             .weights = options.weights,
                             .threads = backend->threads(),
                             .parameters = model.parameters(),
                             .weight_bytes = model.bytes_of_a_step(),
                             .prompt = prompt_tokens};
  const std::vector<int32_t> prompt = random_prompt(prompt_tokens, shape.config.target_vocabulary);
  warm_up(model, *backend, prompt, std::ranges::max(streams));
  report.peak_memory_bytes = peak_memory_bytes();  // before the yardsticks take memory
  const DType yardstick = options.weights == MatrixForm::precision ? storage : DType::i8;
  measure_prompt(model, *backend, prompt, report, yardstick);
  for (const int64_t count : streams) {
    report.streams.push_back(measure_streams(model, *backend, prompt, count, options, yardstick, report));
  }
  return report;
}

}  // namespace heed
