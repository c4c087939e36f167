// The settings of a server, from its file and its command line.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "serve/http/http_server.h"
#include "serve/models/model_settings.h"

namespace heed::serve {

// Who may ask. Without keys everybody may.
struct KeySettings {
  std::string name, secret;
  std::vector<std::string> models = {};                 // that it may use; empty: all
  bool administers = false;                             // may load, replace and drop models
  int64_t requests_per_minute = 0, tokens_per_day = 0;  // 0: any number
  int64_t max_priority = 0;                             // that its requests may ask for
};

struct ServeSettings {
  std::string listen = "127.0.0.1:8080";
  std::vector<ModelSettings> models;
  std::vector<KeySettings> keys;
  std::vector<std::string> origins = {};           // whose pages may ask, for CORS; "*": all
  std::string certificate = "", private_key = "";  // files in PEM, for TLS; empty: none
  std::string access_log = "";  // gets a JSON line for each request; "-": standard output; empty: none

  int64_t requests = 256;         // at once, waiting ones included: more are answered with 429
  int64_t request_seconds = 600;  // until a request must be done
  int64_t drain_seconds = 30;     // that requests under way have when the server ends
  int64_t texts = 1024;           // of one request
  int64_t max_tokens = 4096;      // that one request may ask for
  int64_t sequences = 16384;      // that one request may have searched: its texts times the beam
  int64_t model_bytes = 0;        // of all models' files; 0: any number
  HttpLimits http = {};
};

// Reads a file. ConfigError and FormatError name its line.
ServeSettings read_serve_settings(const std::string& path);

// "NAME=DIR". ConfigError for anything else.
ModelSettings model_from_option(const std::string& text);

// Whether a model or a key may have this name.
bool is_served_name(std::string_view name);

// ConfigError where there is no model, two have one name, two keys one secret, or a value makes no sense.
void validate(const ServeSettings& settings);

}  // namespace heed::serve
