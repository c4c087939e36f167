// Chunk after chunk: numerators and divisors of its rows, then its tokens are added to the sums.
#include <cstring>

#include "kernels/cpu/attention/attention_plan.h"
#include "kernels/cpu/linear_attention/linear_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/cpu/linear_attention/linear_attention_forward.cpp"
#include <hwy/foreach_target.h>
// foreach_target.h first: it compiles what follows once per instruction set.
#include "kernels/cpu/linear_attention/linear_attention-inl.h"

HWY_BEFORE_NAMESPACE();
namespace heed::cpu::HWY_NAMESPACE {
namespace {

// A worker's memory for one share.
struct ForwardBuffers {
  ForwardBuffers(Carver& from, const LinearWidths& widths)
      : rows(from.take<int64_t>(kLinearChunk)),
        key_columns(from.take<float>(widths.key_panels * kBlockElements)),
        values(from.take<float>(widths.extended_panels * kBlockElements)),
        queries(from.take<float>(widths.key_panels * kBlockElements)),
        scores(from.take<float>(kBlockElements)),
        output(from.take<float>(widths.extended_panels * kBlockElements)),
        state(from.take<float>(state_elements(widths.keys, widths.extended))) {}

  int64_t* rows;                     // of a chunk's keys and values
  float *key_columns, *values;       // phi(K)^T and [V | 1] of a chunk
  float *queries, *scores, *output;  // of a chunk and one head
  float* state;                      // sums of phi(k) [v | 1]^T
};

// The sums of one key-value head of a sequence, chunk by chunk.
template <class T>
class KeySums {
 public:
  KeySums(const ConstKeyValueView& memory, LinearFeature feature, const LinearWidths& widths, ForwardBuffers& buffers)
      : memory_(memory),
        feature_(feature),
        keys_(host<T>(memory.keys)),
        values_(host<T>(memory.values)),
        widths_(widths),
        to_(buffers) {}

  void begin(const LinearShare& share) {
    share_ = share;
    start_ = Sums::Start::zero;
    if (memory_.states.tokens_of(share.sequence) > 0) {
      each_part(own_part(memory_.states),
                [](float* panel_row, const float* part, int64_t count) { std::memcpy(panel_row, part, bytes(count)); });
      start_ = Sums::Start::former;
    }
  }
  void keep(const LinearStates& states) const {
    each_part(own_part(states),
              [](const float* panel_row, float* part, int64_t count) { std::memcpy(part, panel_row, bytes(count)); });
  }

  void pack(int64_t first, int64_t count) {
    count_ = count;
    list_rows(memory_, {share_.sequence, first, count}, to_.rows);
    pack_feature_columns(HeadRows<T>(keys_, share_.key_value_head * widths_.keys, widths_.keys, count, to_.rows),
                         feature_, to_.key_columns);
    pack_values(HeadRows<T>(values_, share_.key_value_head * widths_.values, widths_.values, count, to_.rows),
                to_.values);
  }
  // The packed chunk.
  void add() {
    for (int64_t panel = 0; panel < widths_.extended_panels; ++panel) {
      multiply_all(widths_.keys, panel_columns(widths_.extended, panel), LeftRows{to_.key_columns},
                   to_.values + panel * kBlockElements, count_,
                   Sums{state_panel(to_.state, widths_.keys, panel), start_});
    }
    start_ = Sums::Start::former;
  }

 private:
  static size_t bytes(int64_t floats) { return static_cast<size_t>(floats) * sizeof(float); }

  // A slot holds, for each key-value head, the rows of the state, end to end.
  template <class Memory>
  auto* own_part(const LinearStatesIn<Memory>& states) const {
    return host<float>(states.sums).row(host<int32_t>(states.slots)(0, share_.sequence)) +
           share_.key_value_head * widths_.keys * widths_.extended;
  }
  template <class Float, class Body>
  void each_part(Float* at, const Body& body) const {
    for (int64_t c = 0; c < widths_.keys; ++c) {
      for (int64_t panel = 0; panel < widths_.extended_panels; ++panel) {
        const int64_t count = panel_columns(widths_.extended, panel);
        body(state_panel(to_.state, widths_.keys, panel) + c * kPanel, at, count);
        at += count;
      }
    }
  }

  const ConstKeyValueView& memory_;
  LinearFeature feature_;
  HostView<const T> keys_, values_;
  const LinearWidths& widths_;
  ForwardBuffers& to_;
  LinearShare share_{};
  Sums::Start start_ = Sums::Start::zero;  // zero until something was added
  int64_t count_ = 0;
};

template <class T>
class LinearForward {
 public:
  LinearForward(const LinearAttentionForward& call, const LinearWidths& widths, Scratch& scratch)
      : call_(call),
        queries_(host<T>(call.queries)),
        output_(host<T>(call.output)),
        divisors_(host<float>(call.divisors)),
        widths_(widths),
        group_(call.settings.heads / call.settings.key_value_heads),
        buffers_(carve<ForwardBuffers>(scratch, widths)),
        sums_(call.memory, call.settings.feature, widths, buffers_) {}

  void run(const LinearShare& share) {
    first_head_ = share.key_value_head * group_;
    first_row_ = call_.segments->begin(share.sequence);
    query_count_ = call_.segments->length(share.sequence);
    key_count_ = call_.memory.segments->length(share.sequence);
    summed_ = call_.memory.states.tokens_of(share.sequence);
    sums_.begin(share);
    call_.settings.reach == Visibility::Reach::causal ? run_causal() : run_full();
    if (!call_.weights.empty()) {
      write_weights(share.sequence);
    }
  }

 private:
  // The queries among the keys [first, first + count): the first, counted from the first query, and how many.
  struct Queries {
    int64_t first, count, position;  // position: of the first, in the chunk
  };
  Queries queries_of(int64_t first_key, int64_t keys) const {
    const int64_t before = key_count_ - query_count_;
    const int64_t begin = std::max(before, first_key), end = first_key + keys;
    return {begin - before, std::max<int64_t>(0, end - begin), begin - first_key};
  }
  template <class Body>
  void each_chunk(int64_t from, const Body& body) const {
    for (int64_t first = from; first < key_count_; first += kLinearChunk) {
      body(first, std::min(kLinearChunk, key_count_ - first));
    }
  }

  void run_causal() {
    each_chunk(summed_, [this](int64_t first, int64_t keys) {
      sums_.pack(first, keys);
      const Queries queries = queries_of(first, keys);
      for (int64_t h = 0; h < group_ && queries.count > 0; ++h) {
        pack_queries(queries, h);
        multiply_causal(queries.count, queries.position, widths_.keys, buffers_.queries, buffers_.key_columns,
                        buffers_.scores);
        for (int64_t panel = 0; panel < widths_.extended_panels; ++panel) {
          const int64_t columns = panel_columns(widths_.extended, panel);
          float* const to = buffers_.output + panel * kBlockElements;
          if (first > 0) {
            multiply_wide(queries.count, widths_.keys, buffers_.queries,
                          state_panel(buffers_.state, widths_.keys, panel), columns, to);
          }
          multiply_scores(queries.count, queries.position, buffers_.scores, buffers_.values + panel * kBlockElements,
                          columns, Sums{to, first > 0 ? Sums::Start::former : Sums::Start::zero});
        }
        write_rows(queries, h);
      }
      if (first + keys < key_count_) {
        sums_.add();
      }
    });
  }

  void run_full() {
    each_chunk(summed_, [this](int64_t first, int64_t keys) {
      sums_.pack(first, keys);
      sums_.add();
    });
    for (int64_t first = 0; first < query_count_; first += kLinearChunk) {
      const Queries queries{first, std::min(kLinearChunk, query_count_ - first), 0};
      for (int64_t h = 0; h < group_; ++h) {
        pack_queries(queries, h);
        for (int64_t panel = 0; panel < widths_.extended_panels; ++panel) {
          multiply_wide(queries.count, widths_.keys, buffers_.queries, state_panel(buffers_.state, widths_.keys, panel),
                        panel_columns(widths_.extended, panel), buffers_.output + panel * kBlockElements);
        }
        write_rows(queries, h);
      }
    }
  }

  void pack_queries(const Queries& queries, int64_t h) {
    pack_features(HeadRows<T>(queries_, (first_head_ + h) * widths_.keys, widths_.keys, queries.count,
                              first_row_ + queries.first, 1),
                  call_.settings.feature, buffers_.queries);
  }

  // Numerators over divisors.
  void write_rows(const Queries& queries, int64_t h) {
    const float* const divisors = buffers_.output + widths_.values / kPanel * kBlockElements + widths_.values % kPanel;
    unpack_rows(buffers_.output, kLinearChunk,
                HeadRows<T, T>(output_, (first_head_ + h) * widths_.values, widths_.values, queries.count,
                               first_row_ + queries.first, 1),
                [divisors](int64_t r, Vec x) { return hn::Div(x, hn::Set(Floats(), divisors[r * kPanel])); });
    for (int64_t r = 0; r < queries.count && !call_.divisors.empty(); ++r) {
      divisors_(first_row_ + queries.first + r, first_head_ + h) = divisors[r * kPanel];
    }
  }

  // For display: every pair's score, then each row over its sum.
  void write_weights(int64_t sequence) {
    float* block = host<float>(call_.weights).row(0);
    for (int64_t s = 0; s < sequence; ++s) {
      block += call_.settings.heads * call_.segments->length(s) * call_.memory.segments->length(s);
    }
    const bool causal = call_.settings.reach == Visibility::Reach::causal;
    for (int64_t h = 0; h < group_; ++h) {
      float* const weights = block + (first_head_ + h) * query_count_ * key_count_;
      each_chunk(0, [&](int64_t first_key, int64_t keys) {
        sums_.pack(first_key, keys);
        for (int64_t first = 0; first < query_count_; first += kLinearChunk) {
          const Queries queries{first, std::min(kLinearChunk, query_count_ - first), 0};
          pack_queries(queries, h);
          multiply_wide(queries.count, widths_.keys, buffers_.queries, buffers_.key_columns, keys, buffers_.scores);
          for (int64_t r = 0; r < queries.count; ++r) {
            const int64_t position = key_count_ - query_count_ + first + r;
            for (int64_t j = 0; j < keys; ++j) {
              const bool seen = !causal || first_key + j <= position;
              weights[(first + r) * key_count_ + first_key + j] = seen ? buffers_.scores[r * kPanel + j] : 0.0F;
            }
          }
        }
      });
      divide_by_sums(weights);
    }
  }
  void divide_by_sums(float* weights) const {
    for (int64_t i = 0; i < query_count_; ++i, weights += key_count_) {
      double sum = 0.0;
      for (int64_t j = 0; j < key_count_; ++j) {
        sum += static_cast<double>(weights[j]);
      }
      for (int64_t j = 0; j < key_count_; ++j) {
        weights[j] = static_cast<float>(static_cast<double>(weights[j]) / sum);
      }
    }
  }

  const LinearAttentionForward& call_;
  HostView<const T> queries_;
  HostView<T> output_;
  HostView<float> divisors_;
  const LinearWidths& widths_;
  int64_t group_;
  ForwardBuffers buffers_;
  KeySums<T> sums_;

  int64_t first_head_ = 0, first_row_ = 0, query_count_ = 0, key_count_ = 0, summed_ = 0;
};

LinearWidths widths_of(const ConstKeyValueView& memory, int64_t key_value_heads) {
  return {memory.keys.columns() / key_value_heads, memory.values.columns() / key_value_heads};
}

template <class T>
void forward(Context& context, const LinearAttentionForward& call) {
  const LinearAttentionSettings& settings = call.settings;
  const LinearWidths widths = widths_of(call.memory, settings.key_value_heads);
  const int64_t work = (settings.heads / settings.key_value_heads + 1) * widths.keys * widths.extended;
  for_each_share(context, *call.segments, settings.key_value_heads, work, [&](const LinearShare& share, int worker) {
    if (call.segments->length(share.sequence) > 0) {
      LinearForward<T>(call, widths, context.scratch(worker)).run(share);
    }
  });
}

template <class T>
void fold(Context& context, const LinearAttentionFold& call) {
  const ConstKeyValueView memory = call.memory;
  const LinearWidths widths = widths_of(memory, call.key_value_heads);
  for_each_share(context, *call.memory.segments, call.key_value_heads, widths.keys * widths.extended,
                 [&](const LinearShare& share, int worker) {
                   const int64_t length = call.memory.segments->length(share.sequence);
                   int64_t summed = call.memory.states.tokens_of(share.sequence);
                   if (length - summed < kLinearChunk) {
                     return;
                   }
                   auto buffers = carve<ForwardBuffers>(context.scratch(worker), widths);
                   KeySums<T> sums(memory, call.feature, widths, buffers);
                   sums.begin(share);
                   for (; length - summed >= kLinearChunk; summed += kLinearChunk) {
                     sums.pack(summed, kLinearChunk);
                     sums.add();
                   }
                   sums.keep(call.memory.states);
                 });
}

}  // namespace

void linear_attention_f32(Context& context, const LinearAttentionForward& call) { forward<float>(context, call); }
void linear_attention_bf16(Context& context, const LinearAttentionForward& call) { forward<bf16>(context, call); }
void fold_linear_attention_f32(Context& context, const LinearAttentionFold& call) { fold<float>(context, call); }
void fold_linear_attention_bf16(Context& context, const LinearAttentionFold& call) { fold<bf16>(context, call); }

}  // namespace heed::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace heed::cpu {

HWY_EXPORT(linear_attention_f32);
HWY_EXPORT(linear_attention_bf16);
HWY_EXPORT(fold_linear_attention_f32);
HWY_EXPORT(fold_linear_attention_bf16);

void linear_attention(Context& context, const LinearAttentionForward& call) {
  if (call.queries.type() == DType::bf16) {
    HWY_DYNAMIC_DISPATCH(linear_attention_bf16)(context, call);
  } else {
    HWY_DYNAMIC_DISPATCH(linear_attention_f32)(context, call);
  }
}

void fold_linear_attention(Context& context, const LinearAttentionFold& call) {
  if (call.memory.keys.type() == DType::bf16) {
    HWY_DYNAMIC_DISPATCH(fold_linear_attention_bf16)(context, call);
  } else {
    HWY_DYNAMIC_DISPATCH(fold_linear_attention_f32)(context, call);
  }
}

}  // namespace heed::cpu
#endif
