// Each op by itself: time, FLOP/s or bytes/s, and for products the share of oneDNN's best for the same shape.
#include <benchmark/benchmark.h>

#include <cmath>

#include "base/random.h"
#include "bench/roofline.h"
#include "kernels/calls/attention.h"
#include "kernels/calls/linear.h"
#include "kernels/calls/linear_attention.h"
#include "kernels/calls/loss.h"
#include "kernels/calls/norm.h"
#include "kernels/calls/optimizer.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/linear_attention_cost.h"

namespace heed {
namespace {

Backend& backend() {
  static const std::unique_ptr<Backend> cpu = make_cpu_backend();
  return *cpu;
}

Tensor random_tensor(Shape shape, DType type) {
  Tensor tensor(shape, type);
  const RandomKey key{static_cast<uint64_t>(shape.elements())};
  for (int64_t i = 0; i < shape.elements(); ++i) {
    const auto value = static_cast<float>(uniform_draw(key, static_cast<uint64_t>(i)) - 0.5);
    if (type == DType::bf16) {
      tensor.data<bf16>()[i] = bf16(value);
    } else {
      tensor.data<float>()[i] = value;
    }
  }
  return tensor;
}

void set_flops(benchmark::State& state, double flops) {
  state.counters["FLOP/s"] = benchmark::Counter(flops, benchmark::Counter::kIsIterationInvariantRate);
}

void set_bytes(benchmark::State& state, double bytes) {
  state.counters["bytes/s"] = benchmark::Counter(bytes, benchmark::Counter::kIsIterationInvariantRate);
}

// Runs `body` and reports the share of what oneDNN reaches for the product, measured just before.
template <class Body>
void run_product(benchmark::State& state, const ProductShape& shape, DType type, Body&& body) {
  const double roofline = shape.flops() / best_product(shape, type, backend().threads()).seconds;
  for (auto _ : state) {
    body();
  }
  set_flops(state, shape.flops());
  state.counters["share"] = benchmark::Counter(shape.flops() / roofline, benchmark::Counter::kIsIterationInvariantRate);
}

// The three products of a linear layer over `rows` rows: arguments rows, in, out, type.
struct LinearCase {
  explicit LinearCase(const benchmark::State& state)
      : rows(state.range(0)), in(state.range(1)), out(state.range(2)), type(static_cast<DType>(state.range(3))) {}
  int64_t rows, in, out;
  DType type;
};

void linear_forward(benchmark::State& state) {
  const LinearCase c(state);
  const Tensor x = random_tensor({c.rows, c.in}, c.type), w = random_tensor({c.out, c.in}, c.type);
  const Tensor bias = random_tensor({c.out}, DType::f32);
  Tensor y = random_tensor({c.rows, c.out}, c.type);
  run_product(state, {ProductKind::forward, c.rows, c.out, c.in}, c.type,
              [&] { backend().linear({.x = x.view(), .weight = {w.view()}, .bias = bias.view(), .y = y.view()}); });
}

void linear_input_gradient(benchmark::State& state) {
  const LinearCase c(state);
  const Tensor w = random_tensor({c.out, c.in}, c.type), d_y = random_tensor({c.rows, c.out}, c.type);
  Tensor d_x = random_tensor({c.rows, c.in}, c.type);
  run_product(state, {ProductKind::input_gradient, c.rows, c.in, c.out}, c.type,
              [&] { backend().linear_input_gradient({.d_y = d_y.view(), .weight = {w.view()}, .d_x = d_x.view()}); });
}

void linear_weight_gradient(benchmark::State& state) {
  const LinearCase c(state);
  const Tensor x = random_tensor({c.rows, c.in}, c.type), d_y = random_tensor({c.rows, c.out}, c.type);
  Tensor d_w = random_tensor({c.out, c.in}, DType::f32), d_b = random_tensor({c.out}, DType::f32);
  run_product(state, {ProductKind::weight_gradient, c.out, c.in, c.rows}, c.type, [&] {
    backend().linear_weight_gradient({.d_y = d_y.view(), .x = x.view(), .d_weight = d_w.view(), .d_bias = d_b.view()});
  });
}

// One layer's causal self-attention in a training step. Arguments: sequences, tokens, heads, head width, window (0:
// none), stride, type. "s/token" is what patterns are compared by, and "visible" the share of the full causal pattern's
// pairs.
struct AttentionCase {
  explicit AttentionCase(const benchmark::State& state)
      : sequences(state.range(0)),
        tokens(state.range(1)),
        heads(state.range(2)),
        width(state.range(3)),
        type(static_cast<DType>(state.range(6))),
        segments(Segments::equal(sequences, tokens)),
        qkv(random_tensor({sequences * tokens, 3 * heads * width}, type)),
        d_qkv(random_tensor({sequences * tokens, 3 * heads * width}, type)),
        output(random_tensor({sequences * tokens, heads * width}, type)),
        log_sum_exp(random_tensor({sequences * tokens, heads}, DType::f32)),
        settings{.heads = heads,
                 .key_value_heads = heads,
                 .visibility = {Visibility::Reach::causal, state.range(4), state.range(5)},
                 .scale = 1.0 / std::sqrt(static_cast<double>(width)),
                 .dropout = Dropout::of(Probability(0.1F), RandomKey{1}, 0)} {}

  View part(Tensor& fused, int64_t which) const {
    return fused.view().column_range(which * heads * width, heads * width);
  }
  KeyValueView memory() { return {part(qkv, 1), part(qkv, 2), &segments, {}}; }

  void forward() {
    backend().attention({.settings = settings,
                         .queries = part(qkv, 0),
                         .segments = &segments,
                         .memory = memory(),
                         .output = output.view(),
                         .log_sum_exp = log_sum_exp.view()});
  }
  void backward() {
    backend().attention_backward({.settings = settings,
                                  .queries = part(qkv, 0),
                                  .segments = &segments,
                                  .memory = memory(),
                                  .output = output.view(),
                                  .log_sum_exp = log_sum_exp.view(),
                                  .d_output = output.view(),
                                  .d_queries = part(d_qkv, 0),
                                  .d_keys = part(d_qkv, 1),
                                  .d_values = part(d_qkv, 2)});
  }
  double visible_pairs() const {
    double pairs = 0.0;
    for (int64_t query = 0; query < tokens; ++query) {
      pairs += static_cast<double>(settings.visibility.count(query, tokens));
    }
    return pairs;
  }
  double visible_flops(double per_pair) const {
    return per_pair * visible_pairs() * static_cast<double>(sequences * heads * width);
  }
  void report(benchmark::State& state, double flops) const {
    set_flops(state, flops);
    state.counters["s/token"] =
        benchmark::Counter(static_cast<double>(sequences * tokens),
                           benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
    state.counters["visible"] = visible_pairs() / (0.5 * static_cast<double>(tokens) * static_cast<double>(tokens + 1));
  }

  int64_t sequences, tokens, heads, width;
  DType type;
  Segments segments;
  Tensor qkv, d_qkv, output, log_sum_exp;
  AttentionSettings settings;
};

void attention_forward(benchmark::State& state) {
  AttentionCase c(state);
  for (auto _ : state) {
    c.forward();
  }
  c.report(state, c.visible_flops(4.0));
}

void attention_backward(benchmark::State& state) {
  AttentionCase c(state);
  c.forward();
  for (auto _ : state) {
    c.backward();
  }
  c.report(state, c.visible_flops(8.0));
}

// Arguments: sequences, tokens, heads, head width, type. Causal.
struct LinearAttentionCase {
  explicit LinearAttentionCase(const benchmark::State& state)
      : tokens(state.range(0) * state.range(1)),
        columns(state.range(2) * state.range(3)),
        segments(Segments::equal(state.range(0), state.range(1))),
        qkv(random_tensor({tokens, 3 * columns}, static_cast<DType>(state.range(4)))),
        d_qkv(random_tensor({tokens, 3 * columns}, static_cast<DType>(state.range(4)))),
        output(random_tensor({tokens, columns}, static_cast<DType>(state.range(4)))),
        divisors(random_tensor({tokens, state.range(2)}, DType::f32)),
        settings{state.range(2), state.range(2), Visibility::Reach::causal},
        flops(static_cast<double>(state.range(0) * state.range(2)) *
              linear_attention_flops(settings.reach, state.range(1), state.range(3), state.range(3))) {}

  View part(Tensor& fused, int64_t which) const { return fused.view().column_range(which * columns, columns); }
  KeyValueView memory() { return {part(qkv, 1), part(qkv, 2), &segments, {}}; }

  void forward() {
    backend().linear_attention({.settings = settings,
                                .queries = part(qkv, 0),
                                .segments = &segments,
                                .memory = memory(),
                                .output = output.view(),
                                .divisors = divisors.view()});
  }
  void backward() {
    backend().linear_attention_backward({.settings = settings,
                                         .queries = part(qkv, 0),
                                         .segments = &segments,
                                         .memory = memory(),
                                         .output = output.view(),
                                         .divisors = divisors.view(),
                                         .d_output = output.view(),
                                         .d_queries = part(d_qkv, 0),
                                         .d_keys = part(d_qkv, 1),
                                         .d_values = part(d_qkv, 2)});
  }
  void report(benchmark::State& state, double share) const {
    set_flops(state, share * flops);
    state.counters["s/token"] = benchmark::Counter(
        static_cast<double>(tokens), benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
  }

  int64_t tokens, columns;
  Segments segments;
  Tensor qkv, d_qkv, output, divisors;
  LinearAttentionSettings settings;
  double flops;
};

void linear_attention_forward(benchmark::State& state) {
  LinearAttentionCase c(state);
  for (auto _ : state) {
    c.forward();
  }
  c.report(state, 1.0);
}

void linear_attention_backward(benchmark::State& state) {
  LinearAttentionCase c(state);
  c.forward();
  for (auto _ : state) {
    c.backward();
  }
  c.report(state, 2.0);
}

// Arguments: rows, model, type.
void add_norm(benchmark::State& state) {
  const Shape shape{state.range(0), state.range(1)};
  const auto type = static_cast<DType>(state.range(2));
  const Tensor residual = random_tensor(shape, type), branch = random_tensor(shape, type);
  const Tensor gain = random_tensor({shape[1]}, DType::f32);
  Tensor sum = random_tensor(shape, type), normed = random_tensor(shape, type);
  Tensor statistics = random_tensor({shape[0], 2}, DType::f32);
  for (auto _ : state) {
    backend().add_norm({.residual = residual.view(),
                        .branch = branch.view(),
                        .dropout = Dropout::of(Probability(0.1F), RandomKey{1}, 0),
                        .gain = gain.view(),
                        .bias = gain.view(),
                        .sum = sum.view(),
                        .normed = normed.view(),
                        .statistics = statistics.view()});
  }
  set_bytes(state, 4.0 * static_cast<double>(shape.elements() * size_of(type)));
}

// Arguments: rows, model, vocabulary, type.
void output_loss(benchmark::State& state) {
  const int64_t rows = state.range(0), model = state.range(1), vocabulary = state.range(2);
  const auto type = static_cast<DType>(state.range(3));
  const Tensor x = random_tensor({rows, model}, type), w = random_tensor({vocabulary, model}, type);
  const Tensor targets({rows}, DType::i32);
  Tensor losses({rows, 2}, DType::f32), d_logits({rows, vocabulary}, type);
  run_product(state, {ProductKind::forward, rows, vocabulary, model}, type, [&] {
    backend().output_loss({.x = x.view(),
                           .weight = {w.view()},
                           .targets = targets.view(),
                           .smoothing = 0.1,
                           .losses = losses.view(),
                           .d_logits = d_logits.view()});
  });
}

// Argument: parameters.
void adam(benchmark::State& state) {
  const int64_t count = state.range(0);
  const Tensor gradients({count}, DType::f32), norm({1}, DType::f64);
  Tensor weights({count}, DType::f32), first({count}, DType::f32), second({count}, DType::f32);
  Tensor copy({count}, DType::bf16);
  const ElementRange all{0, count};
  for (auto _ : state) {
    backend().adam({.weights = weights.view(),
                    .gradients = gradients.view(),
                    .first_moments = first.view(),
                    .second_moments = second.view(),
                    .copy = copy.view(),
                    .squared_norm = norm.view(),
                    .ranges = {&all, 1},
                    .learning_rate = 1e-4,
                    .max_norm = 1.0,
                    .weight_decay = 0.01});
  }
  set_bytes(state, 30.0 * static_cast<double>(count));
}

constexpr auto kF32 = static_cast<int64_t>(DType::f32);
constexpr auto kBf16 = static_cast<int64_t>(DType::bf16);

void linear_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"rows", "in", "out", "type"})->UseRealTime();
  for (const int64_t type : {kF32, kBf16}) {
    bench->Args({2048, 128, 128, type})->Args({2048, 256, 1024, type})->Args({2048, 512, 512, type});
    bench->Args({2048, 512, 2048, type})->Args({2048, 2048, 512, type})->Args({2048, 512, 8000, type});
  }
}

void attention_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"sequences", "tokens", "heads", "width", "window", "stride", "type"})->UseRealTime();
  bench->Args({128, 16, 8, 64, 0, 1, kBf16})->Args({128, 16, 4, 32, 0, 1, kBf16})->Args({16, 256, 6, 64, 0, 1, kBf16});
  bench->Args({4, 1024, 8, 64, 0, 1, kBf16})->Args({16, 512, 8, 64, 0, 1, kBf16});
  bench->Args({4, 2048, 8, 64, 256, 1, kBf16})->Args({1, 8192, 8, 64, 256, 1, kBf16});
  // The patterns at one length.
  bench->Args({1, 4096, 8, 64, 0, 1, kBf16})->Args({1, 4096, 8, 64, 256, 1, kBf16});
  bench->Args({1, 4096, 8, 64, 0, 16, kBf16})->Args({1, 4096, 8, 64, 0, 64, kBf16});
}

void linear_attention_shapes(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"sequences", "tokens", "heads", "width", "type"})->UseRealTime();
  bench->Args({16, 512, 8, 64, kBf16})->Args({4, 2048, 8, 64, kBf16})->Args({1, 8192, 8, 64, kBf16});
}

BENCHMARK(linear_forward)->Apply(linear_shapes);
BENCHMARK(linear_input_gradient)->Apply(linear_shapes);
BENCHMARK(linear_weight_gradient)->Apply(linear_shapes);
BENCHMARK(attention_forward)->Apply(attention_shapes);
BENCHMARK(attention_backward)->Apply(attention_shapes);
BENCHMARK(linear_attention_forward)->Apply(linear_attention_shapes);
BENCHMARK(linear_attention_backward)->Apply(linear_attention_shapes);
BENCHMARK(add_norm)
    ->ArgNames({"rows", "model", "type"})
    ->Args({2048, 512, kF32})
    ->Args({2048, 512, kBf16})
    ->UseRealTime();
BENCHMARK(output_loss)
    ->ArgNames({"rows", "model", "vocabulary", "type"})
    ->Args({2048, 512, 8000, kBf16})
    ->UseRealTime();
BENCHMARK(adam)->ArgName("parameters")->Arg(int64_t{16} << 20)->UseRealTime();

}  // namespace
}  // namespace heed

BENCHMARK_MAIN();
