#include "bench/roofline.h"

#include <omp.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <oneapi/dnnl/dnnl.hpp>
#include <thread>

#include "base/errors.h"
#include "base/system/clock.h"

namespace heed {
namespace {

// The fastest of several runs within this time: a roofline is what the machine can do when nothing disturbs it.
template <class Run>
double fastest(double seconds, Run&& run) {
  run();
  double best = 1e30;
  const double begin = seconds_now();
  for (int i = 0; i < 3 || seconds_now() - begin < seconds; ++i) {
    const double start = seconds_now();
    run();
    best = std::min(best, seconds_now() - start);
  }
  return best;
}

struct OperandTypes {
  dnnl::memory::data_type left, right, result;
};

// Activations in int8 are unsigned there, as its fastest instructions want them; the result is f32.
OperandTypes operand_types(DType type) {
  using Type = dnnl::memory::data_type;
  switch (type) {
    case DType::bf16:
      return {Type::bf16, Type::bf16, Type::bf16};
    case DType::i8:
      return {Type::u8, Type::s8, Type::f32};
    default:
      return {Type::f32, Type::f32, Type::f32};
  }
}

enum class SecondOperand : uint8_t { as_it_lies, packed };

// A and B as a linear layer's three products read them:
//   forward x W^T: B transposed    input gradient d_y W: both plain    weight gradient d_y^T x: A transposed
// Empty when oneDNN has no such product on this processor.
dnnl::matmul::primitive_desc describe(const dnnl::engine& engine, const ProductShape& shape, const OperandTypes& types,
                                      SecondOperand second) {
  using Tag = dnnl::memory::format_tag;
  const auto result_type = shape.kind == ProductKind::weight_gradient ? dnnl::memory::data_type::f32 : types.result;
  const Tag a_tag = shape.kind == ProductKind::weight_gradient ? Tag::ba : Tag::ab;
  const Tag b_tag = second == SecondOperand::packed ? Tag::any : shape.kind == ProductKind::forward ? Tag::ba : Tag::ab;
  const dnnl::memory::desc a({shape.rows, shape.depth}, types.left, a_tag);
  const dnnl::memory::desc b({shape.depth, shape.columns}, types.right, b_tag);
  const dnnl::memory::desc c({shape.rows, shape.columns}, result_type, Tag::ab);
  constexpr bool kMayBeEmpty = true;
#if DNNL_VERSION_MAJOR >= 3
  return dnnl::matmul::primitive_desc(engine, a, b, c, dnnl::primitive_attr(), kMayBeEmpty);
#else
  return dnnl::matmul::primitive_desc(dnnl::matmul::desc(a, b, c), engine, kMayBeEmpty);
#endif
}

double product_seconds(const dnnl::engine& engine, const dnnl::matmul::primitive_desc& description) {
  constexpr double kSeconds = 0.01;
  dnnl::stream stream(engine);
  const dnnl::matmul product(description);
  const auto zeroed = [&](const dnnl::memory::desc& desc) {
    dnnl::memory memory(desc, engine);
    std::memset(memory.get_data_handle(), 0, desc.get_size());
    return memory;
  };
  const std::unordered_map<int, dnnl::memory> operands{{DNNL_ARG_SRC, zeroed(description.src_desc())},
                                                       {DNNL_ARG_WEIGHTS, zeroed(description.weights_desc())},
                                                       {DNNL_ARG_DST, zeroed(description.dst_desc())}};
  return fastest(kSeconds, [&] {
    product.execute(stream, operands);
    stream.wait();
  });
}

}  // namespace

ProductTime best_product(const ProductShape& shape, DType type, int threads) {
  omp_set_num_threads(threads);
  const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  ProductTime best{std::numeric_limits<double>::infinity(), DType::f32};
  for (const DType candidate : {DType::f32, DType::bf16, DType::i8}) {
    if (candidate != DType::f32 && candidate != type) {
      continue;
    }
    const OperandTypes data_type = operand_types(candidate);
    for (const SecondOperand second : {SecondOperand::as_it_lies, SecondOperand::packed}) {
      const auto description = describe(engine, shape, data_type, second);
      if (description.get(true) == nullptr) {
        continue;
      }
      const double seconds = product_seconds(engine, description);
      if (seconds < best.seconds) {
        best = {seconds, candidate};
      }
    }
  }
  require<ConfigError>(std::isfinite(best.seconds), "bench", "oneDNN {} has no product to compare with here",
                       roofline_library());
  return best;
}

double product_rate(int64_t columns, int64_t depth, DType type, int threads) {
  constexpr int64_t kManyRows = 512;
  const ProductShape shape{ProductKind::forward, kManyRows, columns, depth};
  return shape.flops() / best_product(shape, type, threads).seconds;
}

std::string roofline_library() {
  const dnnl_version_t* const version = dnnl_version();
  return fmt::format("{}.{}.{}", version->major, version->minor, version->patch);
}

double copy_rate(int threads) {
  constexpr size_t kBytes = size_t{192} << 20;
  std::vector<std::byte> from(kBytes), to(kBytes);
  const double time = fastest(0.03, [&] {
    std::vector<std::thread> workers;
    const size_t part = kBytes / static_cast<size_t>(threads);
    workers.reserve(static_cast<size_t>(threads));
    for (int t = 0; t < threads; ++t) {
      workers.emplace_back(
          [&, offset = static_cast<size_t>(t) * part] { std::memcpy(&to[offset], &from[offset], part); });
    }
    for (std::thread& worker : workers) {
      worker.join();
    }
  });
  return 2.0 * static_cast<double>(kBytes) / time;
}

double read_rate(int threads) {
  constexpr size_t kWords = size_t{48} << 20;  // of eight bytes
  const std::vector<uint64_t> memory(kWords, 1);
  std::vector<uint64_t> sums(static_cast<size_t>(threads));
  const double time = fastest(0.03, [&] {
    std::vector<std::thread> workers;
    const size_t part = kWords / static_cast<size_t>(threads);
    for (size_t t = 0; t < sums.size(); ++t) {
      workers.emplace_back([&, t] {
        const auto begin = memory.begin() + static_cast<int64_t>(t * part);
        sums[t] = std::accumulate(begin, begin + static_cast<int64_t>(part), uint64_t{0});
      });
    }
    for (std::thread& worker : workers) {
      worker.join();
    }
  });
  ensure(std::ranges::all_of(sums, [](uint64_t sum) { return sum > 0; }), "bench", "nothing was read");
  return static_cast<double>(kWords * sizeof(uint64_t)) / time;
}

}  // namespace heed
