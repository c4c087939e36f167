#include "serve/settings/serve_settings.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <utility>

#include "base/settings.h"
#include "base/system/files.h"

namespace heed::serve {
namespace {

constexpr std::string_view kModelGroup = "model", kKeyGroup = "key";

// What [limits] has, in the units that people write.
struct Limits {
  int64_t header_bytes = 16384, body_bytes = 8388608, waiting_bytes = 1048576, answer_bytes = 536870912,
          connections = 20000;
  double header_seconds = 10.0, body_seconds = 60.0, idle_seconds = 75.0, stall_seconds = 30.0;
};

std::chrono::milliseconds milliseconds(double seconds) {
  return std::chrono::milliseconds(static_cast<int64_t>(seconds * 1000.0));
}

SettingTable server_table(ServeSettings& settings) {
  return {.name = "server",
          .settings = {setting("listen", settings.listen), setting("origins", settings.origins),
                       setting("access_log", settings.access_log), setting("certificate", settings.certificate),
                       setting("private_key", settings.private_key), setting("drain_seconds", settings.drain_seconds)},
          .foreign = {}};
}

SettingTable limits_table(ServeSettings& settings, Limits& limits) {
  return {.name = "limits",
          .settings = {setting("requests", settings.requests), setting("request_seconds", settings.request_seconds),
                       setting("texts", settings.texts), setting("max_tokens", settings.max_tokens),
                       setting("sequences", settings.sequences), setting("model_bytes", settings.model_bytes),
                       setting("header_bytes", limits.header_bytes), setting("body_bytes", limits.body_bytes),
                       setting("waiting_bytes", limits.waiting_bytes), setting("answer_bytes", limits.answer_bytes),
                       setting("connections", limits.connections), setting("header_seconds", limits.header_seconds),
                       setting("body_seconds", limits.body_seconds), setting("idle_seconds", limits.idle_seconds),
                       setting("stall_seconds", limits.stall_seconds)},
          .foreign = {}};
}

Setting threads_setting(int& threads) {
  return {.name = "threads",
          .type = SettingType::integer,
          .set =
              [&threads](const std::string& where, const SettingValue& value) {
                const int64_t count = std::get<int64_t>(value);
                require_option(count >= 0 && count <= 4096, where, "threads", count, "0 to 4096");
                threads = static_cast<int>(count);
              },
          .show = [&threads] { return fmt::format("{}", threads); }};
}

Setting draft_setting(DraftOptions& drafts) {
  return {.name = "draft",
          .type = SettingType::text,
          .set =
              [&drafts](const std::string& where, const SettingValue& value) {
                const int64_t tokens = drafts.tokens;
                const auto& text = std::get<std::string>(value);
                drafts = text.empty() ? DraftOptions{} : drafts_named(text, where);
                drafts.tokens = tokens;
              },
          .show =
              [&drafts] {
                return fmt::format("\"{}\"", drafts.by == Drafts::none     ? ""
                                             : drafts.by == Drafts::prompt ? "prompt"
                                             : drafts.by == Drafts::layers ? fmt::format("layers:{}", drafts.layers)
                                                                           : drafts.model);
              }};
}

SettingTable model_table(ModelSettings& model) {
  return {
      .name = fmt::format("{}.{}", kModelGroup, model.name),
      .settings = {setting("path", model.directory), choice("precision", model.inference.precision, kPrecisionNames),
                   choice("cache", model.inference.cache, kCacheTypeNames), setting("device", model.inference.device),
                   threads_setting(model.inference.threads), setting("ensemble", model.inference.ensemble),
                   setting("prefix_bytes", model.inference.prefix_bytes), setting("shortlist", model.shortlist),
                   setting("source_language", model.source_language), setting("target_language", model.target_language),
                   setting("languages", model.languages), setting("beam", model.beam), draft_setting(model.drafts),
                   setting("draft_tokens", model.drafts.tokens)},
      .foreign = {}};
}

SettingTable key_table(KeySettings& key) {
  return {.name = fmt::format("{}.{}", kKeyGroup, key.name),
          .settings = {setting("secret", key.secret), setting("models", key.models),
                       setting("administers", key.administers), setting("requests_per_minute", key.requests_per_minute),
                       setting("tokens_per_day", key.tokens_per_day), setting("max_priority", key.max_priority)},
          .foreign = {}};
}

void set_http_limits(const Limits& limits, const std::string& path, HttpLimits& http) {
  for (const auto& [name, value, least] : {std::tuple("header_bytes", limits.header_bytes, int64_t{1024}),
                                           {"body_bytes", limits.body_bytes, 1024},
                                           {"waiting_bytes", limits.waiting_bytes, 4096},
                                           {"answer_bytes", limits.answer_bytes, 4096},
                                           {"connections", limits.connections, 1}}) {
    require_option(value >= least && value <= int64_t{1} << 31, path, name, value, fmt::format("{} to 2^31", least));
  }
  for (const auto& [name, value] : {std::pair("header_seconds", limits.header_seconds),
                                    {"body_seconds", limits.body_seconds},
                                    {"idle_seconds", limits.idle_seconds},
                                    {"stall_seconds", limits.stall_seconds}}) {
    require_option(value >= 0.1 && value <= 86400.0, path, name, value, "0.1 to 86400");
  }
  http.header_bytes = static_cast<size_t>(limits.header_bytes);
  http.body_bytes = static_cast<size_t>(limits.body_bytes);
  http.waiting_bytes = static_cast<size_t>(limits.waiting_bytes);
  http.answer_bytes = static_cast<size_t>(limits.answer_bytes);
  http.connections = static_cast<size_t>(limits.connections);
  http.header_time = milliseconds(limits.header_seconds);
  http.body_time = milliseconds(limits.body_seconds);
  http.idle_time = milliseconds(limits.idle_seconds);
  http.stall_time = milliseconds(limits.stall_seconds);
}

// A relative path is looked for beside the file that names it.
std::string beside(const std::string& file, const std::string& path) {
  const std::filesystem::path found(path);
  return path.empty() || found.is_absolute() ? path : (std::filesystem::path(file).parent_path() / found).string();
}

void require_all(const std::set<std::string>& names, std::string_view what) {
  for (const std::string& name : names) {
    require<ConfigError>(is_served_name(name), "serve", "'{}' cannot be the name of a {}", name, what);
  }
}

// "*", or what a browser says: a scheme, a host, and a port if it is not the usual one.
bool is_origin(std::string_view text) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789+-._:[]",
                             kBetween = "://";
  const auto is_plain = [&](std::string_view part) {
    return !part.empty() && part.find_first_not_of(kCharacters) == std::string_view::npos;
  };
  const size_t end = text.find(kBetween);
  return text == "*" || (end != std::string_view::npos && is_plain(text.substr(0, end)) &&
                         is_plain(text.substr(end + kBetween.size())));
}

// "de" or "de=deu_Latn".
bool is_language(const std::string& text) {
  const size_t equals = text.find('=');
  return !text.empty() && equals != 0 && (equals == std::string::npos || equals + 1 < text.size());
}

void validate_model(const ModelSettings& model) {
  const auto refuse_unless = [&](bool good, std::string_view problem) {
    require<ConfigError>(good, "serve", "[model.{}] {}", model.name, problem);
  };
  require_option(model.inference.prefix_bytes >= 0, "serve", "prefix_bytes", model.inference.prefix_bytes, "0 or more");
  refuse_unless(model.source_language.empty() == model.target_language.empty(),
                "has one of source_language and target_language, expected both or neither");
  refuse_unless(model.languages.size() != 1, "has one language, expected none or several");
  for (const std::string& language : model.languages) {
    refuse_unless(is_language(language),
                  fmt::format("has the language '{}', expected a code, or a code=NAME IN THE MODEL", language));
  }
}

}  // namespace

ServeSettings read_serve_settings(const std::string& path) {
  const std::string text = read_file(path);
  ServeSettings settings;
  Limits limits;
  for (std::string& name : table_names(text, path, kModelGroup)) {
    settings.models.push_back({.name = std::move(name), .directory = {}, .drafts = {}});
  }
  for (std::string& name : table_names(text, path, kKeyGroup)) {
    settings.keys.push_back({.name = std::move(name), .secret = {}});
  }
  std::vector<SettingTable> tables{server_table(settings), limits_table(settings, limits)};
  std::ranges::transform(settings.models, std::back_inserter(tables), model_table);
  std::ranges::transform(settings.keys, std::back_inserter(tables), key_table);
  read_settings(text, path, tables);
  set_http_limits(limits, path, settings.http);
  settings.certificate = beside(path, settings.certificate);
  if (settings.access_log != "-") {
    settings.access_log = beside(path, settings.access_log);
  }
  settings.private_key = beside(path, settings.private_key);
  for (ModelSettings& model : settings.models) {
    require<ConfigError>(!model.directory.empty(), path, "[model.{}] has no path", model.name);
    require_option(model.beam >= 0 && model.beam <= 1024, path, "beam", model.beam, "0 to 1024");
    require<ConfigError>(model.drafts.by != Drafts::none || model.drafts.tokens == 0, path,
                         "[model.{}] has draft_tokens, which have no effect without a draft", model.name);
    model.directory = beside(path, model.directory);
    model.shortlist = beside(path, model.shortlist);
    model.drafts.model = beside(path, model.drafts.model);
    for (std::string& other : model.inference.ensemble) {
      other = beside(path, other);
    }
  }
  for (const KeySettings& key : settings.keys) {
    require<ConfigError>(key.secret.size() >= 16, path, "[key.{}] needs a secret of at least 16 characters", key.name);
  }
  return settings;
}

ModelSettings model_from_option(const std::string& text) {
  const size_t equals = text.find('=');
  require<ConfigError>(equals != std::string::npos && equals > 0 && equals + 1 < text.size(), "--model",
                       "'{}' is not NAME=DIR", text);
  return {.name = text.substr(0, equals), .directory = text.substr(equals + 1), .drafts = {}};
}

bool is_served_name(std::string_view name) {
  constexpr size_t kMostBytes = 200;
  return !name.empty() && name.size() <= kMostBytes &&
         std::ranges::none_of(name, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

void validate(const ServeSettings& settings) {
  require<ConfigError>(!settings.models.empty(), "serve", "there is no model: give --model NAME=DIR, or a --config");
  std::set<std::string> models, keys, secrets;
  for (const ModelSettings& model : settings.models) {
    validate_model(model);
    require<ConfigError>(models.insert(model.name).second, "serve", "two models are called '{}'", model.name);
  }
  for (const KeySettings& key : settings.keys) {
    keys.insert(key.name);
    require<ConfigError>(secrets.insert(key.secret).second, "serve", "[key.{}] has the secret of another key",
                         key.name);
  }
  for (const std::string& origin : settings.origins) {
    require<ConfigError>(is_origin(origin), "serve",
                         "the origin '{}' is not * or SCHEME://HOST, with a :PORT if need be", origin);
  }
  require_all(models, "model");
  require_all(keys, "key");
  const auto check = [](std::string_view name, int64_t value, int64_t least, int64_t most) {
    require_option(value >= least && value <= most, "serve", name, value, fmt::format("{} to {}", least, most));
  };
  for (const KeySettings& key : settings.keys) {
    check("requests_per_minute", key.requests_per_minute, 0, int64_t{1} << 50);
    check("tokens_per_day", key.tokens_per_day, 0, int64_t{1} << 50);
    check("max_priority", key.max_priority, 0, 1000);
  }
  require<ConfigError>(settings.certificate.empty() == settings.private_key.empty(), "serve",
                       "TLS needs both a certificate and a private_key");
  check("requests", settings.requests, 1, 65536);
  check("request_seconds", settings.request_seconds, 1, 86400);
  check("drain_seconds", settings.drain_seconds, 0, 86400);
  check("texts", settings.texts, 1, 1000000);
  check("max_tokens", settings.max_tokens, 1, 1000000);
  check("sequences", settings.sequences, 1, 1000000000);
  check("model_bytes", settings.model_bytes, 0, int64_t{1} << 50);
}

}  // namespace heed::serve
