// For each row i of queries, over blocks of keys, in base 2:
//   s = log2(e) (scale q.k, capped, or with the term by distance)     m' = max(m, max s)     p = 2^(s - m')
//   l = l 2^(m - m') + sum p    o = o 2^(m - m') + dropout(p) V    mass = mass 2^(m - m') + dropout(p) by distance
// and at the end output = o / l, mass = mass / l, log_sum_exp = ln(2) m + ln(l).
#include <limits>
#include <optional>

#include "base/rounding.h"
#include "kernels/cpu/attention/attention.h"
#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/attention/attention_slices.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/attention/attention_forward.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/attention/attention_distance-inl.h"
#include "kernels/cpu/attention/attention_few-inl.h"
#include "kernels/cpu/attention/attention_forward_buffers-inl.h"
#include "kernels/cpu/attention/attention_pack-inl.h"
#include "kernels/cpu/attention/attention_prefetch-inl.h"
#include "kernels/cpu/attention/attention_rows-inl.h"
#include "kernels/cpu/attention/attention_scores-inl.h"
#include "kernels/cpu/attention/attention_share-inl.h"
#include "kernels/cpu/attention/attention_tile-inl.h"
#include "kernels/cpu/attention/attention_transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kShareRows = 512;  // enough rows to make up for packing their keys

// The order of the columns in panels: the one that suits their type, or, where operands are of several types, the
// natural one.
enum class PanelOrder : bool { of_columns, natural };

// Cached: the type of keys and values. Queries and output have a type of their own, which is asked for only where they
// are read and written.
template <class Cached>
struct Operands {
  explicit Operands(const AttentionForward& call)
      : keys(host<Cached>(call.memory.keys)), values(host<Cached>(call.memory.values)) {
    if constexpr (std::is_same_v<Cached, int8_t>) {
      key_scales = host<float>(call.memory.scales.keys);
      value_scales = host<float>(call.memory.scales.values);
    }
    if (!call.log_sum_exp.empty()) {
      log_sum_exp = host<float>(call.log_sum_exp);
    }
    if (!call.weights.empty()) {
      weights = host<float>(call.weights);
    }
  }

  HostView<const Cached> keys, values;
  HostView<float> log_sum_exp{}, weights{};
  HostView<const float> key_scales{}, value_scales{};
};

template <class Cached>
class Forward {
  static constexpr bool kScaled = std::is_same_v<Cached, int8_t>;

 public:
  Forward(const AttentionForward& call, const Operands<Cached>& operands, Scratch& scratch, int64_t max_queries)
      : call_(call),
        settings_(call.settings),
        operands_(operands),
        order_(call.queries.type() == dtype_of<Cached> ? PanelOrder::of_columns : PanelOrder::natural),
        heads_(call.settings.heads / call.settings.key_value_heads),
        widths_(call.settings, call.queries, call.output),
        value_panels_(panels_for(widths_.of_values)),
        buffers_(carve<ForwardBuffers>(scratch, max_queries, call.settings, widths_)),
        prefetch_(call, widths_, buffers_.next_key_rows),
        by_distance_(call.settings, call.settings.by_distance.table),
        mass_(call.settings, call.mass) {}

  void run(const Share& share, const Surroundings& surroundings) {
    begin_query_range(share.query_range);
    if (few_rows_) {
      attend_few_rows(share, prefetch_.begin(share, surroundings));
      return;
    }
    for (int64_t h = 0; h < share.key_value_heads; ++h) {
      take_head(share.first_key_value_head + h, buffers_.many);
      attend_many_rows();
    }
  }

 private:
  // What all heads share.
  void begin_query_range(const QueryRange& query_range) {
    query_range_ = query_range;
    rows_.list(settings_, *call_.segments, *call_.memory.segments, query_range);
    const Visibility::Range seen = rows_.seen();
    first_block_ = seen.begin / kKeyBlock;
    end_block_ = ceil_div(seen.end, kKeyBlock);
    one_block_ = seen.begin < seen.end && end_block_ == first_block_ + 1;
    few_rows_ = rows_.rows() <= kFewRows;
    first_key_ = -1;
    only_tile_.reset();
  }

  void take_head(int64_t key_value_head, const HeadState& state) {
    head_ = &state;
    key_value_head_ = key_value_head;
    first_head_ = key_value_head_ * heads_;
  }

  void attend_many_rows() {
    begin_head();
    for (int64_t block = first_block_; block < end_block_; ++block) {
      take_block(block * kKeyBlock);
      pack_block();
      for (int64_t row = 0; row < rows_.rows(); row += kRowGroup) {
        attend(row);
      }
    }
    finish_head();
  }

  void attend_few_rows(const Share& share, const Slices& slices) {
    for_each_head(share, [this] { begin_head(); });
    for (int64_t block = first_block_; block < end_block_; ++block) {
      take_block(block * kKeyBlock);
      const ScoreTile tile(rows_, 0, first_key_, block_keys_);
      if (tile.seen_by_any != 0 || one_block_) {
        attend_few_rows(share, slices, tile);
      }
    }
    for_each_head(share, [this] { finish_head(); });
  }

  // One block. All heads read a slice of it before any reads the next.
  void attend_few_rows(const Share& share, const Slices& slices, const ScoreTile& tile) {
    slices.for_each(Slice::Of::keys, first_key_, [&](const Slice& slice) {
      const Steps keys = steps_of(slice);
      prefetch_.begin_slice(slice,
                            share.key_value_heads * score_steps(tile.rows, keys.end - keys.begin, widths_.of_keys));
      for_each_head(share, [&] { score_few_rows(tile.rows, keys); });
    });
    for_each_head(share, [&] {
      list_scales();
      weigh_keys(tile);
    });
    slices.for_each(Slice::Of::values, first_key_, [&](const Slice& slice) {
      const Steps keys = steps_of(slice);
      prefetch_.begin_slice(slice,
                            share.key_value_heads * weigh_steps(tile.rows, keys.end - keys.begin, widths_.of_values));
      const Part part = slice.begin == slices.seen_of_block(first_key_).begin ? Part::first : Part::later;
      for_each_head(share, [&] { weigh_few_rows(tile, keys, part); });
    });
  }

  // Where the keys of a slice are in their block.
  Steps steps_of(const Slice& slice) const { return {slice.begin - first_key_, slice.end - first_key_}; }

  template <class Body>
  void for_each_head(const Share& share, const Body& body) {
    for (int64_t h = 0; h < share.key_value_heads; ++h) {
      take_head(share.first_key_value_head + h, buffers_.few[h]);
      body();
    }
  }

  void finish_head() {
    total();
    if (!mass_.empty()) {
      scale_own_rows(rows_, first_head_, mass_, 0, rows_.rows(), buffers_.inverses);
    }
    write_output();
    write_log_sum_exp();
    if (operands_.weights.data != nullptr) {
      write_weights();
    }
  }

  void begin_head() {
    draw_rows(settings_, rows_, first_head_, head_->random);
    const Vec scale = hn::Set(Floats(), static_cast<float>(settings_.scale) * kLog2E);
    for (int64_t h = 0; h < heads_; ++h) {
      float* const panels = head_->queries + h * rows_.queries() * kPanel;
      with_type([&]<class T>() {
        pack_rows(rows_of<T>(host<T>(call_.queries), h), head_->max_rows, panels,
                  [scale](Vec q) { return hn::Mul(q, scale); });
      });
    }
    std::fill_n(head_->maxima, round_up(rows_.rows(), kLanes), kLowest);
    if (!one_block_) {
      std::fill_n(head_->sums, round_up(rows_.rows(), kLanes) * kLanes, 0.0F);
      for (int64_t panel = 0; panel < value_panels_; ++panel) {
        std::fill_n(head_->output + panel * head_->max_rows * kPanel, rows_.rows() * kPanel, 0.0F);
      }
    }
    if (!mass_.empty()) {
      clear_own_rows(rows_, first_head_, mass_);
    }
  }

  // Calls body<T>(), T the type of queries and output.
  template <class Body>
  void with_type(const Body& body) const {
    call_.queries.type() == DType::bf16 ? body.template operator()<bf16>() : body.template operator()<float>();
  }

  // The rows of head h of its group, of the queries in this range.
  template <class T, class Element>
  HeadRows<T, Element> rows_of(const HostView<Element>& matrix, int64_t h) const {
    const int64_t width = matrix.columns / settings_.heads;
    const HeadRows<T, Element> rows(matrix, (first_head_ + h) * width, width, rows_.queries(), rows_.query_row(0),
                                    rows_.stride());
    return order_ == PanelOrder::natural ? rows.in_natural_order() : rows;
  }

  void take_block(int64_t first_key) {
    if (first_key_ != first_key) {
      first_key_ = first_key;
      block_keys_ = std::min(kKeyBlock, rows_.keys() - first_key);
      const int64_t stride = rows_.stride();
      list_rows(call_.memory, {query_range_.sequence, query_range_.residue + first_key * stride, block_keys_, stride},
                buffers_.key_rows);
    }
  }

  void pack_block() {
    list_scales();
    pack_chains(key_rows(operands_.keys), buffers_.keys);
    pack_rows(key_rows(operands_.values), kKeyBlock, buffers_.values);
  }

  void list_scales() {
    if constexpr (kScaled) {
      list_scales(operands_.key_scales, buffers_.key_scales);
      list_scales(operands_.value_scales, buffers_.value_scales);
    }
  }

  HeadRows<Cached> key_rows(const HostView<const Cached>& matrix) const {
    const int64_t width = matrix.columns / settings_.key_value_heads;
    const HeadRows<Cached> rows(matrix, key_value_head_ * width, width, block_keys_, buffers_.key_rows);
    return order_ == PanelOrder::natural ? rows.in_natural_order() : rows;
  }

  // The scales of the block's keys.
  void list_scales(const HostView<const float>& scales, float* list) const {
    std::fill_n(list, kKeyBlock, 0.0F);
    for (int64_t j = 0; j < block_keys_; ++j) {
      list[j] = scales(buffers_.key_rows[j], key_value_head_);
    }
  }

  // Multiplies the columns of a tile's rows. The scales of keys that are not seen may be anything.
  void scale_keys(const ScoreTile& tile, const float* scales) {
    for (int64_t r = 0; r < tile.rows; ++r) {
      for (int64_t v = tile.vectors[r].begin; v < tile.vectors[r].end; ++v) {
        float* const scores = panel_at(head_->scores, r, v);
        const Vec scaled = hn::Mul(load(scores), load(scales + v * kLanes));
        store(hn::IfThenElseZero(mask_of(tile.seen[r], v), scaled), scores);
      }
    }
  }

  // ---- one group of rows, one block of keys ----

  void attend(int64_t first_row) {
    if (one_block_ && rows_.rows() <= kRowGroup) {
      if (!only_tile_) {
        only_tile_.emplace(rows_, first_row, first_key_, block_keys_);
      }
      attend(*only_tile_);
    } else {
      attend(ScoreTile(rows_, first_row, first_key_, block_keys_));
    }
  }

  void attend(const ScoreTile& tile) {
    if (tile.seen_by_any == 0 && !one_block_) {
      return;
    }
    score_many_rows(tile);
    weigh_keys(tile);
    weigh_many_rows(tile);
  }

  void score_many_rows(const ScoreTile& tile) {
    score_many(tile, widths_.of_keys, head_->max_rows, head_->queries, buffers_.keys, head_->scores);
  }

  // Scores of some keys of the block, from the vector that holds the first of them.
  void score_few_rows(int64_t count, Steps keys) {
    const int64_t begin = keys.begin / kLanes * kLanes;
    with_few_rows(count, [&](auto rows) {
      score_few<rows>(head_->queries, head_->max_rows, key_rows(operands_.keys).part(begin, keys.end - begin),
                      head_->scores + begin, prefetch_);
    });
  }

  // From products to probabilities.
  void weigh_keys(const ScoreTile& tile) {
    finish_scores(tile);
    raise_maxima(tile);
    exponentiate(tile);
    if (!mass_.empty()) {
      sum_mass(tile);
    }
    if constexpr (kScaled) {
      scale_keys(tile, buffers_.value_scales);
    }
  }

  void finish_scores(const ScoreTile& tile) {
    if constexpr (kScaled) {
      scale_keys(tile, buffers_.key_scales);
    }
    if (settings_.score_cap > 0.0) {
      cap_scores(tile, settings_, head_->scores);
    }
    if (!by_distance_.empty()) {
      add_by_distance(tile, rows_, first_head_, by_distance_, static_cast<float>(settings_.by_distance.factor) * kLog2E,
                      head_->scores);
    }
  }

  // m' = max(m, max s), and the decay 2^(m - m') of what was summed before.
  void raise_maxima(const ScoreTile& tile) {
    for (int64_t r = 0; r < tile.rows; ++r) {
      const Vec largest = largest_score(panel_at(head_->scores, r, 0), tile.seen[r], tile.vectors[r]);
      store(largest, buffers_.lane_maxima + r * kLanes);
    }
    float* const maxima = head_->maxima + tile.first_row;
    for (int64_t r = 0; r < tile.rows; r += kLanes) {
      const Vec before = load(maxima + r);
      const Vec block = reduce_rows(buffers_.lane_maxima + r * kLanes, [](Vec a, Vec b) { return hn::Max(a, b); });
      const Vec after = hn::Max(before, block);
      store(exp2_of(hn::Sub(before, after)), head_->decay + r);
      store(after, maxima + r);
    }
  }

  // p = 2^(s - m'), l = l 2^(m - m') + sum p; leaves dropout(p), without its scale, in `scores`.
  void exponentiate(const ScoreTile& tile) {
    const Floats d;
    const uint32_t threshold = settings_.dropout.threshold;
    const float* const maxima = head_->maxima + tile.first_row;
    float* sums = head_->sums + tile.first_row * kLanes;
    for (int64_t r = 0; r < tile.rows; ++r, sums += kLanes) {
      float* const scores = panel_at(head_->scores, r, 0);
      const Vec maximum = hn::Set(d, maxima[r]);
      uint64_t kept = kAllKeys;
      if (threshold > 0) {
        kept = kept_bits(head_->random[tile.first_row + r], threshold, tile.first_key, tile.keys);
      }
      const Vec sum = exponentials(scores, maximum, tile.keys, tile.seen[r], tile.vectors[r], kept);
      store(one_block_ ? sum : hn::MulAdd(load(sums), hn::Set(d, head_->decay[r]), sum), sums);
    }
  }

  void sum_mass(const ScoreTile& tile) {
    if (!one_block_) {
      scale_own_rows(rows_, first_head_, mass_, tile.first_row, tile.rows, head_->decay);
    }
    add_to_table(tile, rows_, first_head_, mass_, 1.0F, head_->scores);
  }

  // o = o 2^(m - m') + dropout(p) V. The decay multiplies before the first of a block's values are added; with one
  // block of keys, there is nothing to multiply.
  enum class Part : bool { first, later };
  Sums output_of(int64_t panel, int64_t first_row, Part part) const {
    float* const output = head_->output + (panel * head_->max_rows + first_row) * kPanel;
    if (part == Part::later) {
      return {output, Sums::Start::former};
    }
    return one_block_ ? Sums{output, Sums::Start::zero} : Sums{output, Sums::Start::former, head_->decay};
  }

  void weigh_many_rows(const ScoreTile& tile) {
    for (int64_t panel = 0; panel < value_panels_; ++panel) {
      product(
          tile.rows, vectors_for(panel_columns(widths_.of_values, panel)), LeftRows{head_->scores},
          buffers_.values + panel * kKeyBlock * kPanel,
          [&tile](int64_t r, int64_t count) { return tile.keys_of(r, count); },
          output_of(panel, tile.first_row, Part::first));
    }
  }

  void weigh_few_rows(const ScoreTile& tile, Steps keys, Part part) {
    const Steps seen = tile.keys_of(0, tile.rows);
    const Steps both{std::max(seen.begin, keys.begin), std::min(seen.end, keys.end)};
    for (int64_t panel = 0; panel < value_panels_; ++panel) {
      with_few_rows(tile.rows, [&](auto rows) {
        weigh_few<rows>(head_->scores, key_rows(operands_.values), panel, both, output_of(panel, 0, part), prefetch_);
      });
    }
  }

  // ---- when all keys have been seen ----

  void total() {
    const Floats d;
    const Vec scale = hn::Set(d, settings_.dropout.active() ? settings_.dropout.scale() : 1.0F);
    for (int64_t r = 0; r < rows_.rows(); r += kLanes) {
      const Vec sum = reduce_rows(head_->sums + r * kLanes, [](Vec a, Vec b) { return hn::Add(a, b); });
      store(sum, buffers_.totals + r);
      store(hn::IfThenElseZero(hn::Gt(sum, hn::Zero(d)), hn::Div(scale, sum)), buffers_.inverses + r);
    }
  }

  // Adding zero turns -0, whose sign might depend on keys that are not seen, into 0.
  void write_output() {
    for (int64_t h = 0; h < heads_; ++h) {
      const int64_t first = h * rows_.queries();
      with_type([&]<class T>() {
        unpack_rows(head_->output + first * kPanel, head_->max_rows, rows_of<T>(host<T>(call_.output), h),
                    [inverses = buffers_.inverses + first](int64_t r, Vec sum) {
                      return hn::MulAdd(sum, hn::Set(Floats(), inverses[r]), hn::Zero(Floats()));
                    });
      });
    }
  }

  void write_log_sum_exp() {
    if (operands_.log_sum_exp.data == nullptr) {
      return;
    }
    const Floats d;
    for (int64_t r = 0; r < rows_.rows(); r += kLanes) {
      const Vec sum = load(buffers_.totals + r);
      const Vec lse = hn::MulAdd(load(head_->maxima + r), hn::Set(d, kLn2), hn::Log(d, sum));
      const Vec nothing = hn::Set(d, -std::numeric_limits<float>::infinity());
      store(hn::IfThenElse(hn::Gt(sum, hn::Zero(d)), lse, nothing), buffers_.totals + r);
    }
    const float* lse = buffers_.totals;
    for (int64_t h = 0; h < heads_; ++h) {
      for (int64_t i = 0; i < rows_.queries(); ++i) {
        operands_.log_sum_exp(rows_.query_row(i), first_head_ + h) = *lse++;
      }
    }
  }

  // P = 2^(s - m) / l, once m and l are known; zeros for the keys of other classes.
  void write_weights() {
    const float scale = settings_.dropout.active() ? settings_.dropout.scale() : 1.0F;
    if (rows_.stride() > 1) {
      for (int64_t r = 0; r < rows_.rows(); ++r) {
        std::fill_n(weights_of(r), call_.memory.segments->length(query_range_.sequence), 0.0F);
      }
    }
    for (int64_t first_key = 0; first_key < rows_.keys(); first_key += kKeyBlock) {
      take_block(first_key);
      few_rows_ ? list_scales() : pack_block();
      for (int64_t first = 0; first < rows_.rows(); first += kRowGroup) {
        const ScoreTile tile(rows_, first, first_key, block_keys_);
        few_rows_ ? score_few_rows(tile.rows, {0, block_keys_}) : score_many_rows(tile);
        finish_scores(tile);
        for (int64_t r = first; r < first + tile.rows; ++r) {
          write_weights_of_row(tile, r - first, 1.0F / scale * buffers_.inverses[r],
                               weights_of(r) + query_range_.residue + first_key * rows_.stride());
        }
      }
    }
  }

  // The weights of a row, for all keys of the sequence.
  float* weights_of(int64_t r) const {
    const ResidueClass tokens =
        class_of(settings_, *call_.segments, *call_.memory.segments, query_range_.sequence, query_range_.residue);
    const int64_t head = first_head_ + r / rows_.queries();
    const int64_t query = tokens.first_query + (query_range_.first_query + r % rows_.queries()) * tokens.stride;
    return operands_.weights.data + query_range_.first_weight +
           (head * call_.segments->length(query_range_.sequence) + query) *
               call_.memory.segments->length(query_range_.sequence);
  }

  void write_weights_of_row(const ScoreTile& tile, int64_t r, float inverse, float* to) const {
    const Floats d;
    const Span vectors = tile.vectors[r];
    const Vec maximum = hn::Set(d, head_->maxima[tile.first_row + r]);
    alignas(64) float lanes[kLanes];
    for (int64_t j = 0; j < tile.keys; j += kLanes) {
      const int64_t v = j / kLanes;
      Vec p = hn::Zero(d);
      if (v >= vectors.begin && v < vectors.end) {
        p = hn::Mul(exp2_of(hn::Sub(load(panel_at(head_->scores, r, v)), maximum)), hn::Set(d, inverse));
        p = hn::IfThenElseZero(mask_of(tile.seen[r], v), p);
      }
      hn::Store(p, d, lanes);
      for (int64_t i = 0; i < std::min(kLanes, tile.keys - j); ++i) {
        to[(j + i) * rows_.stride()] = lanes[i];
      }
    }
  }

  const AttentionForward& call_;
  const AttentionSettings& settings_;
  const Operands<Cached>& operands_;
  PanelOrder order_;
  int64_t heads_;
  HeadWidths widths_;
  int64_t value_panels_;
  ForwardBuffers buffers_;
  const HeadState* head_ = nullptr;  // the one whose rows are attended to
  RowPrefetch<Cached> prefetch_;
  QueryRows& rows_ = buffers_.query_range;
  DistanceTable<const float> by_distance_;
  DistanceTable<float> mass_;

  QueryRange query_range_{-1, 0, 0, 0, 0};
  int64_t first_block_ = 0, end_block_ = 0;  // of the keys that its rows see
  bool one_block_ = false, few_rows_ = false;
  std::optional<ScoreTile> only_tile_;  // of a range of queries small enough to have only one
  int64_t first_head_ = 0, key_value_head_ = 0;
  int64_t first_key_ = -1, block_keys_ = 0;  // of the block
};

template <class Cached>
void forward(Context& context, const AttentionForward& call) {
  const AttentionSettings& settings = call.settings;
  const int64_t heads = settings.heads / settings.key_value_heads;
  const int64_t max_queries = std::min(call.segments->max_length(), std::max<int64_t>(1, kShareRows / heads));
  const Shares shares(context, settings, *call.segments, *call.memory.segments, call.queries.columns() / settings.heads,
                      max_queries);
  const Operands<Cached> operands(call);
  context.pool.run(shares.tasks(), [&](int64_t task, int worker) {
    Forward<Cached> work(call, operands, context.scratch(worker), max_queries);
    shares.for_each(task,
                    [&work](const Share& share, const Surroundings& surroundings) { work.run(share, surroundings); });
  });
}

}  // namespace

void attention_over_f32(Context& context, const AttentionForward& call) { forward<float>(context, call); }
void attention_over_bf16(Context& context, const AttentionForward& call) { forward<bf16>(context, call); }
void attention_over_int8(Context& context, const AttentionForward& call) { forward<int8_t>(context, call); }

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(attention_over_f32);
HWY_EXPORT(attention_over_bf16);
HWY_EXPORT(attention_over_int8);

void attention(Context& context, const AttentionForward& call) {
  if (call.queries.rows() == 0) {
    return;
  }
  switch (call.memory.keys.type()) {
    case DType::i8:
      return HWY_DYNAMIC_DISPATCH(attention_over_int8)(context, call);
    case DType::bf16:
      return HWY_DYNAMIC_DISPATCH(attention_over_bf16)(context, call);
    default:
      return HWY_DYNAMIC_DISPATCH(attention_over_f32)(context, call);
  }
}

}  // namespace heed::cpu
#endif
