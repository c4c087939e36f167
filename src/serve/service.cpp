#include "serve/service.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <ctime>
#include <iostream>
#include <iterator>
#include <utility>

#include "base/errors.h"
#include "serve/routes.h"
#include "serve/system/system_service.h"

namespace heed::serve {
namespace {

using Seconds = std::chrono::duration<double>;

Routes all_routes() {
  Routes all;
  for (Routes (*const of_interface)() : {heed_routes, openai_routes}) {
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

// As many as the other has: how much of it is right does not show in the time it takes.
bool equal_in_constant_time(std::string_view a, std::string_view b) {
  unsigned difference = a.size() == b.size() ? 0 : 1;
  for (size_t i = 0; i < a.size(); ++i) {
    difference |= static_cast<unsigned char>(a[i]) ^ static_cast<unsigned char>(b.empty() ? 0 : b[i % b.size()]);
  }
  return difference == 0;
}

constexpr std::string_view kBearer = "Bearer ";

std::string_view secret_of(const HttpRequest& request) {
  const std::string_view header = request.header("Authorization");
  return header.starts_with(kBearer) ? header.substr(kBearer.size()) : request.header("X-Api-Key");
}

std::string time_of_day() {
  const auto now = std::chrono::system_clock::now();
  const std::time_t seconds = std::chrono::system_clock::to_time_t(now);
  std::tm utc{};
  gmtime_r(&seconds, &utc);
  std::array<char, 32> text{};
  const size_t length = std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc);
  return {text.data(), length};
}

}  // namespace

Service::Service(ServeSettings settings)
    : settings_(std::move(settings)),
      models_(settings_.model_bytes),
      routes_(all_routes()),
      http_(*this, settings_.http),
      threads_(settings_.requests) {
  validate(settings_);
  if (!settings_.access_log.empty() && settings_.access_log != "-") {
    log_file_.open(settings_.access_log, std::ios::app);
    require<IoError>(log_file_.is_open(), settings_.access_log, "cannot be opened for writing");
  }
  for (const ModelSettings& model : settings_.models) {
    models_.load(model);
  }
}

void Service::run(const std::function<void(const std::string& address)>& ready) {
  const std::string host = settings_.listen.substr(0, settings_.listen.rfind(':') + 1);
  std::string address;
  const std::vector<int> sockets = sockets_of_system();
  for (const int socket : sockets) {
    http_.adopt(socket);
    address = "the socket of the system";
  }
  if (sockets.empty()) {
    address = fmt::format("http://{}{}", host == ":" ? "0.0.0.0:" : host, http_.listen(settings_.listen));
  }
  for (const int signal : {SIGTERM, SIGINT}) {
    http_.on_signal(signal, [this] { end(); });
  }
  std::signal(SIGPIPE, SIG_IGN);
  ready(address);
  tell_system("READY=1");
  http_.run();
}

void Service::end() {
  if (std::exchange(is_ending_, true)) {
    http_.stop();
    return;
  }
  tell_system("STOPPING=1");
  http_.drain();
  http_.after(std::chrono::seconds(settings_.drain_seconds), [this] { http_.stop(); });
}

HttpAnswer Service::refuse(const HttpRequest& request, unsigned status, std::string_view why) {
  metrics_.count_refusal(fmt::format("{}", status));
  const auto route = std::ranges::find_if(routes_, [&](const Route& one) { return is_at(one, request.path()); });
  const ErrorForm form = route != routes_.end()               ? route->errors
                         : request.path().starts_with("/v1/") ? ErrorForm::openai
                                                              : ErrorForm::heed;
  HttpAnswer answer = answer_of({status, std::string(why), ""}, form);
  add_origin(request, answer);
  return answer;
}

void Service::add_origin(const HttpRequest& request, HttpAnswer& answer) const {
  const std::string_view origin = request.header("Origin");
  const bool is_allowed = std::ranges::any_of(
      settings_.origins, [&](const std::string& one) { return one == "*" || (!origin.empty() && one == origin); });
  if (is_allowed && !origin.empty()) {
    answer.headers.push_back({"Access-Control-Allow-Origin", std::string(origin)});
    answer.headers.push_back({"Vary", "Origin"});
  }
}

void Service::handle(std::shared_ptr<Exchange> exchange) {
  const HttpRequest& request = exchange->request();
  const std::string_view path = request.path();
  const auto refuse_it = [&](unsigned status, std::string_view why) { exchange->answer(refuse(request, status, why)); };
  if (request.method == "OPTIONS") {  // before any key: browsers send none
    HttpAnswer answer{.status = 204, .type = ""};
    answer.headers = {{"Access-Control-Allow-Methods", "GET, POST, DELETE, OPTIONS"},
                      {"Access-Control-Allow-Headers", "Authorization, Content-Type, X-Api-Key"},
                      {"Access-Control-Max-Age", "600"}};
    add_origin(request, answer);
    exchange->answer(std::move(answer));
    return;
  }
  if (path == "/health") {
    exchange->answer({.body = "{\"status\": \"ok\"}\n"});
    return;
  }
  if (path == "/ready") {
    exchange->answer({.status = is_ending_ ? 503U : 200U,
                      .body = is_ending_ ? "{\"status\": \"ending\"}\n" : "{\"status\": \"ok\"}\n"});
    return;
  }
  if (path == "/metrics") {
    exchange->answer({.type = "text/plain; version=0.0.4; charset=utf-8", .body = metrics()});
    return;
  }
  const Route* route = nullptr;
  bool is_known = false;
  for (const Route& one : routes_) {
    if (is_at(one, path)) {
      is_known = true;
      const std::string_view method = request.method == "HEAD" ? "GET" : std::string_view(request.method);
      route = one.method == method ? &one : route;
    }
  }
  if (route == nullptr) {
    refuse_it(is_known ? 405 : 404, is_known ? "this path takes another method" : "there is nothing at this path");
    return;
  }
  const KeySettings* key = nullptr;
  if (!settings_.keys.empty()) {
    const std::string_view secret = secret_of(request);
    for (const KeySettings& one : settings_.keys) {
      key = equal_in_constant_time(one.secret, secret) ? &one : key;
    }
    if (key == nullptr) {
      refuse_it(401, secret.empty() ? "a key is needed" : "the key is not known");
      return;
    }
  }
  if (is_ending_) {
    refuse_it(503, "the server is ending");
  } else if (!threads_.try_run([this, exchange, route, key] { answer(exchange, *route, key); })) {
    refuse_it(429, "there are too many requests at the moment");
  }
}

void Service::answer(const std::shared_ptr<Exchange>& exchange, const Route& route, const KeySettings* key) {
  Call call(exchange, parts_, key);
  Failure failure{};
  try {
    route.handle(call);
  } catch (const std::exception& error) {
    failure = failure_of(error);
    if (exchange->gone().stop_requested()) {
      failure = {499, "the client has gone", ""};
    } else if (failure.status == 500) {
      std::cerr << fmt::format("heed: {}: {}\n", exchange->request().path(), error.what());
    }
  }
  if (failure.status != 0 && exchange->has_begun()) {
    // Its status was sent already, so the stream says what happened.
    std::string body = answer_of(failure, route.errors).body;
    body.pop_back();  // its line break, which would end the event too early
    call.end_events(body);
  } else if (failure.status != 0) {
    HttpAnswer answer = answer_of(failure, route.errors);
    add_origin(exchange->request(), answer);
    exchange->answer(std::move(answer));
  } else if (!exchange->has_begun()) {
    exchange->answer(answer_of({500, "the server failed", ""}, route.errors));
  }
  finish(*exchange, call, route);
}

void Service::finish(const Exchange& exchange, const Call& call, const Route& route) {
  const double seconds = Seconds(std::chrono::steady_clock::now() - exchange.began()).count();
  metrics_.count_request(route.interface, call.model_name(), exchange.status());
  metrics_.observe(Latency::whole, call.model_name(), seconds);
  metrics_.count_tokens(call.model_name(), call.read(), call.written());
  if (settings_.access_log.empty()) {
    return;
  }
  Json line{{"time", time_of_day()},
            {"method", exchange.request().method},
            {"path", exchange.request().path()},
            {"status", exchange.status()},
            {"seconds", seconds},
            {"model", call.model_name()},
            {"read", call.read()},
            {"written", call.written()},
            {"bytes", exchange.body_bytes()}};
  if (call.key() != nullptr) {
    line["key"] = call.key()->name;
  }
  std::string text = line.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
  http_.post([this, text = std::move(text)] {
    std::ostream& out = log_file_.is_open() ? static_cast<std::ostream&>(log_file_) : std::cout;
    out << text << std::flush;
  });
}

std::string Service::metrics() const {
  std::vector<Metrics::Gauge> gauges{
      {"heed_connections", "Open connections", "", static_cast<double>(http_.connections())},
      {"heed_requests", "Requests that are waiting or being answered", "", static_cast<double>(threads_.working())}};
  for (const ModelStore::Known& known : models_.list()) {
    gauges.push_back({"heed_model_loaded", "Whether a model is in memory",
                      fmt::format("model=\"{}\"", known.settings.name), known.model ? 1.0 : 0.0});
  }
  return metrics_.text(gauges);
}

}  // namespace heed::serve
