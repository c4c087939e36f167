#include <filesystem>
#include <fstream>

#include "base/system/files.h"
#include "heed/inspect.h"
#include "serve/heed/heed_paths.h"
#include "serve/http/url.h"
#include "serve/settings/serve_settings.h"

namespace heed::serve {
namespace {

constexpr std::string_view kModelsPath = "/heed/models/", kDescribePath = "/heed/describe/",
                           kReportPath = "/heed/report/";

// The rest of a path that begins with `prefix`.
std::string name_after(std::string_view prefix, const Call& call) {
  return decoded_url(call.request().path().substr(prefix.size()));
}

void require_administrator(const Call& call) {
  if (call.key() == nullptr || !call.key()->administers) {
    throw RequestError(403, "", "only a key with administers = true may load and drop models");
  }
}

Json or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

std::string_view columns_of(const Encoder& encoder) {
  const auto columns = encoder.columns();
  return !columns ? "" : *columns == TextColumns::one ? "one" : "pair";
}

Json describe(const ModelStore::Known& known) {
  Json json{{"name", known.settings.name},
            {"kind", name_among(kModelKindNames, known.kind)},
            {"loaded", known.model != nullptr},
            {"source_language", or_null(known.settings.source_language)},
            {"target_language", or_null(known.settings.target_language)}};
  if (known.model == nullptr) {
    return json;
  }
  const ServedModel& model = *known.model;
  json["max_length"] = model.max_length();
  json["bytes"] = model.bytes();
  json["chat"] = model.chats();
  const auto add = [&](const auto& handle) {
    json["parameters"] = handle.parameters();
    json["precision"] = name_of(handle.precision());
    json["threads"] = handle.threads();
  };
  if (model.kind() == ModelKind::translator) {
    add(model.translator());
  } else if (model.kind() == ModelKind::language_model) {
    add(model.generator());
  } else {
    add(model.encoder());
    json["task"] = or_null(model.encoder().task());
    json["labels"] = model.encoder().labels();
    json["columns"] = or_null(std::string(columns_of(model.encoder())));
    json["width"] = model.encoder().embedding_width();
    json["mask"] = or_null(model.encoder().mask());
  }
  return json;
}

// Whatever is wrong with the files is the fault of the path.
void load_from_path(ModelStore& models, const ModelSettings& settings) {
  if (settings.directory.find('\0') != std::string::npos) {
    refuse_field("path", "no path has a NUL");
  }
  try {
    models.load(settings);
  } catch (const ConfigError& error) {
    refuse_field("path", "{}", error.what());
  } catch (const FormatError& error) {
    refuse_field("path", "{}", error.what());
  } catch (const MemoryError&) {
    throw;  // another path would not help
  } catch (const IoError& error) {
    refuse_field("path", "{}", error.what());
  } catch (const std::filesystem::filesystem_error& error) {
    refuse_field("path", "{}", error.code().message());
  }
}

std::filesystem::path report_of(const ServedModel& model) {
  return std::filesystem::path(model.settings().directory) / "report.html";
}

// What training wrote down, a JSON object in each line.
Json curve_of(const std::string& directory) {
  Json curve = Json::array();
  std::ifstream file(std::filesystem::path(directory) / "metrics.jsonl");
  for (std::string line; std::getline(file, line);) {
    Json one = Json::parse(line, nullptr, false);
    if (one.is_object()) {
      curve.push_back(std::move(one));
    }
  }
  return curve;
}

}  // namespace

void list_models(Call& call) {
  Json models = Json::array();
  for (const ModelStore::Known& known : call.models().list()) {
    if (call.may_use(known.settings.name)) {
      models.push_back(describe(known));
    }
  }
  call.answer({{"models", std::move(models)}});
}

void load_model(Call& call) {
  require_administrator(call);
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  ModelSettings settings{.name = fields.required_text("name"), .directory = fields.required_text("path"), .drafts = {}};
  Fields::take(fields.text("source_language"), settings.source_language);
  Fields::take(fields.text("target_language"), settings.target_language);
  fields.finish();
  if (!is_served_name(settings.name)) {
    refuse_field("name", "cannot be the name of a model");
  }
  load_from_path(call.models(), settings);
  call.answer({{"name", settings.name}, {"loaded", true}});
}

void drop_model(Call& call) {
  require_administrator(call);
  const std::string name = name_after(kModelsPath, call);
  if (!call.models().drop(name)) {
    throw RequestError(404, "model", fmt::format("model: there is no model '{}'", name));
  }
  call.answer({{"name", name}, {"loaded", false}});
}

void describe_model(Call& call) {
  const ServedModel& model = call.model(name_after(kDescribePath, call));
  const std::string& directory = model.settings().directory;
  const ModelSummary summary = inspect_recipe(directory);
  Json parameters = Json::array();
  for (const ParameterInfo& one : summary.parameters) {
    parameters.push_back({{"name", one.name},
                          {"shape", one.shape},
                          {"type", one.type},
                          {"bytes", one.bytes},
                          {"elements", one.count.elements}});
  }
  call.answer({{"name", model.name()},
               {"architecture", summary.architecture},
               {"diagram", draw_model(directory)},
               {"report", std::filesystem::is_regular_file(report_of(model))},
               {"notes", summary.notes},
               {"parameters", std::move(parameters)},
               {"curve", curve_of(directory)}});
}

// What heed report wrote. Its scripts run, but as those of a page of no origin: they reach neither the server nor the
// key that this page keeps.
void send_report(Call& call) {
  const ServedModel& model = call.model(name_after(kReportPath, call));
  const std::filesystem::path report = report_of(model);
  if (!std::filesystem::is_regular_file(report)) {
    throw RequestError(404, "", fmt::format("'{}' has no report: heed report writes one", model.name()));
  }
  HttpAnswer answer{.type = "text/html; charset=utf-8", .body = read_file(report)};
  answer.headers = {
      {"Content-Security-Policy",
       "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; "
       "img-src data:"},
      {"X-Content-Type-Options", "nosniff"}};
  call.exchange().answer(std::move(answer));
}

}  // namespace heed::serve
