#include "attention.h"

namespace heed::c {

AttentionRequest attention_request(OptionReader& options, AttentionKind kind) {
  AttentionRequest request{.kind = kind};
  options.named(HEED_ATTENTION_KIND, request.kind, kAttentionKindNames);
  options.integers(HEED_ATTENTION_LAYER, request.layers);
  options.integers(HEED_ATTENTION_HEAD, request.heads);
  options.choice(HEED_ATTENTION_NORMS, request.norms, AttentionNorms::left_out, AttentionNorms::computed);
  options.integer(HEED_ATTENTION_SIZE, request.at_most);
  return request;
}

namespace {

const TextAttention& found_in(const heed_attention* attention) { return given(attention, "attention").found; }

const AttentionMap& map_of(const heed_attention* attention, size_t map) {
  return at(found_in(attention).maps, map, "map");
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

void heed_attention_free(heed_attention* attention) { delete attention; }

heed_error* heed_attention_rows(const heed_attention* attention, size_t* count) {
  return guarded([&] { put(found_in(attention).rows.size(), count, "count"); });
}

heed_error* heed_attention_row(const heed_attention* attention, size_t index, const char** token, size_t* length) {
  return guarded([&] { put_text(at(found_in(attention).rows, index, "row"), token, length); });
}

heed_error* heed_attention_columns(const heed_attention* attention, size_t* count) {
  return guarded([&] { put(found_in(attention).columns.size(), count, "count"); });
}

heed_error* heed_attention_column(const heed_attention* attention, size_t index, const char** token, size_t* length) {
  return guarded([&] { put_text(at(found_in(attention).columns, index, "column"), token, length); });
}

heed_error* heed_attention_maps(const heed_attention* attention, size_t* count) {
  return guarded([&] { put(found_in(attention).maps.size(), count, "count"); });
}

heed_error* heed_attention_place(const heed_attention* attention, size_t map, int64_t* layer, int64_t* head) {
  return guarded([&] {
    const heed::AttentionMap& found = map_of(attention, map);
    require_given(layer, "layer");
    put(found.head, head, "head");
    *layer = found.layer;
  });
}

heed_error* heed_attention_weights(const heed_attention* attention, size_t map, const float** weights, size_t* rows,
                                   size_t* columns) {
  return guarded([&] {
    const heed::AttentionMap& found = map_of(attention, map);
    require_given(static_cast<const void*>(weights), "weights");
    require_given(rows, "rows");
    put(found.columns, columns, "columns");
    *rows = static_cast<size_t>(found.rows);
    *weights = found.weights.data();
  });
}

heed_error* heed_attention_norms(const heed_attention* attention, size_t map, const float** norms) {
  return guarded([&] {
    const heed::AttentionMap& found = map_of(attention, map);
    put(found.norms.empty() ? nullptr : found.norms.data(), norms, "norms");
  });
}
