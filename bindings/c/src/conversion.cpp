#include "heed/export.h"
#include "heed/import.h"
#include "heed/quantize.h"
#include "options.h"
#include "record.h"

namespace heed::c {
namespace {

// "PATTERN=TYPE"
KeptWeights kept_weights_of(const std::string& text) {
  const size_t sign = text.rfind('=');
  if (sign == std::string::npos) {
    throw ConfigError("HEED_KEEP: '" + text + "' is not PATTERN=TYPE");
  }
  const std::string_view type = std::string_view(text).substr(sign + 1);
  return {.pattern = text.substr(0, sign), .type = OptionReader::value_of_name(HEED_KEEP, type, kWeightTypeNames)};
}

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_error* heed_import(const char* source, const char* directory, const heed_options* options, heed_record** made) {
  return guarded([&] {
    require_given(source, "source");
    require_given(directory, "directory");
    OptionReader(options).finish();
    const heed::ImportedModel model = heed::import_model({.source = source, .output = directory});
    heed_record record{
        .kind = "imported",
        .figures = {{"tensors", static_cast<double>(model.tensors)}, {"bytes", static_cast<double>(model.bytes)}},
        .texts = {model.family}};
    record.texts.insert(record.texts.end(), model.notes.begin(), model.notes.end());
    put_made(std::move(record), made);
  });
}

heed_error* heed_export(const char* model, const char* path, const heed_options* options, heed_record** made) {
  return guarded([&] {
    require_given(model, "model");
    require_given(path, "path");
    OptionReader reader(options);
    heed::ExportOptions found{.model = model, .output = path};
    if (reader.has(HEED_FORMAT)) {
      reader.named(HEED_FORMAT, found.format.emplace(), heed::kExportFormatNames);
    }
    reader.text(HEED_WEIGHT_TYPE, found.type);
    reader.finish();
    const heed::ExportSummary summary = heed::export_model(found);
    put_made(
        {.kind = "exported",
         .figures = {{"tensors", static_cast<double>(summary.tensors)}, {"bytes", static_cast<double>(summary.bytes)}},
         .texts = {summary.form}},
        made);
  });
}

heed_error* heed_quantize(const char* model, const char* directory, const heed_options* options, heed_record** made) {
  return guarded([&] {
    require_given(model, "model");
    require_given(directory, "directory");
    OptionReader reader(options);
    heed::QuantizeOptions found;
    found.model = model;
    found.output = directory;
    reader.named(HEED_WEIGHT_TYPE, found.type, heed::kWeightTypeNames);
    std::vector<std::string> kept;
    reader.texts(HEED_KEEP, kept);
    for (const std::string& text : kept) {
      found.keep.push_back(kept_weights_of(text));
    }
    reader.integer(HEED_GROUP, found.group);
    reader.text(HEED_CALIBRATION, found.calibration);
    reader.text(HEED_CALIBRATION_TARGET, found.calibration_target);
    reader.integer(HEED_THREADS, found.threads);
    reader.finish();
    const heed::QuantizedWeights weights = heed::quantize(found);
    put_made({.kind = "quantized",
              .figures = {{"matrices", static_cast<double>(weights.matrices.size())},
                          {"bytes_before", static_cast<double>(weights.bytes_before)},
                          {"bytes_after", static_cast<double>(weights.bytes_after)},
                          {"signal_to_noise", weights.signal_to_noise}}},
             made);
  });
}
