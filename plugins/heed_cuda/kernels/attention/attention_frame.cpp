#include "heed_cuda/kernels/attention/attention_frame.h"

#include <vector>

namespace heed::cuda {
namespace {

MaskWords mask_words(Context& context, const AttentionMask& mask) {
  std::vector<int64_t> first_words;
  int64_t words = 0;
  for (int64_t s = 0; s < mask.sequences(); ++s) {
    first_words.push_back(words);
    words += mask.queries(s) * ceil_div(mask.keys(s), 64);
  }
  if (words == 0) {
    return {};  // no pair is asked for
  }
  return {context.uploaded<uint64_t>({mask.row(0, 0), static_cast<size_t>(words)}),
          context.uploaded<int64_t>(first_words)};
}

}  // namespace

TokenRows token_rows(Context& context, Operands& operands, const Segments& segments, const PageTable& table) {
  return {context.segments(segments).offsets, operands.in<int32_t>(table.pages), table.page_tokens};
}

const int64_t* weight_offsets(Context& context, int64_t heads, const Segments& queries, const Segments& keys) {
  std::vector<int64_t> first{0};
  for (int64_t s = 0; s < queries.count(); ++s) {
    first.push_back(first.back() + heads * queries.length(s) * keys.length(s));
  }
  return context.uploaded<int64_t>(first);
}

AttentionFrame frame_of(Context& context, Operands& operands, const AttentionSettings& settings,
                        const Segments& queries, const ConstKeyValueView& memory) {
  AttentionFrame frame;
  frame.queries = context.segments(queries);
  frame.keys = context.segments(*memory.segments);
  frame.heads = static_cast<int>(settings.heads);
  frame.group = static_cast<int>(settings.heads / settings.key_value_heads);
  frame.key_width = static_cast<int>(memory.keys.columns() / settings.key_value_heads);
  frame.value_width = static_cast<int>(memory.values.columns() / settings.key_value_heads);
  frame.visibility = settings.visibility;
  if (settings.mask != nullptr) {
    frame.mask = mask_words(context, *settings.mask);
  }
  frame.scale = static_cast<float>(settings.scale);
  frame.cap = static_cast<float>(settings.score_cap);
  frame.table = operands.in<float>(settings.by_distance.table);
  frame.table_of = settings.by_distance.of;
  frame.distances = settings.by_distance.distances;
  frame.first_distance = settings.by_distance.first;
  frame.factor = static_cast<float>(settings.by_distance.factor);
  frame.dropout = settings.dropout;
  frame.kept_scale = settings.dropout.active() ? settings.dropout.scale() : 1.0F;
  frame.drawn_heads = settings.drawn_heads();
  frame.first_drawn_head = static_cast<uint64_t>(settings.first_drawn_head);
  return frame;
}

}  // namespace heed::cuda
