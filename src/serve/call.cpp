#include "serve/call.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <functional>
#include <new>
#include <system_error>
#include <utility>

#include "serve/json/option_fields.h"

namespace heed::serve {
namespace {

using Seconds = std::chrono::duration<double>;

// What OpenAI's interface calls it.
std::string_view openai_type(unsigned status) {
  switch (status) {
    case 401:
      return "authentication_error";
    case 403:
      return "permission_error";
    case 404:
      return "not_found_error";
    case 429:
      return "rate_limit_error";
    default:
      return status >= 500 ? "server_error" : "invalid_request_error";
  }
}

std::string_view embeddings_type(unsigned status) {
  switch (status) {
    case 413:
    case 422:
      return "Validation";
    case 429:
      return "Overloaded";
    case 401:
    case 403:
      return "Unauthorized";
    default:
      return status >= 500 ? "Backend" : "Validation";
  }
}

Json body_of(const Failure& failure, ErrorForm form) {
  const Json field = failure.field.empty() ? Json() : Json(failure.field);
  switch (form) {
    case ErrorForm::openai:
      return {{"error",
               {{"message", failure.message},
                {"type", openai_type(failure.status)},
                {"param", field},
                {"code", failure.status == 404 ? Json("not_found") : Json()}}}};
    case ErrorForm::libretranslate:
      return {{"error", failure.message}};
    case ErrorForm::embeddings:
      return {{"error", failure.message}, {"error_type", embeddings_type(failure.status)}};
    default:
      return {{"error", {{"message", failure.message}, {"field", field}}}};
  }
}

// A header's number. RequestError where it is none, or out of range.
std::optional<double> number_in(const HttpRequest& request, std::string_view name, double least, double most) {
  const std::string_view text = request.header(name);
  if (text.empty()) {
    return std::nullopt;
  }
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || !(value >= least && value <= most)) {
    refuse_field(std::string(name), "is '{}', expected a number from {} to {}", text, least, most);
  }
  return value;
}

// What the system says where a process may have no more memory or threads.
bool lacks_resources(const std::exception& error) {
  const auto* const of_system = dynamic_cast<const std::system_error*>(&error);
  return dynamic_cast<const MemoryError*>(&error) != nullptr ||
         (of_system != nullptr && (of_system->code() == std::errc::resource_unavailable_try_again ||
                                   of_system->code() == std::errc::not_enough_memory));
}

}  // namespace

Call::Call(std::shared_ptr<Exchange> exchange, ServerState state, const KeySettings* key)
    : exchange_(std::move(exchange)), state_(std::move(state)), key_(key) {}

bool Call::may_use(const std::string& model) const {
  return key_ == nullptr || key_->models.empty() || std::ranges::find(key_->models, model) != key_->models.end();
}

const ServedModel& Call::model(const std::string& name) {
  model_ = state_.models.find(name);
  if (!may_use(model_->name())) {
    throw RequestError(403, "model", fmt::format("model: the key may not use '{}'", model_->name()));
  }
  model_name_ = model_->name();
  return *model_;
}

const ServedModel& Call::model(const std::string& name, ModelKind kind) {
  if (!name.empty()) {
    return model(name);
  }
  std::vector<std::string> names;
  for (const ModelStore::Known& known : state_.models.list()) {
    if (known.kind == kind && may_use(known.settings.name)) {
      names.push_back(known.settings.name);
    }
  }
  if (names.size() > 1) {
    throw RequestError(400, "model", fmt::format("model: is missing, expected one of {}", fmt::join(names, ", ")));
  }
  return model(names.empty() ? "" : names.front());
}

Interruption Call::interruption() const {
  const auto most = static_cast<double>(settings().request_seconds);
  const Seconds time(number_in(request(), "Heed-Timeout", 0.0, most).value_or(most));
  return {.stop = exchange_->gone(),
          .deadline = exchange_->began() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(time)};
}

Sharing Call::sharing() const {
  const int64_t most = key_ == nullptr ? 0 : key_->max_priority;
  constexpr double kLeast = -1000.0;
  const double priority = number_in(request(), "Heed-Priority", kLeast, static_cast<double>(most)).value_or(0.0);
  const std::string& client = key_ == nullptr ? request().address : key_->name;
  return {.priority = static_cast<int>(priority), .client = std::hash<std::string>()(client)};
}

ReadingOptions Call::reading() {
  return {
      .interruption = interruption(), .sharing = sharing(), .on_tokens = [this](int64_t tokens) { count(tokens, 0); }};
}

void Call::count_token(size_t text) {
  last_tokens_.resize(std::max(last_tokens_.size(), text + 1));
  auto& last = last_tokens_[text];
  const auto now = std::chrono::steady_clock::now();
  const bool is_first = last == std::chrono::steady_clock::time_point{};
  const auto since = is_first ? exchange_->began() : last;
  state_.metrics.observe(is_first ? Latency::first_token : Latency::between_tokens, model_name_,
                         Seconds(now - since).count());
  last = now;
}

void Call::observe_first_token(std::optional<std::chrono::steady_clock::time_point> when) {
  if (when) {
    state_.metrics.observe(Latency::first_token, model_name_, Seconds(*when - exchange_->began()).count());
  }
}

void Call::count(int64_t read, int64_t written) {
  read_ += read;
  written_ += written;
}

void Call::answer(const Json& body, unsigned status) {
  exchange_->answer({.status = status, .body = to_text(body) + "\n"});
}

void Call::send_event(std::string_view data, std::string_view name) {
  if (!exchange_->has_begun()) {
    exchange_->begin({.type = "text/event-stream; charset=utf-8",
                      .headers = {{"Cache-Control", "no-cache"}, {"X-Accel-Buffering", "no"}}});
  }
  exchange_->write(name.empty() ? fmt::format("data: {}\n\n", data)
                                : fmt::format("event: {}\ndata: {}\n\n", name, data));
}

void Call::end_events(std::string_view last) {
  if (!last.empty()) {
    send_event(last);
  }
  exchange_->end();
}

std::string_view reason_of(const Failure& failure) {
  constexpr std::array<std::pair<unsigned, std::string_view>, 11> kReasons{{{400, "bad_request"},
                                                                            {401, "no_key"},
                                                                            {403, "forbidden"},
                                                                            {404, "not_found"},
                                                                            {405, "wrong_method"},
                                                                            {408, "slow_request"},
                                                                            {413, "too_large"},
                                                                            {429, "busy"},
                                                                            {431, "large_headers"},
                                                                            {503, "no_memory"},
                                                                            {504, "timeout"}}};
  if (!failure.reason.empty()) {
    return failure.reason;
  }
  const auto known = std::ranges::find(kReasons, failure.status, &std::pair<unsigned, std::string_view>::first);
  return known == kReasons.end() ? "other" : known->second;
}

HttpAnswer answer_of(const Failure& failure, ErrorForm form) {
  HttpAnswer answer{.status = failure.status, .body = to_text(body_of(failure, form)) + "\n"};
  if (failure.status == 429 || failure.status == 503) {
    // 0 would have the client try again at once.
    answer.headers.push_back({"Retry-After", fmt::format("{}", std::max<int64_t>(1, failure.retry_after.count()))});
  }
  if (failure.status == 504) {
    // OpenAI's clients ask again unless they are told otherwise, and it would take as long again.
    answer.headers.push_back({"X-Should-Retry", "false"});
  }
  if (failure.status == 401) {
    answer.headers.push_back({"WWW-Authenticate", "Bearer"});
  }
  return answer;
}

Failure Call::failure_of(const std::exception& error, ErrorForm form) const {
  if (const auto* const request = dynamic_cast<const RequestError*>(&error)) {
    return {request->status(), request->what(), request->field(), request->retry_after(),
            request->status() == 429 ? kQuotaIsUsedUp : ""};
  }
  if (dynamic_cast<const InterruptedError*>(&error) != nullptr) {
    return {504, "the request took too long", ""};
  }
  if (dynamic_cast<const BudgetError*>(&error) != nullptr || dynamic_cast<const std::bad_alloc*>(&error) != nullptr ||
      lacks_resources(error)) {
    return {503, "there is no memory for this request at the moment", ""};
  }
  const auto* const of_request = dynamic_cast<const Error*>(&error);
  if (of_request == nullptr ||
      (dynamic_cast<const ConfigError*>(&error) == nullptr && dynamic_cast<const FormatError*>(&error) == nullptr)) {
    return {500, "the server failed", ""};
  }
  std::string message = error.what();
  if (model_ != nullptr && message.starts_with(model_->settings().directory + ": ")) {
    const std::string what = message.substr(model_->settings().directory.size() + 2);
    return {400, fmt::format("model: {}: {}", model_->name(), what), "model"};
  }
  if (form == ErrorForm::embeddings && dynamic_cast<const TooLongError*>(&error) != nullptr) {
    return {413, message + ": shorten it, or say \"truncate\": true", message.substr(0, message.find(':'))};
  }
  if (form == ErrorForm::heed) {
    if (const auto named = in_words_of_fields(*of_request)) {
      return {400, named->message, named->field};
    }
  }
  return {400, std::move(message), ""};
}

}  // namespace heed::serve
