// With p = 2^(s - log2(e) log_sum_exp), s = scale log2(e) q.k, and D = rowsum(d_output * output), block by block:
//   d_v += dropout(p)^T d_o    d_p = dropout(d_o V^T)    d_s = p (d_p - D)
//   d_q += scale d_s K         d_k += scale d_s^T Q
// One share owns a key-value head of a sequence: it adds up the heads of queries that read it, in order.
#include "kernels/cpu/attention.h"
#include "kernels/cpu/attention_plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_backward.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/attention_pack-inl.h"
#include "kernels/cpu/attention_rows-inl.h"
#include "kernels/cpu/attention_share-inl.h"
#include "kernels/cpu/attention_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

// A worker's memory for one share.
template <class T>
struct Buffers {
  Buffers(Carver& from, int64_t most_rows, int64_t most_keys, int64_t panels)
      : rows(from, most_rows) {
    const int64_t padded = (most_rows + kLanes - 1) / kLanes * kLanes;
    sources = from.take<const T*>(most_rows);
    random = from.take<RowRandom>(most_rows);
    queries = from.take<float>(panels * most_rows * kPanel);
    d_output = from.take<float>(panels * most_rows * kPanel);
    d_queries = from.take<float>(panels * most_rows * kPanel);
    exponents = from.take<float>(padded);
    row_sums = from.take<float>(padded);
    lane_sums = from.take<float>(padded * kLanes);
    key_columns = from.take<float>(panels * kPanel * kKeyBlock);
    value_columns = from.take<float>(panels * kPanel * kKeyBlock);
    keys = from.take<float>(panels * kKeyBlock * kPanel);
    scores = from.take<float>(kRowGroup * kKeyBlock);
    d_scores = from.take<float>(kRowGroup * kKeyBlock);
    d_keys = from.take<float>(panels * most_keys * kPanel);
    d_values = from.take<float>(panels * most_keys * kPanel);
  }

  ShareRows rows;
  const T** sources;
  RowRandom* random;
  float *queries, *d_output, *d_queries;  // panels of a chunk's rows
  float* exponents;                       // log2(e) log_sum_exp of each row
  float *row_sums, *lane_sums;            // D of each row, and lane by lane
  float *key_columns, *value_columns;     // of one block, transposed
  float* keys;                            // the same keys as rows
  float *scores, *d_scores;               // of one group of rows and one block: s, then dropout(p); d_p, then d_s
  float *d_keys, *d_values;               // panels of all keys of the sequence
};

template <class T>
class Backward {
 public:
  Backward(const AttentionBackward& call, Scratch& scratch, int64_t most_rows)
      : call_(call),
        settings_(call.settings),
        queries_(host<T>(call.queries)),
        keys_(host<T>(call.memory.keys)),
        values_(host<T>(call.memory.values)),
        output_(host<T>(call.output)),
        d_output_(host<T>(call.d_output)),
        d_queries_(host<T>(call.d_queries)),
        d_keys_(host<T>(call.d_keys)),
        d_values_(host<T>(call.d_values)),
        log_sum_exp_(host<float>(call.log_sum_exp)),
        width_(call.queries.columns() / call.settings.heads),
        panels_(panels_for(width_)),
        most_rows_(most_rows),
        most_keys_(call.memory.segments->longest()),
        buffers_(carve<Buffers<T>>(scratch, most_rows, most_keys_, panels_)) {}

  // Asks for a short share's operands while the one before it is worked on.
  void fetch(const Share& share) const {
    const int64_t s = share.piece.sequence, keys = call_.memory.segments->length(s), queries = share.piece.queries;
    if (queries > kRowGroup || keys > kKeyBlock) {
      return;
    }
    const int64_t columns = settings_.heads / settings_.key_value_heads * width_;
    for (const HostView<T>* matrix : {&queries_, &output_, &d_output_, &d_queries_}) {
      fetch_rows(*matrix, call_.segments->begin(s), queries, share.key_value_head * columns, columns);
    }
    for (const HostView<T>* matrix : {&keys_, &values_, &d_keys_, &d_values_}) {
      fetch_rows(*matrix, call_.memory.segments->begin(s), keys, share.key_value_head * width_, width_);
    }
  }

  void run(const Share& share) {
    key_count_ = call_.memory.segments->length(share.piece.sequence);
    first_key_row_ = call_.memory.segments->begin(share.piece.sequence);
    key_column_ = share.key_value_head * width_;
    const int64_t queries = share.piece.queries, heads = settings_.heads / settings_.key_value_heads;
    one_meeting_ = queries > 0 && queries * heads <= kRowGroup && key_count_ > 0 && key_count_ <= kKeyBlock;
    if (!one_meeting_) {
      clear(buffers_.d_keys, most_keys_, key_count_);
      clear(buffers_.d_values, most_keys_, key_count_);
    }
    const int64_t chunk = most_rows_ / heads;
    for (int64_t first = 0; first < queries; first += chunk) {
      run_chunk({{share.piece.sequence, first, std::min(chunk, queries - first), 0}, share.key_value_head});
    }
    const float dropout_scale = settings_.dropout.active() ? settings_.dropout.scale() : 1.0F;
    write_keys(buffers_.d_keys, kLn2, d_keys_);  // the panels of queries hold scale log2(e) q
    write_keys(buffers_.d_values, dropout_scale, d_values_);
  }

 private:
  void clear(float* panels, int64_t panel_rows, int64_t rows) const {
    for (int64_t panel = 0; panel < panels_; ++panel) {
      std::fill_n(panels + panel * panel_rows * kPanel, rows * kPanel, 0.0F);
    }
  }

  void run_chunk(const Share& chunk) {
    buffers_.rows.list(settings_, *call_.segments, *call_.memory.segments, chunk);
    rows_ = buffers_.rows.count();
    draw_rows(settings_, buffers_.rows, buffers_.random);
    bring_rows();
    sum_rows();
    const Visibility::Range seen = one_meeting_ ? Visibility::Range{0, 1} : buffers_.rows.seen();
    if (!one_meeting_) {
      clear(buffers_.d_queries, most_rows_, rows_);
    }
    for (int64_t key = seen.begin / kKeyBlock * kKeyBlock; key < seen.end; key += kKeyBlock) {
      bring_keys(key);
      for (int64_t first = 0; first < rows_; first += kRowGroup) {
        meet(Meeting(buffers_.rows, first, key, block_keys_));
      }
    }
    write_queries();
  }

  void bring_rows() {
    point_at(queries_);
    const HeadRows<T> rows{buffers_.sources, rows_, width_};
    const Vec scale = hn::Set(Floats(), static_cast<float>(settings_.scale) * kLog2E);
    pack_rows(rows, most_rows_, buffers_.queries, [scale](Vec q) { return hn::Mul(q, scale); });
    point_at(d_output_);
    pack_rows(rows, most_rows_, buffers_.d_output, [](Vec d_o) { return d_o; });
    for (int64_t r = 0; r < rows_; ++r) {
      buffers_.exponents[r] = log_sum_exp_(buffers_.rows[r].query_row, buffers_.rows[r].head) * kLog2E;
    }
  }

  void point_at(const HostView<T>& from) {
    for (int64_t r = 0; r < rows_; ++r) {
      buffers_.sources[r] = from.row(buffers_.rows[r].query_row) + buffers_.rows[r].head * width_;
    }
  }

  // D = rowsum(d_output * output)
  void sum_rows() {
    point_at(output_);
    for (int64_t r = 0; r < rows_; ++r) {
      const T* const output = buffers_.sources[r];
      Vec sum = hn::Zero(Floats());
      read_row(output, width_, parted<T>(width_),
               [&](int64_t c, Vec o) { sum = hn::MulAdd(o, load(d_output_at(r, c)), sum); });
      store(sum, buffers_.lane_sums + r * kLanes);
    }
    for (int64_t r = 0; r < rows_; r += kLanes) {
      const float* const lanes_of_rows = buffers_.lane_sums + r * kLanes;
      store(reduce_rows(lanes_of_rows, [](Vec a, Vec b) { return hn::Add(a, b); }), buffers_.row_sums + r);
    }
  }

  const float* d_output_at(int64_t row, int64_t column) const {
    return buffers_.d_output + (column / kPanel * most_rows_ + row) * kPanel + column % kPanel;
  }

  void bring_keys(int64_t first_key) {
    block_keys_ = std::min(kKeyBlock, key_count_ - first_key);
    const T *key_rows[kKeyBlock], *value_rows[kKeyBlock];
    for (int64_t j = 0; j < block_keys_; ++j) {
      key_rows[j] = keys_.row(first_key_row_ + first_key + j) + key_column_;
      value_rows[j] = values_.row(first_key_row_ + first_key + j) + key_column_;
    }
    pack_transposed(HeadRows<T>{key_rows, block_keys_, width_}, buffers_.key_columns);
    pack_transposed(HeadRows<T>{value_rows, block_keys_, width_}, buffers_.value_columns);
    pack_rows(HeadRows<T>{key_rows, block_keys_, width_}, kKeyBlock, buffers_.keys, [](Vec k) { return k; });
  }

  // ---- one group of rows, one block of keys ----

  void meet(const Meeting& meeting) {
    if (meeting.seen_by_any == 0 && !one_meeting_) {
      return;
    }
    multiply_meeting(meeting, width_, most_rows_, buffers_.queries, buffers_.key_columns, buffers_.scores);
    multiply_meeting(meeting, width_, most_rows_, buffers_.d_output, buffers_.value_columns, buffers_.d_scores);
    differentiate(meeting);
    add_to_queries(meeting);
    add_to_keys(meeting, buffers_.scores, buffers_.d_output, buffers_.d_values);
    add_to_keys(meeting, buffers_.d_scores, buffers_.queries, buffers_.d_keys);
  }

  // s and d_p become dropout(p), but for its scale, and d_s; zeros where nothing is seen.
  void differentiate(const Meeting& meeting) {
    const Floats d;
    const uint32_t threshold = settings_.dropout.threshold;
    const Vec scale = hn::Set(d, threshold == 0 ? 1.0F : settings_.dropout.scale());
    for (int64_t r = 0; r < meeting.rows; ++r) {
      const int64_t row = meeting.first_row + r;
      const uint64_t seen = meeting.seen[r];
      const uint64_t kept =
          threshold == 0 ? ~uint64_t{0} : kept_bits(buffers_.random[row], threshold, meeting.first_key, meeting.keys);
      const Vec exponent = hn::Set(d, buffers_.exponents[row]);
      const Vec row_sum = hn::Set(d, buffers_.row_sums[row]);
      for (int64_t v = 0; v < vectors_for(meeting.keys); ++v) {
        float* const score = panel_at(buffers_.scores, r, v);
        float* const d_score = panel_at(buffers_.d_scores, r, v);
        const auto seen_lanes = mask_of(seen, v);
        const auto kept_lanes = mask_of(kept, v);
        const Vec p = hn::IfThenElseZero(seen_lanes, exp2_of(hn::Sub(load(score), exponent)));
        const Vec d_p = hn::IfThenElseZero(kept_lanes, hn::Mul(load(d_score), scale));
        store(hn::IfThenElseZero(kept_lanes, p), score);
        store(hn::IfThenElseZero(seen_lanes, hn::Mul(p, hn::Sub(d_p, row_sum))), d_score);
      }
    }
  }

  // d_q += d_s K
  void add_to_queries(const Meeting& meeting) {
    for (int64_t panel = 0; panel < panels_; ++panel) {
      float* const sums = buffers_.d_queries + (panel * most_rows_ + meeting.first_row) * kPanel;
      product(
          meeting.rows, 0, vectors_for(panel_columns(width_, panel)), LeftRows{buffers_.d_scores},
          buffers_.keys + panel * kKeyBlock * kPanel,
          [&meeting](int64_t r, int64_t count) { return meeting.keys_of(r, count); },
          [sums, fresh = one_meeting_](int64_t r, int64_t v) {
            return fresh ? hn::Zero(Floats()) : load(panel_at(sums, r, v));
          },
          [sums](int64_t r, int64_t v, Vec sum) { store(sum, panel_at(sums, r, v)); });
    }
  }

  // d_keys += d_s^T Q, d_values += dropout(p)^T d_o: the factors of each row by key, and panels of the rows.
  void add_to_keys(const Meeting& meeting, const float* factors, const float* rows, float* d_keys) {
    for (int64_t panel = 0; panel < panels_; ++panel) {
      float* const sums = d_keys + (panel * most_keys_ + meeting.first_key) * kPanel;
      product(
          meeting.keys, 0, vectors_for(panel_columns(width_, panel)), LeftColumns{factors},
          rows + (panel * most_rows_ + meeting.first_row) * kPanel,
          [&meeting](int64_t key, int64_t count) { return meeting.rows_of(key, count); },
          [sums, fresh = one_meeting_](int64_t r, int64_t v) {
            return fresh ? hn::Zero(Floats()) : load(panel_at(sums, r, v));
          },
          [sums](int64_t r, int64_t v, Vec sum) { store(sum, panel_at(sums, r, v)); });
    }
  }

  // ---- results ----

  void write_queries() {
    for (int64_t r = 0; r < rows_; ++r) {
      const Row& row = buffers_.rows[r];
      write_panel_row(buffers_.d_queries, most_rows_, r, static_cast<float>(settings_.scale),
                d_queries_.row(row.query_row) + row.head * width_);
    }
  }

  void write_keys(const float* panels, float factor, const HostView<T>& to) {
    for (int64_t j = 0; j < key_count_; ++j) {
      write_panel_row(panels, most_keys_, j, factor, to.row(first_key_row_ + j) + key_column_);
    }
  }

  void write_panel_row(const float* panels, int64_t panel_rows, int64_t row, float factor, T* to) const {
    const Vec scale = hn::Set(Floats(), factor);
    write_row(to, width_, parted<T>(width_), [&](int64_t c) {
      return hn::Mul(load(panels + (c / kPanel * panel_rows + row) * kPanel + c % kPanel), scale);
    });
  }

  const AttentionBackward& call_;
  const AttentionSettings& settings_;
  HostView<T> queries_, keys_, values_, output_, d_output_, d_queries_, d_keys_, d_values_;
  HostView<float> log_sum_exp_;
  int64_t width_, panels_, most_rows_, most_keys_;
  Buffers<T> buffers_;
  int64_t rows_ = 0, key_count_ = 0, block_keys_ = 0, first_key_row_ = 0, key_column_ = 0;
  bool one_meeting_ = false;  // all rows fit in one group and all keys in one block: sums begin at zero
};

template <class T>
void backward(Context& context, const AttentionBackward& call) {
  const AttentionSettings& settings = call.settings;
  const int64_t group = settings.heads / settings.key_value_heads;
  const Shares shares(context, settings, *call.segments, *call.memory.segments, call.queries.columns() / settings.heads,
                      0);
  const int64_t most_rows = group * std::min(call.segments->longest(), std::max<int64_t>(1, kChunkRows / group));
  context.pool.run(shares.tasks(), [&](int64_t task, int worker) {
    Backward<T> work(call, context.scratch(worker), std::max<int64_t>(group, most_rows));
    shares.for_each(task, [&work](const Share& share, const std::optional<Share>& next) {
      if (next) {
        work.fetch(*next);
      }
      work.run(share);
    });
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
