// For each row i of queries, over blocks of keys, in base 2:
//   s = scale log2(e) q.k       m' = max(m, max s)     p = 2^(s - m')
//   l = l 2^(m - m') + sum p    o = o 2^(m - m') + dropout(p) V
// and at the end output = o / l, log_sum_exp = ln(2) m + ln(l).
#include <limits>

#include "kernels/cpu/attention.h"
#include "kernels/cpu/attention_plan.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention_forward.cpp"
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
  Buffers(Carver& from, int64_t most_rows, int64_t panels) : rows(from, most_rows) {
    const int64_t padded = (most_rows + kLanes - 1) / kLanes * kLanes + kRowGroup;
    query_rows = from.take<const T*>(most_rows);
    output_rows = from.take<T*>(most_rows);
    random = from.take<RowRandom>(most_rows);
    queries = from.take<float>(panels * most_rows * kPanel);
    output = from.take<float>(panels * most_rows * kPanel);
    keys = from.take<float>(panels * kPanel * kKeyBlock);
    values = from.take<float>(panels * kKeyBlock * kPanel);
    scores = from.take<float>(kRowGroup * kKeyBlock);
    maxima = from.take<float>(padded);
    decay = from.take<float>(kRowGroup + kLanes);
    sums = from.take<float>(padded * kLanes);
    totals = from.take<float>(padded);
    inverses = from.take<float>(padded);
    lane_maxima = from.take<float>((kRowGroup + kLanes) * kLanes);
  }

  ShareRows rows;
  const T** query_rows;
  T** output_rows;
  RowRandom* random;
  float *queries, *output;  // panels of a share's rows
  float *keys, *values;     // of one block: keys as columns, values as rows
  float* scores;            // of one group of rows and one block; then probabilities
  float *maxima, *decay;    // m of each row; 2^(m - m') of a group's
  float *sums, *totals;     // l of each row, lane by lane, and reduced
  float* inverses;          // 1 / l; 0 where nothing is seen
  float* lane_maxima;
};

template <class T>
class Forward {
 public:
  Forward(const AttentionForward& call, Scratch& scratch, int64_t most_rows)
      : call_(call),
        settings_(call.settings),
        queries_(host<T>(call.queries)),
        keys_(host<T>(call.memory.keys)),
        values_(host<T>(call.memory.values)),
        output_(host<T>(call.output)),
        log_sum_exp_(call.log_sum_exp.empty() ? HostView<float>{} : host<float>(call.log_sum_exp)),
        width_(call.queries.columns() / call.settings.heads),
        panels_(panels_for(width_)),
        most_rows_(most_rows),
        buffers_(carve<Buffers<T>>(scratch, most_rows, panels_)) {}

  // Asks for a short share's operands while the one before it is worked on; they lie too scattered for the processor to
  // foresee.
  void fetch(const Share& share) const {
    const int64_t s = share.piece.sequence, keys = call_.memory.segments->length(s);
    if (share.piece.queries > kRowGroup || keys > kKeyBlock || call_.memory.pages != nullptr) {
      return;
    }
    const int64_t heads = settings_.heads / settings_.key_value_heads;
    const int64_t first_row = call_.segments->begin(s) + share.piece.first_query;
    const int64_t first_column = share.key_value_head * heads * width_;
    fetch_rows(queries_, first_row, share.piece.queries, first_column, heads * width_);
    fetch_rows(output_, first_row, share.piece.queries, first_column, heads * width_);
    fetch_rows(keys_, call_.memory.segments->begin(s), keys, share.key_value_head * width_, width_);
    fetch_rows(values_, call_.memory.segments->begin(s), keys, share.key_value_head * width_, width_);
  }

  void run(const Share& share) {
    begin(share);
    const int64_t first_block = buffers_.rows.seen().begin / kKeyBlock;
    const int64_t end_block = (buffers_.rows.seen().end + kKeyBlock - 1) / kKeyBlock;
    one_block_ = end_block == first_block + 1;
    if (!one_block_) {
      for (int64_t panel = 0; panel < panels_; ++panel) {
        std::fill_n(buffers_.output + panel * most_rows_ * kPanel, rows_ * kPanel, 0.0F);
      }
    }
    for (int64_t block = first_block; block < end_block; ++block) {
      bring_keys(share, block * kKeyBlock);
      for (int64_t first = 0; first < rows_; first += kRowGroup) {
        attend(first, block * kKeyBlock);
      }
    }
    total();
    write_output();
    write_log_sum_exp();
    if (!call_.weights.empty()) {
      write_weights(share);
    }
  }

 private:
  void begin(const Share& share) {
    ShareRows& rows = buffers_.rows;
    rows.list(settings_, *call_.segments, *call_.memory.segments, share);
    rows_ = rows.count();
    key_count_ = call_.memory.segments->length(share.piece.sequence);
    for (int64_t r = 0; r < rows_; ++r) {
      buffers_.query_rows[r] = queries_.row(rows[r].query_row) + rows[r].head * width_;
      buffers_.output_rows[r] = output_.row(rows[r].query_row) + rows[r].head * width_;
    }
    draw_rows(settings_, rows, buffers_.random);
    pack_rows(HeadRows<T>{buffers_.query_rows, rows_, width_}, most_rows_, buffers_.queries,
              [scale = hn::Set(Floats(), static_cast<float>(settings_.scale) * kLog2E)](Vec q) { return hn::Mul(q, scale); });
    const int64_t padded = (rows_ + kLanes - 1) / kLanes * kLanes;
    std::fill_n(buffers_.maxima, padded, kLowest);
    std::fill_n(buffers_.sums, padded * kLanes, 0.0F);
  }

  void bring_keys(const Share& share, int64_t first_key) {
    block_keys_ = std::min(kKeyBlock, key_count_ - first_key);
    const T *key_rows[kKeyBlock], *value_rows[kKeyBlock];
    for (int64_t j = 0; j < block_keys_; ++j) {
      const int64_t row = call_.memory.row(share.piece.sequence, first_key + j);
      key_rows[j] = keys_.row(row) + share.key_value_head * width_;
      value_rows[j] = values_.row(row) + share.key_value_head * width_;
    }
    pack_transposed(HeadRows<T>{key_rows, block_keys_, width_}, buffers_.keys);
    pack_rows(HeadRows<T>{value_rows, block_keys_, width_}, kKeyBlock, buffers_.values, [](Vec v) { return v; });
  }

  // ---- one group of rows, one block of keys ----

  void attend(int64_t first_row, int64_t first_key) {
    const Meeting meeting(buffers_.rows, first_row, first_key, block_keys_);
    if (meeting.seen_by_any == 0 && !one_block_) {
      return;
    }
    score(meeting);
    raise_maxima(meeting);
    exponentiate(meeting);
    weigh(meeting);
  }

  void score(const Meeting& meeting) {
    multiply_meeting(meeting, width_, most_rows_, buffers_.queries, buffers_.keys, buffers_.scores);
  }

  // m' = max(m, max s), and the decay 2^(m - m') of what was summed before.
  void raise_maxima(const Meeting& meeting) {
    for (int64_t r = 0; r < meeting.rows; ++r) {
      const Vec largest = largest_score(panel_at(buffers_.scores, r, 0), meeting.seen[r], meeting.vectors[r]);
      store(largest, buffers_.lane_maxima + r * kLanes);
    }
    float* const maxima = buffers_.maxima + meeting.first_row;
    for (int64_t r = 0; r < meeting.rows; r += kLanes) {
      const Vec before = load(maxima + r);
      const Vec block = reduce_rows(buffers_.lane_maxima + r * kLanes, [](Vec a, Vec b) { return hn::Max(a, b); });
      const Vec after = hn::Max(before, block);
      store(exp2_of(hn::Sub(before, after)), buffers_.decay + r);
      store_part(after, maxima + r, std::min(kLanes, meeting.rows - r));
    }
  }

  // p = 2^(s - m'), l = l 2^(m - m') + sum p; what stays in `scores` is dropout(p) but for its scale.
  void exponentiate(const Meeting& meeting) {
    const Floats d;
    const uint32_t threshold = settings_.dropout.threshold;
    const float* const maxima = buffers_.maxima + meeting.first_row;
    float* sums = buffers_.sums + meeting.first_row * kLanes;
    for (int64_t r = 0; r < meeting.rows; ++r, sums += kLanes) {
      float* const scores = panel_at(buffers_.scores, r, 0);
      const Vec maximum = hn::Set(d, maxima[r]);
      uint64_t kept = kAllKeys;
      if (threshold > 0) {
        kept = kept_bits(buffers_.random[meeting.first_row + r], threshold, meeting.first_key, meeting.keys);
      }
      const Vec sum = exponentials(scores, maximum, meeting.keys, meeting.seen[r], meeting.vectors[r], kept);
      store(hn::MulAdd(load(sums), hn::Set(d, buffers_.decay[r]), sum), sums);
    }
  }

  // o = o 2^(m - m') + dropout(p) V. With one block of keys, what would be multiplied by the decay is zero.
  void weigh(const Meeting& meeting) {
    for (int64_t panel = 0; panel < panels_; ++panel) {
      float* const output = buffers_.output + (panel * most_rows_ + meeting.first_row) * kPanel;
      product(
          meeting.rows, 0, vectors_for(panel_columns(width_, panel)), LeftRows{buffers_.scores},
          buffers_.values + panel * kKeyBlock * kPanel,
          [&meeting](int64_t r, int64_t count) { return meeting.keys_of(r, count); },
          [output, decay = buffers_.decay, fresh = one_block_](int64_t r, int64_t v) {
            return fresh ? hn::Zero(Floats()) : hn::Mul(load(panel_at(output, r, v)), hn::Set(Floats(), decay[r]));
          },
          [output](int64_t r, int64_t v, Vec sum) { store(sum, panel_at(output, r, v)); });
    }
  }

  // ---- when all keys have been seen ----

  void total() {
    const Floats d;
    const Vec scale = hn::Set(d, settings_.dropout.active() ? settings_.dropout.scale() : 1.0F);
    for (int64_t r = 0; r < rows_; r += kLanes) {
      const Vec sum = reduce_rows(buffers_.sums + r * kLanes, [](Vec a, Vec b) { return hn::Add(a, b); });
      store(sum, buffers_.totals + r);
      store(hn::IfThenElseZero(hn::Gt(sum, hn::Zero(d)), hn::Div(scale, sum)), buffers_.inverses + r);
    }
  }

  // Adding zero makes -0, which might depend on keys that are not seen, 0.
  void write_output() {
    const Vec zero = hn::Zero(Floats());
    for (int64_t panel = 0; panel < panels_; ++panel) {
      for (int64_t r = 0; r < rows_; ++r) {
        const float* const sums = buffers_.output + (panel * most_rows_ + r) * kPanel;
        const Vec inverse = hn::Set(Floats(), buffers_.inverses[r]);
        write_row(buffers_.output_rows[r] + panel * kPanel, panel_columns(width_, panel), parted<T>(width_),
                  [&](int64_t c) { return hn::MulAdd(load(sums + c), inverse, zero); });
      }
    }
  }

  void write_log_sum_exp() {
    if (log_sum_exp_.data == nullptr) {
      return;
    }
    const Floats d;
    alignas(64) float part[kLanes];
    for (int64_t first = 0; first < rows_; first += kLanes) {
      const Vec sum = load(buffers_.totals + first);
      const Vec lse = hn::MulAdd(load(buffers_.maxima + first), hn::Set(d, kLn2), hn::Log(d, sum));
      const Vec nothing = hn::Set(d, -std::numeric_limits<float>::infinity());
      hn::Store(hn::IfThenElse(hn::Gt(sum, hn::Zero(d)), lse, nothing), d, part);
      for (int64_t r = first; r < std::min(rows_, first + kLanes); ++r) {
        log_sum_exp_(buffers_.rows[r].query_row, buffers_.rows[r].head) = part[r - first];
      }
    }
  }

  // P = 2^(s - m) / l, once m and l are known.
  void write_weights(const Share& share) {
    const float scale = settings_.dropout.active() ? settings_.dropout.scale() : 1.0F;
    const int64_t query_count = call_.segments->length(share.piece.sequence);
    const int64_t first_query = call_.segments->begin(share.piece.sequence);
    float* const weights = host<float>(call_.weights).data + share.piece.first_weight;
    for (int64_t first_key = 0; first_key < key_count_; first_key += kKeyBlock) {
      bring_keys(share, first_key);
      for (int64_t first = 0; first < rows_; first += kRowGroup) {
        const Meeting meeting(buffers_.rows, first, first_key, block_keys_);
        score(meeting);
        for (int64_t r = 0; r < meeting.rows; ++r) {
          const Row& row = buffers_.rows[first + r];
          float* const to = weights + (row.head * query_count + row.query_row - first_query) * key_count_ + first_key;
          write_weights_of_row(meeting, r, 1.0F / scale * buffers_.inverses[first + r], to);
        }
      }
    }
  }

  void write_weights_of_row(const Meeting& meeting, int64_t r, float inverse, float* to) const {
    const Floats d;
    const Steps vectors = meeting.vectors[r];
    const Vec maximum = hn::Set(d, buffers_.maxima[meeting.first_row + r]);
    for (int64_t j = 0; j < meeting.keys; j += kLanes) {
      const int64_t v = j / kLanes;
      Vec p = hn::Zero(d);
      if (v >= vectors.begin && v < vectors.end) {
        p = hn::Mul(exp2_of(hn::Sub(load(panel_at(buffers_.scores, r, v)), maximum)), hn::Set(d, inverse));
        p = hn::IfThenElseZero(mask_of(meeting.seen[r], v), p);
      }
      store_part(p, to + j, std::min(kLanes, meeting.keys - j));
    }
  }

  const AttentionForward& call_;
  const AttentionSettings& settings_;
  HostView<T> queries_, keys_, values_, output_;
  HostView<float> log_sum_exp_;
  int64_t width_, panels_, most_rows_;
  Buffers<T> buffers_;
  int64_t rows_ = 0, key_count_ = 0, block_keys_ = 0;
  bool one_block_ = false;
};

template <class T>
void forward(Context& context, const AttentionForward& call) {
  const AttentionSettings& settings = call.settings;
  const int64_t group = settings.heads / settings.key_value_heads;
  const Shares shares(context, settings, *call.segments, *call.memory.segments, call.queries.columns() / settings.heads,
                      std::max<int64_t>(1, kChunkRows / group));
  context.pool.run(shares.tasks(), [&](int64_t task, int worker) {
    Forward<T> work(call, context.scratch(worker), shares.most_rows());
    shares.for_each(task, [&work](const Share& share, const std::optional<Share>& next) {
      if (next) {
        work.fetch(*next);
      }
      work.run(share);
    });
  });
}

}  // namespace

void attention_f32(Context& context, const AttentionForward& call) { forward<float>(context, call); }
void attention_bf16(Context& context, const AttentionForward& call) { forward<bf16>(context, call); }

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(attention_f32);
HWY_EXPORT(attention_bf16);

void attention(Context& context, const AttentionForward& call) {
  if (call.queries.type() == DType::bf16) {
    HWY_DYNAMIC_DISPATCH(attention_bf16)(context, call);
  } else {
    HWY_DYNAMIC_DISPATCH(attention_f32)(context, call);
  }
}

}  // namespace heed::cpu
#endif
