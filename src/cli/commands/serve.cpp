#include <algorithm>
#include <cstdlib>
#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/output/standard_output.h"
#include "serve/service.h"

namespace heed::cli {
namespace {

struct ServeOptions {
  std::string config;
  std::vector<std::string> models;
  std::optional<std::string> listen, access_log;
};

// What the command line says goes before what the file says.
serve::ServeSettings settings_of(const ServeOptions& options) {
  serve::ServeSettings settings;
  if (!options.config.empty()) {
    settings = serve::read_serve_settings(options.config);
  }
  for (const std::string& text : options.models) {
    settings.models.push_back(serve::model_from_option(text));
  }
  settings.listen = options.listen.value_or(settings.listen);
  settings.access_log = options.access_log.value_or(settings.access_log);
  return settings;
}

void serve_models(const ServeOptions& options) {
  serve::Service service(settings_of(options), [options] { return settings_of(options); });
  service.run([](const std::string& address) { show_output(fmt::format("heed serves at {}\n", address)); });
  flush_output();
  if (service.leaves_work()) {
    service.finish_log();
    std::_Exit(0);
  }
}

}  // namespace

Command serve_command() {
  const auto options = std::make_shared<ServeOptions>();
  return {
      .name = "serve",
      .summary = "answer requests over HTTP",
      .options = {option("--model NAME=DIR", options->models, "a model of any kind, and the name that requests use"),
                  option("--config FILE", options->config, "models, keys and limits; see docs/serving.md"),
                  option("--listen HOST:PORT", options->listen,
                         "where to listen; 127.0.0.1:8080 unless the file says otherwise"),
                  option("--access-log PATH", options->access_log,
                         "a file that gets a JSON line for each request; -: standard output")},
      .run = [options] { serve_models(*options); },
      .footer = "Example:\n  heed serve --model de-en=model --listen 127.0.0.1:8080"};
}

}  // namespace heed::cli
