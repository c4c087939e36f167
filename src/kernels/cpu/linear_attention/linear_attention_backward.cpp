// With G = [g | h] of linear_attention's gradients, row by row, and chunk by chunk, forward for the queries and
// backward for the keys:
//   d_phi(Q) = tril(G [V | 1]^T) phi(K) + G T        T = sums of [v | 1] phi(k)^T over the chunks before
//   d_phi(K) = tril(G [V | 1]^T)^T phi(Q) + [V | 1] U    U = sums of [g | h] phi(q)^T over the chunks after
//   d_V = tril(phi(Q) phi(K)^T)^T G + phi(K) U^T
// Where all see all, T and U are sums over all chunks, and there are no triangles.
#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/linear_attention/linear_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/linear_attention/linear_attention_backward.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/linear_attention/linear_attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

// A worker's memory for one share; all but the sums are of one chunk.
struct BackwardBuffers {
  BackwardBuffers(Carver& from, const LinearWidths& widths)
      : keys(from.take<float>(widths.key_panels * kBlockElements)),
        key_columns(from.take<float>(widths.key_panels * kBlockElements)),
        value_columns(from.take<float>(widths.extended_panels * kBlockElements)),
        queries(from.take<float>(widths.key_panels * kBlockElements)),
        g(from.take<float>(widths.extended_panels * kBlockElements)),
        scores(from.take<float>(kBlockElements)),
        d_scores(from.take<float>(kBlockElements)),
        d_queries(from.take<float>(widths.key_panels * kBlockElements)),
        d_keys(from.take<float>(widths.key_panels * kBlockElements)),
        d_values(from.take<float>(widths.extended_panels * kBlockElements)),
        key_sums(from.take<float>(state_elements(widths.extended, widths.keys))),
        query_sums(from.take<float>(state_elements(widths.extended, widths.keys))),
        query_sums_turned(from.take<float>(state_elements(widths.keys, widths.extended))) {}

  float *keys, *key_columns, *value_columns;         // phi(K), phi(K)^T, [V | 1]^T
  float *queries, *g;                                // phi(Q), [g | h], of one head
  float *scores, *d_scores;                          // tril(phi(Q) phi(K)^T), tril(G [V | 1]^T)
  float *d_queries, *d_keys, *d_values;              // the first two: of the features
  float *key_sums, *query_sums, *query_sums_turned;  // T, U, U^T
};

template <class T>
class LinearBackward {
 public:
  LinearBackward(const LinearAttentionBackward& call, const LinearWidths& widths, Scratch& scratch)
      : call_(call),
        widths_(widths),
        group_(call.settings.heads / call.settings.key_value_heads),
        buffers_(carve<BackwardBuffers>(scratch, widths)) {}

  void run(const LinearShare& share) {
    share_ = share;
    first_row_ = call_.segments->begin(share.sequence);
    length_ = call_.segments->length(share.sequence);
    has_key_sums_ = has_query_sums_ = false;
    call_.settings.reach == Visibility::Reach::causal ? run_causal() : run_full();
  }

 private:
  // Tokens of the sequence.
  struct Chunk {
    int64_t first, count;
  };
  Chunk chunk_at(int64_t first) const { return {first, std::min(kLinearChunk, length_ - first)}; }
  int64_t last_chunk() const { return (length_ - 1) / kLinearChunk * kLinearChunk; }

  // The chunk's rows of head h of the group, or of the keys' and values' head.
  template <class AnyView>
  auto query_rows(const AnyView& matrix, int64_t width, const Chunk& chunk, int64_t h) const {
    const int64_t head = share_.key_value_head * group_ + h;
    return HeadRows(host<T>(matrix), head * width, width, chunk.count, first_row_ + chunk.first, 1);
  }
  template <class AnyView>
  auto key_rows(const AnyView& matrix, int64_t width, const Chunk& chunk) const {
    return HeadRows(host<T>(matrix), share_.key_value_head * width, width, chunk.count, first_row_ + chunk.first, 1);
  }

  void run_causal() {
    for (int64_t first = 0; first < length_; first += kLinearChunk) {
      const Chunk chunk = chunk_at(first);
      pack_keys(chunk);
      for (int64_t h = 0; h < group_; ++h) {
        pack_queries(chunk, h);
        multiply_causal(chunk.count, 0, widths_.extended, buffers_.g, buffers_.value_columns, buffers_.d_scores);
        differentiate_queries(chunk);
        write_queries(chunk, h);
      }
      if (first < last_chunk()) {
        add_key_sums(chunk);
      }
    }
    for (int64_t first = last_chunk(); first >= 0; first -= kLinearChunk) {
      const Chunk chunk = chunk_at(first);
      pack_keys(chunk);
      differentiate_keys_by_sums(chunk);
      for (int64_t h = 0; h < group_; ++h) {
        pack_queries(chunk, h);
        differentiate_keys(chunk, h == 0 && !has_query_sums_at_chunk_ ? Sums::Start::zero : Sums::Start::former);
        if (first > 0) {
          add_query_sums(chunk);
        }
      }
      write_keys(chunk);
    }
  }

  void run_full() {
    for (int64_t first = 0; first < length_; first += kLinearChunk) {
      pack_keys(chunk_at(first));
      add_key_sums(chunk_at(first));
    }
    for (int64_t first = 0; first < length_; first += kLinearChunk) {
      const Chunk chunk = chunk_at(first);
      for (int64_t h = 0; h < group_; ++h) {
        pack_queries(chunk, h);
        for (int64_t panel = 0; panel < widths_.key_panels; ++panel) {
          multiply_wide(chunk.count, widths_.extended, buffers_.g,
                        state_panel(buffers_.key_sums, widths_.extended, panel), panel_columns(widths_.keys, panel),
                        buffers_.d_queries + panel * kBlockElements);
        }
        write_queries(chunk, h);
        add_query_sums(chunk);
      }
    }
    for (int64_t first = 0; first < length_; first += kLinearChunk) {
      pack_keys(chunk_at(first));
      differentiate_keys_by_sums(chunk_at(first));
      write_keys(chunk_at(first));
    }
  }

  void pack_keys(const Chunk& chunk) {
    const HeadRows<T> keys = key_rows(call_.memory.keys, widths_.keys, chunk);
    pack_features(keys, call_.settings.feature, buffers_.keys);
    pack_feature_columns(keys, call_.settings.feature, buffers_.key_columns);
    pack_columns(key_rows(call_.memory.values, widths_.values, chunk), buffers_.value_columns);
    std::fill_n(buffers_.value_columns + widths_.values * kPanel, kPanel, 1.0F);
  }

  // phi(Q), and g = d_output / divisor, h = -(g . output).
  void pack_queries(const Chunk& chunk, int64_t h) {
    pack_features(query_rows(call_.queries, widths_.keys, chunk, h), call_.settings.feature, buffers_.queries);
    pack_rows(query_rows(call_.d_output, widths_.values, chunk, h), kLinearChunk, buffers_.g);
    const HostView<const float> divisors = host<float>(call_.divisors);
    const HeadRows<T> output = query_rows(call_.output, widths_.values, chunk, h);
    for (int64_t r = 0; r < chunk.count; ++r) {
      const Vec inverse =
          hn::Set(Floats(), 1.0F / divisors(first_row_ + chunk.first + r, share_.key_value_head * group_ + h));
      Vec sum = hn::Zero(Floats());
      for (int64_t panel = 0; panel < panels_for(widths_.values); ++panel) {
        float* const g = buffers_.g + panel * kBlockElements + r * kPanel;
        read_row(output.row(r) + panel * kPanel, panel_columns(widths_.values, panel),
                 order_of_columns<T>(widths_.values), [&](int64_t c, Vec o) {
                   const Vec scaled = hn::Mul(load(g + c), inverse);
                   store(scaled, g + c);
                   sum = hn::MulAdd(scaled, o, sum);
                 });
      }
      put_after(buffers_.g, r, widths_.values, -hn::GetLane(hn::SumOfLanes(Floats(), sum)));
    }
  }

  // d_phi(Q) = tril(G [V | 1]^T) phi(K) + G T
  void differentiate_queries(const Chunk& chunk) {
    for (int64_t panel = 0; panel < widths_.key_panels; ++panel) {
      const int64_t columns = panel_columns(widths_.keys, panel);
      float* const to = buffers_.d_queries + panel * kBlockElements;
      if (has_key_sums_) {
        multiply_wide(chunk.count, widths_.extended, buffers_.g,
                      state_panel(buffers_.key_sums, widths_.extended, panel), columns, to);
      }
      multiply_scores(chunk.count, 0, buffers_.d_scores, buffers_.keys + panel * kBlockElements, columns,
                      Sums{to, has_key_sums_ ? Sums::Start::former : Sums::Start::zero});
    }
  }

  // d_phi(K) = [V | 1] U    d_V = phi(K) U^T
  void differentiate_keys_by_sums(const Chunk& chunk) {
    has_query_sums_at_chunk_ = has_query_sums_;
    if (!has_query_sums_) {
      return;
    }
    turn_query_sums();
    for (int64_t panel = 0; panel < widths_.key_panels; ++panel) {
      multiply_all(chunk.count, panel_columns(widths_.keys, panel), LeftColumns{buffers_.value_columns},
                   state_panel(buffers_.query_sums, widths_.extended, panel), widths_.extended,
                   Sums{buffers_.d_keys + panel * kBlockElements});
    }
    for (int64_t panel = 0; panel < panels_for(widths_.values); ++panel) {
      multiply_all(chunk.count, panel_columns(widths_.values, panel), LeftColumns{buffers_.key_columns},
                   state_panel(buffers_.query_sums_turned, widths_.keys, panel), widths_.keys,
                   Sums{buffers_.d_values + panel * kBlockElements});
    }
  }

  // d_phi(K) += tril(G [V | 1]^T)^T phi(Q)    d_V += tril(phi(Q) phi(K)^T)^T G
  void differentiate_keys(const Chunk& chunk, Sums::Start start) {
    multiply_causal(chunk.count, 0, widths_.keys, buffers_.queries, buffers_.key_columns, buffers_.scores);
    multiply_causal(chunk.count, 0, widths_.extended, buffers_.g, buffers_.value_columns, buffers_.d_scores);
    const auto from_key = [&chunk](int64_t key, int64_t) { return Steps{key, chunk.count}; };
    for (int64_t panel = 0; panel < widths_.key_panels; ++panel) {
      product(chunk.count, vectors_for(panel_columns(widths_.keys, panel)), LeftColumns{buffers_.d_scores},
              buffers_.queries + panel * kBlockElements, from_key,
              Sums{buffers_.d_keys + panel * kBlockElements, start});
    }
    for (int64_t panel = 0; panel < panels_for(widths_.values); ++panel) {
      product(chunk.count, vectors_for(panel_columns(widths_.values, panel)), LeftColumns{buffers_.scores},
              buffers_.g + panel * kBlockElements, from_key, Sums{buffers_.d_values + panel * kBlockElements, start});
    }
  }

  void add_key_sums(const Chunk& chunk) {
    for (int64_t panel = 0; panel < widths_.key_panels; ++panel) {
      multiply_all(widths_.extended, panel_columns(widths_.keys, panel), LeftRows{buffers_.value_columns},
                   buffers_.keys + panel * kBlockElements, chunk.count,
                   Sums{state_panel(buffers_.key_sums, widths_.extended, panel),
                        has_key_sums_ ? Sums::Start::former : Sums::Start::zero});
    }
    has_key_sums_ = true;
  }
  void add_query_sums(const Chunk& chunk) {
    for (int64_t panel = 0; panel < widths_.key_panels; ++panel) {
      float* const sums = state_panel(buffers_.query_sums, widths_.extended, panel);
      for (int64_t rows = 0; rows < widths_.extended_panels; ++rows) {
        multiply_all(panel_columns(widths_.extended, rows), panel_columns(widths_.keys, panel),
                     LeftColumns{buffers_.g + rows * kBlockElements}, buffers_.queries + panel * kBlockElements,
                     chunk.count,
                     Sums{sums + rows * kBlockElements, has_query_sums_ ? Sums::Start::former : Sums::Start::zero});
      }
    }
    has_query_sums_ = true;
  }

  void turn_query_sums() {
    for (int64_t panel = 0; panel < widths_.key_panels; ++panel) {
      for (int64_t rows = 0; rows < widths_.extended_panels; ++rows) {
        const HostView<const float> from{
            state_panel(buffers_.query_sums, widths_.extended, panel) + rows * kBlockElements, kPanel, kPanel, kPanel};
        pack_columns(
            HeadRows<float>(from, 0, panel_columns(widths_.keys, panel), panel_columns(widths_.extended, rows), 0, 1),
            state_panel(buffers_.query_sums_turned, widths_.keys, rows) + panel * kBlockElements);
      }
    }
  }

  // From gradients of features to those of queries or keys.
  void apply_slopes(const Chunk& chunk, const float* features, float* gradients) const {
    for (int64_t panel = 0; panel < widths_.key_panels; ++panel) {
      for (int64_t r = 0; r < chunk.count; ++r) {
        for (int64_t v = 0; v < vectors_for(panel_columns(widths_.keys, panel)); ++v) {
          float* const gradient = panel_at(gradients + panel * kBlockElements, r, v);
          const Vec slope = slope_of(call_.settings.feature, load(panel_at(features + panel * kBlockElements, r, v)));
          store(hn::Mul(load(gradient), slope), gradient);
        }
      }
    }
  }
  void write_queries(const Chunk& chunk, int64_t h) {
    apply_slopes(chunk, buffers_.queries, buffers_.d_queries);
    unpack_rows(buffers_.d_queries, kLinearChunk, query_rows(call_.d_queries, widths_.keys, chunk, h),
                [](int64_t, Vec x) { return x; });
  }
  void write_keys(const Chunk& chunk) {
    apply_slopes(chunk, buffers_.keys, buffers_.d_keys);
    unpack_rows(buffers_.d_keys, kLinearChunk, key_rows(call_.d_keys, widths_.keys, chunk),
                [](int64_t, Vec x) { return x; });
    unpack_rows(buffers_.d_values, kLinearChunk, key_rows(call_.d_values, widths_.values, chunk),
                [](int64_t, Vec x) { return x; });
  }

  const LinearAttentionBackward& call_;
  const LinearWidths& widths_;
  int64_t group_;
  BackwardBuffers buffers_;

  LinearShare share_{};
  int64_t first_row_ = 0, length_ = 0;
  // Whether something was added to the sums: of the share so far, and before the chunk whose keys are differentiated.
  bool has_key_sums_ = false, has_query_sums_ = false, has_query_sums_at_chunk_ = false;
};

template <class T>
void backward(Context& context, const LinearAttentionBackward& call) {
  const LinearAttentionSettings& settings = call.settings;
  const LinearWidths widths(call.memory.keys.columns() / settings.key_value_heads,
                            call.memory.values.columns() / settings.key_value_heads);
  const int64_t work = 3 * (settings.heads / settings.key_value_heads + 1) * widths.keys * widths.extended;
  for_each_share(context, *call.segments, settings.key_value_heads, work, [&](const LinearShare& share, int worker) {
    if (call.segments->length(share.sequence) > 0) {
      LinearBackward<T>(call, widths, context.scratch(worker)).run(share);
    }
  });
}

}  // namespace

void linear_attention_backward_f32(Context& context, const LinearAttentionBackward& call) {
  backward<float>(context, call);
}
void linear_attention_backward_bf16(Context& context, const LinearAttentionBackward& call) {
  backward<bf16>(context, call);
}

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(linear_attention_backward_f32);
HWY_EXPORT(linear_attention_backward_bf16);

void linear_attention_backward(Context& context, const LinearAttentionBackward& call) {
  if (call.queries.type() == DType::bf16) {
    HWY_DYNAMIC_DISPATCH(linear_attention_backward_bf16)(context, call);
  } else {
    HWY_DYNAMIC_DISPATCH(linear_attention_backward_f32)(context, call);
  }
}

}  // namespace heed::cpu
#endif
