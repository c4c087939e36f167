// A request on its way through an interface: what it may use, when it must end, and what is counted.
#pragma once

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "heed/types/interruption.h"
#include "heed/types/reading/reading.h"
#include "heed/types/sharing.h"
#include "serve/http/exchange.h"
#include "serve/json/fields.h"
#include "serve/models/model_store.h"
#include "serve/operation/metrics.h"
#include "serve/settings/serve_settings.h"

namespace heed::serve {

// What requests share. The settings are those that the server had when the request came.
struct ServerState {
  std::shared_ptr<const ServeSettings> settings;
  ModelStore& models;
  Metrics& metrics;
};

// How an interface says what is wrong.
enum class ErrorForm : uint8_t { openai, libretranslate, embeddings, heed };
struct Failure {
  unsigned status;
  std::string message, field;
  std::chrono::seconds retry_after = kRetryAfter;  // of 429 and 503
  std::string_view reason = {};                    // for the metrics; empty: what the status says
};
HttpAnswer answer_of(const Failure& failure, ErrorForm form);
std::string_view reason_of(const Failure& failure);  // as the metrics name it
inline constexpr std::string_view kQuotaIsUsedUp = "quota", kIsEnding = "shutting_down";

class Call {
 public:
  Call(std::shared_ptr<Exchange> exchange, ServerState state, const KeySettings* key);

  const HttpRequest& request() const { return exchange_->request(); }
  Exchange& exchange() { return *exchange_; }
  const ServeSettings& settings() const { return *state_.settings; }
  ModelStore& models() { return state_.models; }
  const KeySettings* key() const { return key_; }  // null where everybody may ask and nobody has said who
  void use_key(const KeySettings* key) { key_ = key; }

  // The model of this name, or the only one where the name is empty. RequestError where there is none or where the key
  // may not use it.
  const ServedModel& model(const std::string& name);
  // The model of this name or, where the name is empty, the only one of this kind that the key may use.
  const ServedModel& model(const std::string& name, ModelKind kind);
  bool may_use(const std::string& model) const;

  // Ends the work when the client has gone or the time is over: request_seconds, or what the header Heed-Timeout says.
  Interruption interruption() const;
  // The same for models that only read.
  // What is read is counted.
  ReadingOptions reading();
  // Clients take turns, by key or else by address. The priority is that of the header Heed-Priority, at most the key's.
  Sharing sharing() const;

  // Records that a token of a text was written, by the text's number among those of the call. Any thread may call it,
  // but only one at a time.
  void count_token(size_t text);
  void count(int64_t read, int64_t written);
  // Records when a text's first token was there, if there was one, where tokens are not counted one by one.
  void observe_first_token(std::optional<std::chrono::steady_clock::time_point> when);

  void answer(const Json& body, unsigned status = 200);
  // Events of a stream, with a name or without: the first one begins the answer.
  void send_event(std::string_view data, std::string_view name = {});
  void end_events(std::string_view last = {});
  // What an exception of a handler means for the client, who is told models' names in place of their directories.
  Failure failure_of(const std::exception& error, ErrorForm form) const;

  // For the log and the metrics.
  const std::string& model_name() const { return model_name_; }
  int64_t read() const { return read_; }
  int64_t written() const { return written_; }

 private:
  std::shared_ptr<Exchange> exchange_;
  const ServerState state_;
  const KeySettings* key_;
  std::shared_ptr<const ServedModel> model_;
  std::string model_name_;
  std::atomic<int64_t> read_ = 0, written_ = 0;
  std::vector<std::chrono::steady_clock::time_point> last_tokens_;  // of each text; none: {}
};

// Who may ask where the settings have keys: those that have one, or everybody. A key that is given must be right.
enum class Admission : uint8_t { by_key, open };

// One path of an interface.
struct Route {
  std::string_view method, path;  // a path that ends with "/*" stands for all that begin so
  ErrorForm errors;
  std::string_view interface;  // for the metrics
  void (*handle)(Call& call);
  Admission admission = Admission::by_key;
};
using Routes = std::vector<Route>;

}  // namespace heed::serve
