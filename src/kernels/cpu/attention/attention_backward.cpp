// With p = 2^(s - log2(e) log_sum_exp), s = log2(e) (scale q.k, capped, or with the term by distance), and D =
// rowsum(d_output * output), block by block:
//   d_v += dropout(p)^T d_o    d_p = dropout(d_o V^T + d_mass[clamped distance])    d_s = p (d_p - D)
//   with a cap: d_s *= 1 - (s / cap)^2
//   d_q += scale d_s K         d_k += scale d_s^T Q         d_table[clamped distance] += factor d_s
// A share is all work of one key-value head of a sequence: it adds up the query heads that read it, in order.
#include <optional>

#include "base/rounding.h"
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/attention/attention_plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/attention_backward.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/attention/attention_distance-inl.h"
#include "kernels/cpu/attention/attention_pack-inl.h"
#include "kernels/cpu/attention/attention_rows-inl.h"
#include "kernels/cpu/attention/attention_share-inl.h"
#include "kernels/cpu/attention/attention_tile-inl.h"
#include "kernels/cpu/attention/attention_transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kChunkRows = 256;  // rows whose panels fit in a core's own cache

// A worker's memory for one share.
struct Buffers {
  Buffers(Carver& from, int64_t max_queries, int64_t heads, int64_t max_keys, HeadWidths widths, int64_t slope_count)
      : chunk(from, max_queries, heads) {
    const int64_t max_rows = max_queries * heads;
    const int64_t panels = panels_for(widths.of_keys), value_panels = panels_for(widths.of_values);
    const int64_t padded = round_up(max_rows, kLanes);
    random = from.take<RowRandom>(max_rows);
    queries = from.take<float>(panels * max_rows * kPanel);
    d_output = from.take<float>(value_panels * max_rows * kPanel);
    d_queries = from.take<float>(panels * max_rows * kPanel);
    exponents = from.take<float>(padded);
    row_sums = from.take<float>(padded);
    lane_sums = from.take<float>(padded * kLanes);
    key_columns = from.take<float>(panels * kPanel * kKeyBlock);
    value_columns = from.take<float>(value_panels * kPanel * kKeyBlock);
    keys = from.take<float>(panels * kKeyBlock * kPanel);
    scores = from.take<float>(kRowGroup * kKeyBlock);
    d_scores = from.take<float>(kRowGroup * kKeyBlock);
    d_keys = from.take<float>(panels * max_keys * kPanel);
    d_values = from.take<float>(value_panels * max_keys * kPanel);
    slopes = from.take<float>(slope_count);
  }

  QueryRows chunk;
  RowRandom* random;
  float *queries, *d_output, *d_queries;  // panels of a chunk's rows
  float* exponents;                       // log2(e) log_sum_exp of each row
  float *row_sums, *lane_sums;            // D of each row, and lane by lane
  float *key_columns, *value_columns;     // of one block, transposed
  float* keys;                            // the same keys as rows
  float *scores, *d_scores;               // of one group of rows and one block: s, then dropout(p); d_p, then d_s
  float *d_keys, *d_values;               // panels of all keys of the sequence
  float* slopes;                          // of the cap at each of the scores
};

// to[r][j] = sum over columns of left[r][column] * right[column][j]: rows of queries against keys as columns. Only the
// vectors that the rows need are written.
void multiply_tile(const ScoreTile& tile, int64_t width, int64_t panel_rows, const float* left, const float* right,
                   float* to) {
  for_each_run(tile, width, [&](const RunPanel& run) {
    const int64_t column = run.vectors.begin * kLanes;
    product(
        run.rows, run.vectors.end - run.vectors.begin,
        LeftRows{left + (run.panel * panel_rows + tile.first_row + run.first) * kPanel},
        right + run.panel * kPanel * kKeyBlock + column,
        [&run](int64_t, int64_t) {
          return Steps{0, run.columns};
        },
        Sums{panel_at(to, run.first, 0) + column, run.start});
  });
}

template <class T>
struct Operands {
  explicit Operands(const AttentionBackward& call)
      : queries(host<T>(call.queries)),
        keys(host<T>(call.memory.keys)),
        values(host<T>(call.memory.values)),
        output(host<T>(call.output)),
        d_output(host<T>(call.d_output)),
        d_queries(host<T>(call.d_queries)),
        d_keys(host<T>(call.d_keys)),
        d_values(host<T>(call.d_values)),
        log_sum_exp(host<float>(call.log_sum_exp)) {}

  HostView<const T> queries, keys, values, output, d_output;
  HostView<T> d_queries, d_keys, d_values;
  HostView<const float> log_sum_exp;
};

template <class T>
class Backward {
 public:
  Backward(const AttentionBackward& call, const Operands<T>& operands, Scratch& scratch, int64_t max_queries)
      : call_(call),
        settings_(call.settings),
        operands_(operands),
        heads_(call.settings.heads / call.settings.key_value_heads),
        widths_(call.settings, call.queries, call.output),
        max_queries_(max_queries),
        max_rows_(max_queries * heads_),
        max_keys_(max_keys_of_class(call)),
        buffers_(carve<Buffers>(scratch, max_queries, heads_, max_keys_, widths_,
                                call.settings.score_cap > 0.0 ? kRowGroup * kKeyBlock : 0)),
        by_distance_(call.settings, call.settings.by_distance.table),
        d_mass_(call.settings, call.d_mass) {}

  void run(const Share& share) {
    for (int64_t h = 0; h < share.key_value_heads; ++h) {
      run_head(share.query_range, share.first_key_value_head + h);
    }
  }

 private:
  void run_head(const QueryRange& query_range, int64_t key_value_head) {
    const int64_t queries = query_range.queries;
    const ResidueClass tokens =
        class_of(settings_, *call_.segments, *call_.memory.segments, query_range.sequence, query_range.residue);
    key_count_ = tokens.keys;
    first_key_row_ = call_.memory.segments->begin(query_range.sequence) + tokens.residue;
    key_value_head_ = key_value_head;
    first_head_ = key_value_head * heads_;
    one_tile_ = queries > 0 && queries * heads_ <= kRowGroup && key_count_ > 0 && key_count_ <= kKeyBlock;
    begin_table(query_range);
    if (!one_tile_) {
      clear(buffers_.d_keys, widths_.of_keys, max_keys_, key_count_);
      clear(buffers_.d_values, widths_.of_values, max_keys_, key_count_);
    }
    for (int64_t first = 0; first < queries; first += max_queries_) {
      run_chunk({query_range.sequence, query_range.residue, first, std::min(max_queries_, queries - first), 0});
    }
    // The panels of queries hold scale log2(e) q; the dropout scale has not been applied yet.
    const float dropout_scale = settings_.dropout.active() ? settings_.dropout.scale() : 1.0F;
    write_rows(buffers_.d_keys, max_keys_, kLn2, keys_of(operands_.d_keys, 0, key_count_));
    write_rows(buffers_.d_values, max_keys_, dropout_scale, keys_of(operands_.d_values, 0, key_count_));
  }

  static int64_t max_keys_of_class(const AttentionBackward& call) {
    const int64_t stride = call.settings.visibility.stride;
    return ceil_div(call.memory.segments->max_length(), stride);
  }

  // Its own part of the table's gradient starts at zero.
  void begin_table(const QueryRange& query_range) {
    d_by_distance_ = DistanceTable<float>(settings_, call_.d_by_distance, query_range.sequence * settings_.heads);
    if (d_by_distance_.empty()) {
      return;
    }
    const int64_t first = call_.segments->begin(query_range.sequence);
    const int64_t rows = settings_.by_distance.of == TableOf::head ? 1 : query_range.queries;
    for (int64_t head = first_head_; head < first_head_ + heads_; ++head) {
      for (int64_t row = first; row < first + rows; ++row) {
        std::fill_n(d_by_distance_.row(row, head), d_by_distance_.columns, 0.0F);
      }
    }
  }

  static void clear(float* panels, int64_t width, int64_t panel_rows, int64_t rows) {
    for (int64_t panel = 0; panel < panels_for(width); ++panel) {
      std::fill_n(panels + panel * panel_rows * kPanel, rows * kPanel, 0.0F);
    }
  }

  // The chunk's rows of head h of its group, and some of the sequence's keys.
  template <class Element>
  HeadRows<T, Element> rows_of(const HostView<Element>& matrix, int64_t h) const {
    const int64_t width = matrix.columns / settings_.heads;
    return {matrix, (first_head_ + h) * width, width, chunk_.queries(), chunk_.query_row(0), chunk_.stride()};
  }
  template <class Element>
  HeadRows<T, Element> keys_of(const HostView<Element>& matrix, int64_t first_key, int64_t count) const {
    const int64_t stride = settings_.visibility.stride, width = matrix.columns / settings_.key_value_heads;
    return {matrix, key_value_head_ * width, width, count, first_key_row_ + first_key * stride, stride};
  }

  void run_chunk(const QueryRange& query_range) {
    if (!(query_range == query_range_)) {
      query_range_ = query_range;
      chunk_.list(settings_, *call_.segments, *call_.memory.segments, query_range);
      only_tile_.reset();
    }
    draw_rows(settings_, chunk_, first_head_, buffers_.random);
    pack_query_rows();
    sum_rows();
    if (one_tile_) {
      pack_keys(0);
      if (!only_tile_) {
        only_tile_.emplace(chunk_, 0, 0, block_keys_);
      }
      backpropagate(*only_tile_);
    } else {
      clear(buffers_.d_queries, widths_.of_keys, max_rows_, chunk_.rows());
      for (int64_t key = chunk_.seen().begin / kKeyBlock * kKeyBlock; key < chunk_.seen().end; key += kKeyBlock) {
        pack_keys(key);
        for (int64_t first = 0; first < chunk_.rows(); first += kRowGroup) {
          backpropagate(ScoreTile(chunk_, first, key, block_keys_));
        }
      }
    }
    for (int64_t h = 0; h < heads_; ++h) {
      write_rows(buffers_.d_queries + h * chunk_.queries() * kPanel, max_rows_, static_cast<float>(settings_.scale),
                 rows_of(operands_.d_queries, h));
    }
  }

  void pack_query_rows() {
    const Vec scale = hn::Set(Floats(), static_cast<float>(settings_.scale) * kLog2E);
    for (int64_t h = 0; h < heads_; ++h) {
      const int64_t first = h * chunk_.queries();
      pack_rows(rows_of(operands_.queries, h), max_rows_, buffers_.queries + first * kPanel,
                [scale](Vec q) { return hn::Mul(q, scale); });
      pack_rows(rows_of(operands_.d_output, h), max_rows_, buffers_.d_output + first * kPanel);
      for (int64_t i = 0; i < chunk_.queries(); ++i) {
        buffers_.exponents[first + i] = operands_.log_sum_exp(chunk_.query_row(i), first_head_ + h) * kLog2E;
      }
    }
  }

  // D = rowsum(d_output * output)
  void sum_rows() {
    float* sums = buffers_.lane_sums;
    for (int64_t h = 0; h < heads_; ++h) {
      const HeadRows<T> output = rows_of(operands_.output, h);
      for (int64_t i = 0; i < chunk_.queries(); ++i, sums += kLanes) {
        Vec sum = hn::Zero(Floats());
        for (int64_t panel = 0; panel < panels_for(output.width); ++panel) {
          const float* const d_output = buffers_.d_output + (panel * max_rows_ + h * chunk_.queries() + i) * kPanel;
          read_row(output.row(i) + panel * kPanel, panel_columns(output.width, panel),
                   order_of_columns<T>(output.width),
                   [&](int64_t c, Vec o) { sum = hn::MulAdd(o, load(d_output + c), sum); });
        }
        store(sum, sums);
      }
    }
    for (int64_t r = 0; r < chunk_.rows(); r += kLanes) {
      const float* const lanes_of_rows = buffers_.lane_sums + r * kLanes;
      store(reduce_rows(lanes_of_rows, [](Vec a, Vec b) { return hn::Add(a, b); }), buffers_.row_sums + r);
    }
  }

  void pack_keys(int64_t first_key) {
    block_keys_ = std::min(kKeyBlock, key_count_ - first_key);
    pack_columns(keys_of(operands_.keys, first_key, block_keys_), buffers_.key_columns);
    pack_columns(keys_of(operands_.values, first_key, block_keys_), buffers_.value_columns);
    pack_rows(keys_of(operands_.keys, first_key, block_keys_), kKeyBlock, buffers_.keys);
  }

  // ---- one group of rows, one block of keys ----

  void backpropagate(const ScoreTile& tile) {
    if (tile.seen_by_any == 0 && !one_tile_) {
      return;
    }
    multiply_tile(tile, widths_.of_keys, max_rows_, buffers_.queries, buffers_.key_columns, buffers_.scores);
    multiply_tile(tile, widths_.of_values, max_rows_, buffers_.d_output, buffers_.value_columns, buffers_.d_scores);
    const bool capped = settings_.score_cap > 0.0;
    if (capped) {
      cap_scores(tile, settings_, buffers_.scores, buffers_.slopes);
    }
    const auto factor = static_cast<float>(settings_.by_distance.factor);
    if (!by_distance_.empty()) {
      add_by_distance(tile, chunk_, first_head_, by_distance_, factor * kLog2E, buffers_.scores);
    }
    if (!d_mass_.empty()) {
      add_by_distance(tile, chunk_, first_head_, d_mass_, 1.0F, buffers_.d_scores);
    }
    differentiate(tile);
    if (capped) {
      multiply_by_slopes(tile);
    }
    if (!d_by_distance_.empty()) {
      add_to_table(tile, chunk_, first_head_, d_by_distance_, factor, buffers_.d_scores);
    }
    add_to_queries(tile);
    add_to_keys(tile, widths_.of_values, buffers_.scores, buffers_.d_output, buffers_.d_values);
    add_to_keys(tile, widths_.of_keys, buffers_.d_scores, buffers_.queries, buffers_.d_keys);
  }

  // s and d_p become dropout(p), without its scale, and d_s; zeros for keys that are not seen.
  void differentiate(const ScoreTile& tile) {
    const Floats d;
    const uint32_t threshold = settings_.dropout.threshold;
    const Vec scale = hn::Set(d, threshold == 0 ? 1.0F : settings_.dropout.scale());
    for (int64_t r = 0; r < tile.rows; ++r) {
      const int64_t row = tile.first_row + r;
      const uint64_t seen = tile.seen[r];
      uint64_t kept = kAllKeys;
      if (threshold > 0) {
        kept = kept_bits(buffers_.random[row], threshold, tile.first_key, tile.keys);
      }
      const Vec exponent = hn::Set(d, buffers_.exponents[row]);
      const Vec row_sum = hn::Set(d, buffers_.row_sums[row]);
      for (int64_t v = 0; v < vectors_for(tile.keys); ++v) {
        float* const score = panel_at(buffers_.scores, r, v);
        float* const d_score = panel_at(buffers_.d_scores, r, v);
        if (v < tile.vectors[r].begin || v >= tile.vectors[r].end) {
          store(hn::Zero(d), score);
          store(hn::Zero(d), d_score);
          continue;
        }
        const auto seen_lanes = mask_of(seen, v);
        const auto kept_lanes = mask_of(kept, v);
        const Vec p = hn::IfThenElseZero(seen_lanes, exp2_of(hn::Sub(load(score), exponent)));
        const Vec d_p = hn::IfThenElseZero(kept_lanes, load(d_score));
        store(hn::IfThenElseZero(kept_lanes, p), score);
        store(hn::IfThenElseZero(seen_lanes, hn::Mul(p, hn::MulSub(d_p, scale, row_sum))), d_score);
      }
    }
  }

  // From d_s of the capped scores to that of the scores.
  void multiply_by_slopes(const ScoreTile& tile) {
    for (int64_t r = 0; r < tile.rows; ++r) {
      for (int64_t v = tile.vectors[r].begin; v < tile.vectors[r].end; ++v) {
        float* const d_score = panel_at(buffers_.d_scores, r, v);
        store(
            hn::IfThenElseZero(mask_of(tile.seen[r], v), hn::Mul(load(d_score), load(panel_at(buffers_.slopes, r, v)))),
            d_score);
      }
    }
  }

  Sums::Start start() const { return one_tile_ ? Sums::Start::zero : Sums::Start::former; }

  // d_q += d_s K
  void add_to_queries(const ScoreTile& tile) {
    for (int64_t panel = 0; panel < panels_for(widths_.of_keys); ++panel) {
      product(
          tile.rows, vectors_for(panel_columns(widths_.of_keys, panel)), LeftRows{buffers_.d_scores},
          buffers_.keys + panel * kKeyBlock * kPanel,
          [&tile](int64_t r, int64_t count) { return tile.keys_of(r, count); },
          Sums{buffers_.d_queries + (panel * max_rows_ + tile.first_row) * kPanel, start()});
    }
  }

  // d_keys += d_s^T Q, d_values += dropout(p)^T d_o, from the factors by key of each row, and panels of the rows.
  void add_to_keys(const ScoreTile& tile, int64_t width, const float* factors, const float* rows, float* d_keys) {
    for (int64_t panel = 0; panel < panels_for(width); ++panel) {
      product(
          tile.keys, vectors_for(panel_columns(width, panel)), LeftColumns{factors},
          rows + (panel * max_rows_ + tile.first_row) * kPanel,
          [&tile](int64_t key, int64_t count) { return tile.rows_of(key, count); },
          Sums{d_keys + (panel * max_keys_ + tile.first_key) * kPanel, start()});
    }
  }

  void write_rows(const float* panels, int64_t panel_rows, float factor, const HeadRows<T, T>& to) const {
    unpack_rows(panels, panel_rows, to,
                [scale = hn::Set(Floats(), factor)](int64_t, Vec sum) { return hn::Mul(sum, scale); });
  }

  const AttentionBackward& call_;
  const AttentionSettings& settings_;
  const Operands<T>& operands_;
  int64_t heads_;
  HeadWidths widths_;
  int64_t max_queries_, max_rows_, max_keys_;
  Buffers buffers_;
  QueryRows& chunk_ = buffers_.chunk;
  DistanceTable<const float> by_distance_, d_mass_;
  DistanceTable<float> d_by_distance_;

  QueryRange query_range_{-1, 0, 0, 0, 0};
  bool one_tile_ = false;               // all rows fit in one group and all keys in one block: sums start at zero
  std::optional<ScoreTile> only_tile_;  // of the chunk, when there is only one
  int64_t first_head_ = 0, key_value_head_ = 0;
  int64_t key_count_ = 0, block_keys_ = 0, first_key_row_ = 0;
};

template <class T>
void backward(Context& context, const AttentionBackward& call) {
  const AttentionSettings& settings = call.settings;
  const int64_t heads = settings.heads / settings.key_value_heads;
  const int64_t width = call.queries.columns() / settings.heads;
  const Shares shares(context, settings, *call.segments, *call.memory.segments, width, 0);
  const int64_t max_queries = std::min(call.segments->max_length(), std::max<int64_t>(1, kChunkRows / heads));
  const Operands<T> operands(call);
  context.pool.run(shares.tasks(), [&](int64_t task, int worker) {
    Backward<T> work(call, operands, context.scratch(worker), max_queries);
    shares.for_each(task, [&work](const Share& share, const Surroundings&) { work.run(share); });
  });
}

}  // namespace

void attention_backward_f32(Context& context, const AttentionBackward& call) { backward<float>(context, call); }
void attention_backward_bf16(Context& context, const AttentionBackward& call) { backward<bf16>(context, call); }

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(attention_backward_f32);
HWY_EXPORT(attention_backward_bf16);

void attention_backward(Context& context, const AttentionBackward& call) {
  if (call.queries.type() == DType::bf16) {
    HWY_DYNAMIC_DISPATCH(attention_backward_bf16)(context, call);
  } else {
    HWY_DYNAMIC_DISPATCH(attention_backward_f32)(context, call);
  }
}

}  // namespace heed::cpu
#endif
