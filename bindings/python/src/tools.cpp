#include "arguments.h"
#include "calls.h"
#include "heed/evaluate.h"
#include "heed/export.h"
#include "heed/import.h"
#include "heed/inspect.h"
#include "heed/quantize.h"
#include "heed/report.h"
#include "heed/types/weight_type.h"
#include "parts.h"

namespace heed::python {
namespace {

py::dict inspected(const ModelSummary& summary) {
  py::dict parameters;
  for (const ParameterInfo& one : summary.parameters) {
    py::dict info;
    info["shape"] = one.shape;
    info["elements"] = one.count.elements;
    info["type"] = one.type;
    info["bytes"] = one.bytes;
    info["trained"] = one.trained;
    parameters[py::str(one.name)] = info;
  }
  py::dict result;
  result["architecture"] = summary.architecture;
  result["notes"] = summary.notes;
  result["parameters"] = parameters;
  return result;
}

constexpr const char* kQuantize =
    R"(Writes a smaller model: type is "int8", "int8-static" (with a calibration text), "int4", "bf16" or "f16".

    >>> found = heed.quantize("model", "small", type="int8")
    >>> found["bytes_after"] < found["bytes_before"]
    True)";

constexpr const char* kImportModel =
    R"(Makes a model directory of another program's model. Models are also read where they are.

    >>> heed.import_model("llama", "imported")["family"]
    'Llama')";

constexpr const char* kExportModel =
    R"(Writes a model for other programs: format is "huggingface", "gguf" or "ctranslate2".

    >>> heed.export("llama", "llama.gguf", type="f16")["form"]
    'llama'
    >>> heed.export_model("encoder", "exported", format="huggingface")["form"]
    'bert')";

constexpr const char* kReport = R"(Writes a page about a training run, and returns its path.

    >>> heed.report("model", output="page.html")
    'page.html')";

constexpr const char* kInspect = R"(What a recipe or a model is: architecture, notes, and parameters by name.

    >>> heed.inspect("model")["parameters"]["source.tokens"]["type"]
    'f32')";

constexpr const char* kBleu = R"(BLEU, chrF2 and chrF2++ of translations, equal to sacreBLEU's.

    >>> scores = heed.bleu(["a dog runs in the park"], ["a dog runs in the garden"])
    >>> round(scores["bleu"], 2), round(scores["chrf2"], 2)
    (75.98, 67.56))";

}  // namespace

void add_tools(py::module_& module) {
  module.def(
      "quantize",
      [](const py::object& model, const py::object& output, const py::object& type, const py::object& calibration,
         const py::object& threads) {
        QuantizeOptions options;
        options.model = path_of(model, "model");
        options.output = path_of(output, "output");
        options.type = named(type, kWeightTypeNames, "type");
        options.calibration = path_or_empty(calibration, "calibration");
        options.threads = value_of<int>(threads, "threads");
        QuantizedWeights found;
        run_call([&](const Interruption& interruption, std::stop_source&) {
          options.interruption = interruption;
          found = quantize(options);
        });
        py::dict result;
        result["bytes_before"] = found.bytes_before;
        result["bytes_after"] = found.bytes_after;
        result["signal_to_noise"] = found.signal_to_noise;
        return result;
      },
      kQuantize, py::arg("model"), py::arg("output"), py::kw_only(), py::arg("type") = "int8",
      py::arg("calibration") = py::none(), py::arg("threads") = 0);
  module.def(
      "import_model",
      [](const py::object& source, const py::object& output) {
        ImportOptions options{path_of(source, "source"), path_of(output, "output")};
        ImportedModel found;
        run_call([&](const Interruption& interruption, std::stop_source&) {
          options.interruption = interruption;
          found = import_model(options);
        });
        py::dict result;
        result["family"] = found.family;
        result["tensors"] = found.tensors;
        result["bytes"] = found.bytes;
        result["notes"] = found.notes;
        return result;
      },
      kImportModel, py::arg("source"), py::arg("output"));
  module.def(
      "export_model",
      [](const py::object& model, const py::object& output, const py::object& format, const py::object& type) {
        ExportOptions options{.model = path_of(model, "model"), .output = path_of(output, "output")};
        if (!format.is_none()) {
          options.format = named(format, kExportFormatNames, "format");
        }
        options.type = value_of<std::string>(type, "type");
        ExportSummary found;
        run_call([&](const Interruption& interruption, std::stop_source&) {
          options.interruption = interruption;
          found = export_model(options);
        });
        py::dict result;
        result["form"] = found.form;
        result["tensors"] = found.tensors;
        result["bytes"] = found.bytes;
        return result;
      },
      kExportModel, py::arg("model"), py::arg("output"), py::kw_only(), py::arg("format") = py::none(),
      py::arg("type") = "");
  module.def(
      "report",
      [](const py::object& directory, const py::object& output) {
        ReportOptions options;
        options.directory = path_of(directory, "directory");
        options.output = path_or_empty(output, "output");
        WrittenReport found;
        run_call([&](const Interruption& interruption, std::stop_source&) {
          options.interruption = interruption;
          found = write_report(options);
        });
        return found.path;
      },
      kReport, py::arg("directory"), py::kw_only(), py::arg("output") = py::none());
  module.def(
      "inspect",
      [](const py::object& path, const py::object& overrides) {
        const std::string what = path_of(path, "path");
        const std::vector<std::string> settings = list_of(overrides, "overrides");
        ModelSummary found;
        run_call([&](const Interruption&, std::stop_source&) { found = inspect_recipe(what, settings); });
        return inspected(found);
      },
      kInspect, py::arg("path"), py::arg("overrides") = py::tuple());
  module.def(
      "bleu",
      [](const py::object& hypotheses, const py::object& references, const py::object& lowercase) {
        TranslationTexts texts;
        const LetterCase letters = value_of<bool>(lowercase, "lowercase") ? LetterCase::lower : LetterCase::kept;
        texts.hypotheses = list_of(hypotheses, "hypotheses");
        texts.references = {list_of(references, "references")};
        if (texts.hypotheses.size() != texts.references.front().size()) {
          throw py::value_error("references: " + std::to_string(texts.references.front().size()) + " for " +
                                std::to_string(texts.hypotheses.size()) + " hypotheses");
        }
        TranslationScores found;
        run_call([&](const Interruption& interruption, std::stop_source&) {
          found = score_translations(texts, {.letters = letters, .interruption = interruption});
        });
        py::dict result;
        result["bleu"] = found.bleu.score;
        result["chrf2"] = found.chrf2;
        result["chrf2++"] = found.chrf2pp;
        result["signature"] = found.bleu_signature;
        return result;
      },
      kBleu, py::arg("hypotheses"), py::arg("references"), py::kw_only(), py::arg("lowercase") = false);
}

}  // namespace heed::python
