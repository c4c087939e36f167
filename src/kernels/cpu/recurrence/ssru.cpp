// Columns don't depend on each other: a vector of them goes through a sequence with its cells in a register.
#include "kernels/cpu/recurrence/ssru.h"

#include <algorithm>

#include "base/rounding.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/recurrence/ssru.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/elementwise/activation-inl.h"
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

HWY_INLINE Vec forget_gate(Vec gate, const float* bias, int64_t c, int64_t left) {
  return sigmoid(bias == nullptr ? gate : hn::Add(gate, load_upto(bias + c, left)));
}

HWY_INLINE const float* bias_of(const ConstView& bias) { return bias.empty() ? nullptr : host<float>(bias).data; }

// Some columns of a sequence.
template <class T>
void run_sequence(const SsruForward& call, int64_t s, int64_t c, int64_t left) {
  const auto gates = host<T>(call.gates), candidates = host<T>(call.candidates);
  const auto output = host<T>(call.output);
  const float* const bias = bias_of(call.bias);
  const bool remembers = !call.memory.keys.empty(), keeps = !call.cells.empty();
  const int64_t count = call.segments->length(s), begin = call.segments->begin(s);
  const int64_t known = remembers ? call.memory.segments->length(s) - count : 0;
  Vec cell = hn::Zero(Floats());
  if (known > 0) {
    const int64_t row = call.memory.row(s, known - 1);
    cell = hn::Add(load_upto(host<T>(call.memory.keys).row(row) + c, left),
                   load_upto(host<T>(call.memory.values).row(row) + c, left));
  }
  for (int64_t t = 0; t < count; ++t) {
    const int64_t row = begin + t;
    const Vec f = forget_gate(load_upto(gates.row(row) + c, left), bias, c, left);
    const Vec x = load_upto(candidates.row(row) + c, left);
    cell = hn::MulAdd(f, cell, hn::Mul(hn::Sub(constant(1.0F), f), x));
    const Vec rounded = as_stored<T>(cell), rest = as_stored<T>(hn::Sub(cell, rounded));
    cell = hn::Add(rounded, rest);
    if (remembers) {
      const int64_t to = call.memory.row(s, known + t);
      store_upto(rounded, host<T>(call.memory.keys).row(to) + c, left);
      store_upto(rest, host<T>(call.memory.values).row(to) + c, left);
    }
    if (keeps) {
      store_upto(cell, host<float>(call.cells).row(row) + c, left);
    }
    store_upto(hn::Max(cell, hn::Zero(Floats())), output.row(row) + c, left);
  }
}

template <class T>
void run_sequence_back(const SsruBackward& call, int64_t s, int64_t c, int64_t left) {
  const auto gates = host<T>(call.gates), candidates = host<T>(call.candidates), d_output = host<T>(call.d_output);
  const auto d_gates = host<T>(call.d_gates), d_candidates = host<T>(call.d_candidates);
  const auto cells = host<float>(call.cells);
  const float* const bias = bias_of(call.bias);
  const Vec one = constant(1.0F);
  Vec carried = hn::Zero(Floats());
  for (int64_t row = call.segments->end(s) - 1; row >= call.segments->begin(s); --row) {
    const Vec f = forget_gate(load_upto(gates.row(row) + c, left), bias, c, left);
    const Vec x = load_upto(candidates.row(row) + c, left);
    const Vec before = row > call.segments->begin(s) ? load_upto(cells.row(row - 1) + c, left) : hn::Zero(Floats());
    const auto shows = hn::Gt(load_upto(cells.row(row) + c, left), hn::Zero(Floats()));
    const Vec d_cell = hn::Add(carried, hn::IfThenElseZero(shows, load_upto(d_output.row(row) + c, left)));
    const Vec d_x = hn::Mul(d_cell, hn::Sub(one, f));
    store_upto(hn::Mul(hn::Mul(d_x, f), hn::Sub(before, x)), d_gates.row(row) + c, left);
    store_upto(d_x, d_candidates.row(row) + c, left);
    carried = hn::Mul(d_cell, f);
  }
}

}  // namespace

void run_ssru(const SsruForward& call, int64_t first, int64_t end) {
  for (int64_t s = 0; s < call.segments->count(); ++s) {
    for (int64_t c = first; c < end; c += lanes()) {
      call.gates.type() == DType::bf16 ? run_sequence<bf16>(call, s, c, end - c)
                                       : run_sequence<float>(call, s, c, end - c);
    }
  }
}

void run_ssru_backward(const SsruBackward& call, int64_t first, int64_t end) {
  for (int64_t s = 0; s < call.segments->count(); ++s) {
    for (int64_t c = first; c < end; c += lanes()) {
      call.gates.type() == DType::bf16 ? run_sequence_back<bf16>(call, s, c, end - c)
                                       : run_sequence_back<float>(call, s, c, end - c);
    }
  }
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(run_ssru);
HWY_EXPORT(run_ssru_backward);

namespace {

// Calls body(first, end) for blocks of columns, several at once if that is worth it.
template <class Body>
void for_each_block_of_columns(Context& context, const ConstView& x, const Body& body) {
  constexpr int64_t kLeastElements = 16384, kBlock = 64;
  const int64_t columns = x.columns(), elements = x.rows() * columns;
  const int64_t block = elements < kLeastElements ? columns : kBlock;
  context.pool.run(ceil_div(columns, block),
                   [&](int64_t task, int) { body(task * block, std::min(columns, (task + 1) * block)); });
}

}  // namespace

void ssru(Context& context, const SsruForward& call) {
  for_each_block_of_columns(context, call.gates, [&](int64_t first, int64_t end) {
    HWY_DYNAMIC_DISPATCH(run_ssru)(call, first, end);
  });
}

void ssru_backward(Context& context, const SsruBackward& call) {
  for_each_block_of_columns(context, call.gates, [&](int64_t first, int64_t end) {
    HWY_DYNAMIC_DISPATCH(run_ssru_backward)(call, first, end);
  });
}

}  // namespace heed::cpu
#endif
