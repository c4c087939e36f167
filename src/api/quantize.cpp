#include "heed/quantize.h"

#include "api/model_quality.h"
#include "base/system/files.h"
#include "base/system/threads.h"
#include "checkpoint/model_directory.h"
#include "quant/quantize.h"
#include "report/quantization_page.h"

namespace heed {

QuantizedWeights quantize(const QuantizeOptions& options) {
  const int threads = thread_count(options.threads);
  const QuantizationReport& report = options.report;
  const ModelFolder from{options.model}, to{options.output};
  const ModelConfig model = load_description(from).config;
  check_report(report, model, {options.calibration, options.calibration_target});
  require_no_model(to);
  // Before anything is written, so that a text that the model cannot be measured on leaves no model behind.
  const auto before = measure_quality(options.model, model, report, threads);
  QuantizedModel written =
      quantize_directory(from, to,
                         {.types = {options.type, options.keep},
                          .use = report.page.empty() ? CalibrationUse::types : CalibrationUse::inputs,
                          .group = options.group,
                          .calibration = {options.calibration, options.calibration_target},
                          .threads = threads,
                          .interruption = options.interruption});
  QuantizedWeights& result = written.weights;
  if (before) {
    const auto after = measure_quality(options.output, model, report, threads);
    result.changes.push_back(
        {before->metric, report.text.empty() ? report.source : report.text, before->value, after->value});
  }
  if (!report.page.empty()) {
    const std::string name = to.path.filename().empty() ? to.path.parent_path().filename() : to.path.filename();
    write_file(report.page, quantization_page({name, model, options.type, result}));
  }
  written.folder->keep();
  return std::move(written.weights);
}

}  // namespace heed
