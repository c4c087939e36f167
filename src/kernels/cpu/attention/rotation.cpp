// Each pair of columns (a, b) of a head is rotated by an angle proportional to the row's position:
//   a' = a cos - b sin      b' = a sin + b cos
// both times the magnitude. The cosines and sines depend only on the position, so they are computed once, in double,
// and cached.
#include "kernels/cpu/attention/rotation.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <vector>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/rotation.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/machine/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

// Rotates one head's pairs; `direction` is 1 or -1, and -1 rotates back.
template <class T>
HWY_INLINE void turn_head(T* a, T* b, const float* cosines, const float* sines, int64_t pairs, Vec direction) {
  const auto turn = [direction](Vec x, Vec y, Vec cosine, Vec sine, auto&& write) {
    sine = hn::Mul(sine, direction);
    write(hn::NegMulAdd(y, sine, hn::Mul(x, cosine)), hn::MulAdd(x, sine, hn::Mul(y, cosine)));
  };
  for_columns(
      pairs,
      [&](int64_t c) {
        turn(load(a + c), load(b + c), load(cosines + c), load(sines + c), [&](Vec x, Vec y) {
          store(x, a + c);
          store(y, b + c);
        });
      },
      [&](int64_t c, int64_t count) {
        turn(load_part(a + c, count), load_part(b + c, count), load_part(cosines + c, count),
             load_part(sines + c, count), [&](Vec x, Vec y) {
               store_part(x, a + c, count);
               store_part(y, b + c, count);
             });
      });
}

template <class T>
void turn_row(T* row, const Rotation& call, const float* cosines, const float* sines) {
  const int64_t width = call.x.columns() / call.heads, pairs = call.dims / 2;
  const Vec direction = hn::Set(Floats(), call.turn == Turn::forward ? 1.0F : -1.0F);
  for (int64_t head = 0; head < call.heads; ++head, row += width) {
    turn_head(row, row + pairs, cosines, sines, pairs, direction);
  }
}

}  // namespace

void turn_row_f32(float* row, const Rotation& call, const float* cosines, const float* sines) {
  turn_row(row, call, cosines, sines);
}
void turn_row_bf16(bf16* row, const Rotation& call, const float* cosines, const float* sines) {
  turn_row(row, call, cosines, sines);
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {
namespace {

HWY_EXPORT(turn_row_f32);
HWY_EXPORT(turn_row_bf16);

// Far more than the sequences of any model have; later positions are computed again each time.
constexpr int64_t kMaxCachedPositions = int64_t{1} << 17;

// One position's cosines, then its sines, one of each per pair.
void turns_of(const RotaryPairs& pairs, int64_t position, float* turns) {
  const int64_t count = pairs.dims / 2;
  const double magnitude = pairs.magnitude();
  for (int64_t c = 0; c < count; ++c) {
    const double angle = static_cast<double>(position) * pairs.frequency(c);
    turns[c] = static_cast<float>(magnitude * std::cos(angle));
    turns[count + c] = static_cast<float>(magnitude * std::sin(angle));
  }
}

// The rotations of positions [0, positions), each dims floats.
struct TurnTable {
  RotaryPairs pairs;
  int64_t positions;
  std::vector<float> turns;
};

// Caches one table per kind of pairs, and replaces it by a longer one when necessary. A shared_ptr to the old one stays
// valid.
class TurnTables {
 public:
  std::shared_ptr<const TurnTable> find(const RotaryPairs& pairs, int64_t positions) {
    const std::lock_guard lock(mutex_);
    const auto same = [&](const auto& table) { return table->pairs == pairs; };
    auto table = std::ranges::find_if(tables_, same);
    if (table == tables_.end()) {
      tables_.push_back(std::make_shared<TurnTable>(TurnTable{pairs, 0, {}}));
      table = std::prev(tables_.end());
    }
    if ((*table)->positions < positions) {
      *table = longer(**table, std::min(kMaxCachedPositions, std::max(positions, 2 * (*table)->positions)));
    }
    return *table;
  }

 private:
  static std::shared_ptr<const TurnTable> longer(const TurnTable& from, int64_t positions) {
    TurnTable table{from.pairs, positions, from.turns};
    table.turns.resize(static_cast<size_t>(positions * from.pairs.dims));
    for (int64_t position = from.positions; position < positions; ++position) {
      turns_of(from.pairs, position, table.turns.data() + position * from.pairs.dims);
    }
    return std::make_shared<const TurnTable>(std::move(table));
  }

  std::mutex mutex_;
  std::vector<std::shared_ptr<const TurnTable>> tables_;
};

}  // namespace

void rotate(Context& context, const Rotation& call) {
  const int64_t rows = call.x.rows(), dims = call.dims;
  if (rows == 0 || dims == 0) {
    return;
  }
  static TurnTables tables;
  const int32_t* const positions = host<int32_t>(call.position_rows).data;
  const int64_t count = *std::max_element(positions, positions + rows) + int64_t{1};
  const auto table = tables.find(call.pairs(), std::clamp<int64_t>(count, 1, kMaxCachedPositions));
  const auto turn_rows = [&]<class T>(const HostView<T>& x, auto turn_row) {
    const RowTasks cut(rows, call.heads * dims, context.pool.threads());
    context.pool.run(cut.count(), [&](int64_t task, int worker) {
      float* const own = context.scratch(worker).reserve<float>(dims);
      for (int64_t r = cut.begin(task); r < cut.end(task); ++r) {
        const int64_t position = positions[r];
        const float* turns = own;
        if (position >= 0 && position < table->positions) {
          turns = table->turns.data() + position * dims;
        } else {
          turns_of(call.pairs(), position, own);
        }
        turn_row(x.row(r), call, turns, turns + dims / 2);
      }
    });
  };
  if (call.x.type() == DType::bf16) {
    turn_rows(host<bf16>(call.x), HWY_DYNAMIC_DISPATCH(turn_row_bf16));
  } else {
    turn_rows(host<float>(call.x), HWY_DYNAMIC_DISPATCH(turn_row_f32));
  }
}

}  // namespace heed::cpu
#endif
