// The simpler simple recurrent unit: a thread for each sequence and column, from token to token.
#include "heed_cuda/device/launch.h"
#include "heed_cuda/kernels/attention/attention_frame.h"
#include "heed_cuda/kernels/recurrence/recurrence.h"

namespace heed::cuda {
namespace {

constexpr int kSsruThreads = 64;

template <class T>
struct SsruOperands {
  Matrix<const T> gates, candidates;
  Matrix<const float> bias;

  __device__ float gate(int64_t row, int64_t column) const {
    const float x = to_float(gates(row, column)) + (bias.empty() ? 0.0F : bias(0, column));
    return 1.0F / (1.0F + expf(-x));
  }
};

// The cells of tokens: rounded, and the rest.
template <class T>
struct SsruMemory {
  Matrix<T> cells, rests;
  TokenRows tokens;
};

template <class T>
__global__ void ssru_kernel(DeviceSegments segments, SsruOperands<T> from, SsruMemory<T> memory, Matrix<T> output,
                            Matrix<float> cells) {
  const int64_t s = blockIdx.x, column = int64_t{blockIdx.y} * kSsruThreads + threadIdx.x;
  if (column >= output.columns) {
    return;
  }
  const int64_t begin = segments.offsets[s], count = segments.offsets[s + 1] - begin;
  const bool remembers = !memory.cells.empty();
  const int64_t known = remembers ? memory.tokens.offsets[s + 1] - memory.tokens.offsets[s] - count : 0;
  float cell = 0.0F;
  if (known > 0) {
    const int64_t row = memory.tokens.row(s, known - 1);
    cell = to_float(memory.cells(row, column)) + to_float(memory.rests(row, column));
  }
  for (int64_t t = 0; t < count; ++t) {
    const int64_t row = begin + t;
    const float f = from.gate(row, column);
    cell = fmaf(f, cell, (1.0F - f) * to_float(from.candidates(row, column)));
    const T rounded = from_float<T>(cell), rest = from_float<T>(cell - to_float(rounded));
    cell = to_float(rounded) + to_float(rest);
    if (remembers) {
      const int64_t to = memory.tokens.row(s, known + t);
      memory.cells(to, column) = rounded;
      memory.rests(to, column) = rest;
    }
    if (!cells.empty()) {
      cells(row, column) = cell;
    }
    output(row, column) = from_float<T>(cell < 0.0F ? 0.0F : cell);  // NaN stays
  }
}

template <class T>
__global__ void ssru_backward_kernel(DeviceSegments segments, SsruOperands<T> from, Matrix<const float> cells,
                                     Matrix<const T> d_output, Matrix<T> d_gates, Matrix<T> d_candidates) {
  const int64_t s = blockIdx.x, column = int64_t{blockIdx.y} * kSsruThreads + threadIdx.x;
  if (column >= d_output.columns) {
    return;
  }
  const int64_t begin = segments.offsets[s];
  float carried = 0.0F;
  for (int64_t row = segments.offsets[s + 1] - 1; row >= begin; --row) {
    const float f = from.gate(row, column), before = row > begin ? cells(row - 1, column) : 0.0F;
    const float d_cell = carried + (cells(row, column) > 0.0F ? to_float(d_output(row, column)) : 0.0F);
    d_gates(row, column) = from_float<T>(d_cell * (before - to_float(from.candidates(row, column))) * f * (1.0F - f));
    d_candidates(row, column) = from_float<T>(d_cell * (1.0F - f));
    carried = d_cell * f;
  }
}

Grid ssru_grid(const DeviceSegments& segments, int64_t columns) {
  return {dim3(static_cast<unsigned>(segments.count), static_cast<unsigned>(ceil_div<int64_t>(columns, kSsruThreads))),
          dim3(kSsruThreads)};
}

template <class T>
void run_ssru(Context& context, const SsruForward& call) {
  Operands operands(context);
  const DeviceSegments segments = context.segments(*call.segments);
  const SsruOperands<T> from{operands.in<T>(call.gates), operands.in<T>(call.candidates),
                             operands.in<float>(call.bias)};
  SsruMemory<T> memory;
  if (!call.memory.keys.empty()) {
    memory = {operands.in_out<T>(call.memory.keys), operands.in_out<T>(call.memory.values),
              token_rows(context, operands, *call.memory.segments, call.memory.table)};
  }
  const auto output = operands.out<T>(call.output);
  const auto cells = operands.out<float>(call.cells);
  if (segments.rows > 0) {
    launch(context.queue, ssru_grid(segments, output.columns), ssru_kernel<T>, segments, from, memory, output, cells);
  }
  operands.finish();
}

template <class T>
void run_ssru_backward(Context& context, const SsruBackward& call) {
  Operands operands(context);
  const DeviceSegments segments = context.segments(*call.segments);
  const SsruOperands<T> from{operands.in<T>(call.gates), operands.in<T>(call.candidates),
                             operands.in<float>(call.bias)};
  const auto cells = operands.in<float>(call.cells);
  const auto d_output = operands.in<T>(call.d_output);
  const auto d_gates = operands.out<T>(call.d_gates), d_candidates = operands.out<T>(call.d_candidates);
  if (segments.rows > 0) {
    launch(context.queue, ssru_grid(segments, d_output.columns), ssru_backward_kernel<T>, segments, from, cells,
           d_output, d_gates, d_candidates);
  }
  operands.finish();
}

}  // namespace

void ssru(Context& context, const SsruForward& call) {
  for_storage(call.gates.type(), [&]<class T>(T) { run_ssru<T>(context, call); });
}

void ssru_backward(Context& context, const SsruBackward& call) {
  for_storage(call.gates.type(), [&]<class T>(T) { run_ssru_backward<T>(context, call); });
}

}  // namespace heed::cuda
