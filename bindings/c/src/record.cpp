#include "record.h"

#include <algorithm>

using namespace heed::c;

void heed_record_free(heed_record* record) { delete record; }

heed_error* heed_record_kind(const heed_record* record, const char** kind) {
  return guarded([&] { put(given(record, "record").kind.c_str(), kind, "kind"); });
}

heed_error* heed_record_figures(const heed_record* record, size_t* count) {
  return guarded([&] { put(given(record, "record").figures.size(), count, "count"); });
}

heed_error* heed_record_figure(const heed_record* record, size_t index, const char** name, double* value) {
  return guarded([&] {
    const auto& [own_name, own_value] = at(given(record, "record").figures, index, "figure");
    require_given(value, "value");
    put(own_name.c_str(), name, "name");
    *value = own_value;
  });
}

heed_error* heed_record_value(const heed_record* record, const char* name, double* value) {
  return guarded([&] {
    const auto& figures = given(record, "record").figures;
    require_given(name, "name");
    const auto found = std::ranges::find(figures, name, [](const auto& figure) { return figure.first; });
    if (found == figures.end()) {
      throw ArgumentError("there is no figure '" + std::string(name) + "' in a record of the kind " + record->kind);
    }
    put(found->second, value, "value");
  });
}

heed_error* heed_record_texts(const heed_record* record, size_t* count) {
  return guarded([&] { put(given(record, "record").texts.size(), count, "count"); });
}

heed_error* heed_record_text(const heed_record* record, size_t index, const char** text, size_t* length) {
  return guarded([&] { put_text(at(given(record, "record").texts, index, "text"), text, length); });
}
