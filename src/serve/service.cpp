#include "serve/service.h"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <iostream>
#include <utility>

#include "base/errors.h"
#include "serve/libretranslate/request_fields.h"
#include "serve/operation/model_readings.h"
#include "serve/page/page_files.h"
#include "serve/routes.h"
#include "serve/system/system_service.h"

namespace heed::serve {
namespace {

using Seconds = std::chrono::duration<double>;

constexpr std::chrono::seconds kIdleTime{20};  // of a thread that has no request
constexpr std::chrono::seconds kTellTime{1};   // for what is said to those whose requests are cut off
const Failure kEnding{.status = 503, .message = "the server is shutting down", .field = "", .reason = kIsEnding};

Routes all_routes() {
  Routes all;
  for (Routes (*const of_interface)() : {heed_routes, openai_routes, libretranslate_routes, embeddings_routes}) {
    const Routes some = of_interface();
    all.insert(all.end(), some.begin(), some.end());
  }
  return all;
}

bool is_at(const Route& route, std::string_view path) {
  return route.path.ends_with("/*")
             ? path.starts_with(route.path.substr(0, route.path.size() - 1)) && path.size() >= route.path.size()
             : path == route.path;
}

// Looks at every character of the first one, so that the time does not tell how many of the second one are right.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

std::string time_of_day() {
  const std::time_t seconds = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text.data(), length};
}

double seconds_since(std::chrono::steady_clock::time_point time) {
  return Seconds(std::chrono::steady_clock::now() - time).count();
}

constexpr std::string_view kKeyIsUsedUp = "the key has used up its quota";

// Null where there is none with this secret. All are compared, so that the time does not tell which.
const KeySettings* key_with(std::string_view secret, const ServeSettings& settings) {
  const KeySettings* key = nullptr;
  for (const KeySettings& one : settings.keys) {
    key = equal_in_constant_time(one.secret, secret) ? &one : key;
  }
  return key;
}

constexpr std::string_view kBearer = "Bearer ";

std::string_view secret_of(const HttpRequest& request) {
  const std::string_view header = request.header("Authorization");
  return header.starts_with(kBearer) ? header.substr(kBearer.size()) : request.header("X-Api-Key");
}

}  // namespace

Service::Service(ServeSettings settings, Reread reread)
    : settings_(std::make_shared<const ServeSettings>(std::move(settings))),
      reread_(std::move(reread)),
      models_(settings_->model_bytes),
      routes_(all_routes()),
      http_(*this, settings_->http),
      threads_(settings_->requests, kIdleTime, [this](std::function<void()> what) { http_.post(std::move(what)); }) {
  validate(*settings_);
  log_.open(settings_->access_log);
  for (const ModelSettings& model : settings_->models) {
    models_.load(model);
  }
}

void Service::run(const std::function<void(const std::string& address)>& ready) {
  const std::string& listen = settings_->listen;
  use_tls(*settings_);
  const std::string host = listen.substr(0, listen.rfind(':') + 1);
  std::string address;
  const std::vector<int> sockets = sockets_of_system();
  for (const int socket : sockets) {
    http_.adopt(socket);
    address = "the socket that systemd has handed over";
  }
  if (sockets.empty()) {
    address = fmt::format("{}://{}{}", settings_->certificate.empty() ? "http" : "https",
                          host == ":" ? "0.0.0.0:" : host, http_.listen(listen));
  }
  for (const int signal : {SIGTERM, SIGINT}) {
    http_.on_signal(signal, [this] { end(); });
  }
  http_.on_signal(SIGHUP, [this] { reload(); });
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);  // a log that may not grow
  ready(address);
  allow_open_files();
  tell_system("READY=1");
  http_.run();
}

void Service::stop() {
  http_.post([this] { end(); });
}

void Service::reread_settings() {
  http_.post([this] { reload(); });
}

void Service::end() {
  if (std::exchange(is_ending_, true)) {
    cut_off();
    return;
  }
  tell_system("STOPPING=1");
  http_.drain();
  http_.after(std::chrono::seconds(settings_->drain_seconds), [this] { cut_off(); });
}

// Those who still wait are told so, as soon as the steps under way are done.
void Service::cut_off() {
  http_.cut_off();
  http_.after(kTellTime, [this] { http_.stop(); });
}

// Loads all models of the settings anew, since their files may be others, and drops those that are not there any more.
// Where something is wrong, the settings stay as they were, beside models that were loaded before. One at a time: what
// comes meanwhile, however often, is done once after it.
void Service::reload() {
  if (!reread_ || is_ending_) {
    return;
  }
  if (std::exchange(is_reloading_, true)) {
    reloads_again_ = true;
    return;
  }
  const bool began = threads_.try_run([this, former = settings_] {
    std::shared_ptr<const ServeSettings> taken;
    try {
      const auto settings = std::make_shared<const ServeSettings>(reread_());
      validate(*settings);
      models_.load_all(settings->models);
      for (const ModelSettings& model : former->models) {
        if (std::ranges::find(settings->models, model.name, &ModelSettings::name) == settings->models.end()) {
          models_.drop(model.name);
        }
      }
      taken = settings;
    } catch (const std::exception& error) {
      std::cerr << fmt::format("heed: the settings stay as they were: {}\n", error.what());
    }
    http_.post([this, taken] { end_reload(taken); });
  });
  if (!began) {
    is_reloading_ = false;
    std::cerr << "heed: the settings stay as they were: there are too many requests at the moment\n";
  }
}

// Runs on the server's thread. Null where the settings stay.
void Service::end_reload(const std::shared_ptr<const ServeSettings>& settings) {
  is_reloading_ = false;
  if (settings) {
    take(settings);
  }
  if (std::exchange(reloads_again_, false)) {
    reload();
  }
}

void Service::take(const std::shared_ptr<const ServeSettings>& settings) {
  try {
    use_tls(*settings);
    log_.open(settings->access_log);
    settings_ = settings;
    std::cerr << "heed: the settings were read again\n";
  } catch (const Error& error) {
    std::cerr << fmt::format("heed: the settings stay as they were, except for the models: {}\n", error.what());
  }
}

void Service::use_tls(const ServeSettings& settings) {
  if (!settings.certificate.empty()) {
    http_.use_tls({settings.certificate, settings.private_key});
  }
}

HttpAnswer Service::refusal(const HttpRequest& request, const Failure& failure) {
  metrics_.count_refusal(reason_of(failure), "");
  const auto route = std::ranges::find_if(routes_, [&](const Route& one) { return is_at(one, request.path()); });
  const ErrorForm form = route != routes_.end()               ? route->errors
                         : request.path().starts_with("/v1/") ? ErrorForm::openai
                                                              : ErrorForm::heed;
  return answer_of(failure, form);
}

void Service::refuse(std::shared_ptr<Exchange> exchange, unsigned status, std::string_view why) {
  log_when_over(*exchange);
  exchange->add_headers(headers_of_origin(exchange->request()));
  refuse_exchange(*exchange, status, why);
}

void Service::refuse_exchange(Exchange& exchange, unsigned status, std::string_view why) {
  exchange.answer(refusal(exchange.request(), {status, std::string(why), ""}));
}

// For pages of other origins that may ask.
std::vector<HttpHeader> Service::headers_of_origin(const HttpRequest& request) const {
  const std::string_view origin = request.header("Origin");
  const bool is_allowed =
      std::ranges::any_of(settings_->origins, [&](const std::string& one) { return one == "*" || one == origin; });
  if (!is_allowed || origin.empty()) {
    return {};
  }
  return {{"Access-Control-Allow-Origin", std::string(origin)}, {"Vary", "Origin"}};
}

void Service::handle(std::shared_ptr<Exchange> exchange) {
  const KeySettings* key = nullptr;
  exchange->add_headers(headers_of_origin(exchange->request()));
  if (answer_here(*exchange)) {
    return;
  }
  const std::shared_ptr<LogEntry> entry = log_when_over(*exchange);
  const Route* const route = route_of(*exchange);
  if (route == nullptr) {
    return;
  }
  const bool has_key_in_fields = route->errors == ErrorForm::libretranslate && secret_of(exchange->request()).empty();
  const bool is_admitted = has_key_in_fields || admit_key(*exchange, key);
  entry->key = key == nullptr ? "" : key->name;
  if (!is_admitted) {
    return;
  }
  if (is_ending_) {
    exchange->answer(refusal(exchange->request(), kEnding));
    return;
  }
  const auto call = std::make_shared<Call>(exchange, ServerState{settings_, models_, metrics_}, key);
  if (!threads_.try_run([this, call, route, entry] { answer(*call, *route, *entry); })) {
    refuse_exchange(*exchange, 429, "there are too many requests at the moment");
  }
}

// What needs no model and no key is answered by the server's thread, however busy the models are.
bool Service::answer_here(Exchange& exchange) {
  const HttpRequest& request = exchange.request();
  const std::string_view path = request.path();
  if (request.method == "OPTIONS") {  // browsers send it without a key
    HttpAnswer answer{.status = 204, .type = ""};
    answer.headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"},
                      // Clients in pages send headers of their own kind.
                      {"Access-Control-Allow-Headers", std::string(request.header("Access-Control-Request-Headers"))},
                      {"Access-Control-Max-Age", "600"}};
    exchange.answer(std::move(answer));
  } else if (path == "/health") {
    exchange.answer({.body = "{\"status\": \"ok\"}\n"});
  } else if (path == "/ready") {
    exchange.answer({.status = is_ending_ ? 503U : 200U,
                     .body = fmt::format("{{\"status\": \"{}\"}}\n", is_ending_ ? "ending" : "ok")});
  } else if (path == "/metrics") {
    exchange.answer({.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics()});
  } else if (std::optional<HttpAnswer> file = page_file(request)) {
    exchange.answer(std::move(*file));
  } else {
    return false;
  }
  return true;
}

// Null where the request was refused.
const Route* Service::route_of(Exchange& exchange) {
  const HttpRequest& request = exchange.request();
  const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
  bool is_known = false;
  for (const Route& route : routes_) {
    if (is_at(route, request.path())) {
      is_known = true;
      if (route.method == method) {
        return &route;
      }
    }
  }
  refuse_exchange(exchange, is_known ? 405 : 404,
                  is_known ? "this path does not take this method" : "there is nothing at this path");
  return nullptr;
}

// False where the request was refused.
bool Service::admit_key(Exchange& exchange, const KeySettings*& key) {
  if (settings_->keys.empty()) {
    return true;
  }
  const std::string_view secret = secret_of(exchange.request());
  key = key_with(secret, *settings_);
  if (key == nullptr) {
    refuse_exchange(exchange, 401, secret.empty() ? "a key is needed" : "the key is not known");
    return false;
  }
  if (const auto wait = quotas_.begin(*key)) {
    exchange.answer(refusal(exchange.request(), {429, std::string(kKeyIsUsedUp), "", *wait, kQuotaIsUsedUp}));
    return false;
  }
  return true;
}

// LibreTranslate's clients have their key among the fields, which the server's thread does not read.
void Service::admit_field(Call& call, Admission admission) {
  const std::string secret = api_key_of(call.request());
  if (secret.empty() && admission == Admission::open) {
    return;
  }
  const KeySettings* const key = key_with(secret, call.settings());
  if (key == nullptr) {
    throw RequestError(secret.empty() ? 400 : 403, "api_key",
                       secret.empty() ? "a key is needed" : "the key is not known");
  }
  if (const auto wait = quotas_.begin(*key)) {
    throw RequestError(429, "api_key", std::string(kKeyIsUsedUp), *wait);
  }
  call.use_key(key);
}

void Service::answer(Call& call, const Route& route, LogEntry& entry) {
  Exchange& exchange = call.exchange();
  Failure failure{.status = 0, .message = "", .field = ""};
  try {
    if (call.key() == nullptr && !call.settings().keys.empty()) {
      admit_field(call, route.admission);
    }
    route.handle(call);
    if (!exchange.has_begun()) {
      failure = {500, "the server failed", ""};
    }
  } catch (const std::exception& error) {
    failure = call.failure_of(error, route.errors);
    if (exchange.is_cut_off()) {
      failure = kEnding;
    } else if (exchange.gone().stop_requested()) {
      failure = {499, "the client has gone", ""};
    } else if (failure.status == 500) {
      std::cerr << fmt::format("heed: {}: {}\n", exchange.request().path(), error.what());
    }
  }
  if (failure.status != 0) {
    if (failure.status != 499) {  // a client that has gone was not refused
      metrics_.count_refusal(reason_of(failure), call.model_name());
    }
    HttpAnswer answer = answer_of(failure, route.errors);
    if (exchange.has_begun()) {
      // Its status was sent already, so the stream says what happened.
      call.end_events(std::string_view(answer.body).substr(0, answer.body.size() - 1));
    } else {
      exchange.answer(std::move(answer));
    }
  }
  finish(call, route, entry);
}

void Service::finish(Call& call, const Route& route, LogEntry& entry) {
  const Exchange& exchange = call.exchange();
  metrics_.count_request(route.interface, call.model_name(), exchange.status());
  metrics_.observe(Latency::whole, call.model_name(), seconds_since(exchange.began()));
  metrics_.count_tokens(call.model_name(), call.read(), call.written());
  if (call.key() != nullptr) {
    quotas_.count_tokens(*call.key(), call.read() + call.written());
    entry.key = call.key()->name;
  }
  entry.model = call.model_name();
  entry.read = call.read();
  entry.written = call.written();
}

std::shared_ptr<Service::LogEntry> Service::log_when_over(Exchange& exchange) {
  auto entry = std::make_shared<LogEntry>();
  exchange.when_over([this, entry](const Exchange& over) { log(over, *entry); });
  return entry;
}

void Service::log(const Exchange& exchange, const LogEntry& entry) {
  if (!log_.is_open()) {
    return;
  }
  Json line{{"time", time_of_day()},
            {"method", exchange.request().method},
            {"path", exchange.request().path()},
            {"status", exchange.status()},
            {"seconds", seconds_since(exchange.began())},
            {"model", entry.model},
            {"read", entry.read},
            {"written", entry.written},
            {"bytes", exchange.sent()}};
  if (!entry.key.empty()) {
    line["key"] = entry.key;
  }
  log_.write(to_text(line) + "\n");
}

std::string Service::metrics() const {
  Metrics::Readings readings{
      .gauges = {{"heed_connections", "Open connections", "", static_cast<double>(http_.connections())},
                 {"heed_requests", "Requests that are waiting or being answered", "",
                  static_cast<double>(threads_.working())}}};
  add_model_readings(models_.list(), readings);
  return metrics_.text(readings);
}

}  // namespace heed::serve
