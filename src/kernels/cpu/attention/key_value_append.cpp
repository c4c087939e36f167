#include <algorithm>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/cpu/attention/attention.h"
#include "kernels/integer_rows.h"

namespace heed::cpu {
namespace {

// Numbers of rows: of a new one, and of the one in the cache that it becomes.
using RowPair = std::pair<int64_t, int64_t>;

std::vector<RowPair> row_pairs(const KeyValueAppend& call) {
  const Segments& fresh = *call.segments;
  std::vector<RowPair> pairs;
  pairs.reserve(static_cast<size_t>(fresh.rows()));
  for (int64_t s = 0; s < fresh.count(); ++s) {
    const int64_t known = call.memory.segments->length(s) - fresh.length(s);
    for (int64_t token = 0; token < fresh.length(s); ++token) {
      pairs.emplace_back(fresh.begin(s) + token, call.memory.row(s, known + token));
    }
  }
  return pairs;
}

// Writes rows of keys, or of values, to a cache of another type.
template <class From, class To>
class Conversion {
 public:
  Conversion(const ConstView& from, const View& to, const View& scales) : from_(host<From>(from)), to_(host<To>(to)) {
    if constexpr (std::is_same_v<To, int8_t>) {
      scales_ = host<float>(scales);
    }
  }

  int64_t columns() const { return from_.columns; }
  // `row` is memory for a row.
  void write(const RowPair& rows, std::vector<float>& row) const {
    const From* const from = from_.row(rows.first);
    To* const to = to_.row(rows.second);
    if constexpr (std::is_same_v<To, int8_t>) {
      row.resize(static_cast<size_t>(columns()));
      std::transform(from, from + columns(), row.begin(), [](From x) { return static_cast<float>(x); });
      const auto width = static_cast<size_t>(columns() / scales_.columns);
      for (int64_t h = 0; h < scales_.columns; ++h) {
        const size_t first = static_cast<size_t>(h) * width;
        scales_(rows.second, h) = quantize_row(std::span(row).subspan(first, width), {to + first, width});
      }
    } else {
      std::transform(from, from + columns(), to, [](From x) { return To(x); });
    }
  }

 private:
  HostView<const From> from_;
  HostView<To> to_;
  HostView<float> scales_{};
};

template <class From, class To>
void convert(Context& context, const KeyValueAppend& call) {
  const Conversion<From, To> keys(call.keys, call.memory.keys, call.memory.scales.keys);
  const Conversion<From, To> values(call.values, call.memory.values, call.memory.scales.values);
  const std::vector<RowPair> pairs = row_pairs(call);
  const RowTasks tasks(static_cast<int64_t>(pairs.size()), keys.columns() + values.columns(), context.pool.threads());
  context.pool.run(tasks.count(), [&](int64_t task, int) {
    std::vector<float> row;
    for (int64_t i = tasks.begin(task); i < tasks.end(task); ++i) {
      keys.write(pairs[static_cast<size_t>(i)], row);
      values.write(pairs[static_cast<size_t>(i)], row);
    }
  });
}

int64_t row_offset(const ConstView& matrix, int64_t row) { return row * matrix.stride() * size_of(matrix.type()); }
std::byte* address_of(const View& matrix, int64_t row) {
  return static_cast<std::byte*>(host_address(matrix)) + row_offset(matrix, row);
}
const std::byte* address_of(const ConstView& matrix, int64_t row) {
  return static_cast<const std::byte*>(host_address(matrix)) + row_offset(matrix, row);
}

// On the calling thread, whose next op reads the rows at once.
void copy(const KeyValueAppend& call) {
  const auto key_bytes = static_cast<size_t>(call.keys.columns() * size_of(call.keys.type()));
  const auto value_bytes = static_cast<size_t>(call.values.columns() * size_of(call.values.type()));
  for (const auto& [from, to] : row_pairs(call)) {
    std::memcpy(address_of(call.memory.keys, to), address_of(call.keys, from), key_bytes);
    std::memcpy(address_of(call.memory.values, to), address_of(call.values, from), value_bytes);
  }
}

}  // namespace

void append_key_values(Context& context, const KeyValueAppend& call) {
  const DType from = call.keys.type(), to = call.memory.keys.type();
  if (from == to) {
    copy(call);
  } else if (to == DType::i8) {
    from == DType::f32 ? convert<float, int8_t>(context, call) : convert<bf16, int8_t>(context, call);
  } else {
    convert<float, bf16>(context, call);
  }
}

}  // namespace heed::cpu
