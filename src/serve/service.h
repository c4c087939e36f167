// The server: which request goes where, who may ask, what is refused, and when it ends.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "serve/call.h"
#include "serve/http/http_server.h"
#include "serve/operation/access_log.h"
#include "serve/operation/quotas.h"
#include "serve/operation/request_threads.h"

namespace heed::serve {

class Service final : public HttpHandler {
 public:
  // Reads the settings anew, for SIGHUP.
  using Reread = std::function<ServeSettings()>;

  // Loads the models. Throws where one can't be loaded, before anything is listened on.
  explicit Service(ServeSettings settings, Reread reread = {});

  // Listens and serves until a signal ends it: SIGTERM and SIGINT let requests under way finish, a second one does not.
  // `ready` is called with the address when requests are accepted.
  void run(const std::function<void(const std::string& address)>& ready);
  // Whether it has ended while requests that were cut off are still being answered, in what nothing interrupts, such as
  // the tokenizer's way through a long text. The destructor waits for that; a process that ends need not.
  bool leaves_work() const { return threads_.working() > 0; }
  void finish_log() { log_.finish(); }

  // What the signals do; from any thread.
  void stop();
  void reread_settings();

  void handle(std::shared_ptr<Exchange> exchange) override;
  void refuse(std::shared_ptr<Exchange> exchange, unsigned status, std::string_view why) override;

 private:
  // What is logged of a request beside what its exchange knows.
  struct LogEntry {
    std::string model, key;
    int64_t read = 0, written = 0;
  };

  std::shared_ptr<LogEntry> log_when_over(Exchange& exchange);
  void log(const Exchange& exchange, const LogEntry& entry);
  void answer(Call& call, const Route& route, LogEntry& entry);
  void finish(Call& call, const Route& route, LogEntry& entry);
  bool answer_here(Exchange& exchange);
  const Route* route_of(Exchange& exchange);
  bool admit_key(Exchange& exchange, const KeySettings*& key);
  void admit_field(Call& call, Admission admission);
  void refuse_exchange(Exchange& exchange, unsigned status, std::string_view why);
  void end();
  void cut_off();
  void reload();
  void end_reload(const std::shared_ptr<const ServeSettings>& settings);
  void take(const std::shared_ptr<const ServeSettings>& settings);
  void use_tls(const ServeSettings& settings);
  std::string metrics() const;
  HttpAnswer refusal(const HttpRequest& request, const Failure& failure);
  std::vector<HttpHeader> headers_of_origin(const HttpRequest& request) const;

  // Settings that are read again take the place of these; requests under way keep those that they began with.
  std::shared_ptr<const ServeSettings> settings_;
  const Reread reread_;
  ModelStore models_;
  Metrics metrics_;
  Quotas quotas_;
  const Routes routes_;
  AccessLog log_;
  HttpServer http_;
  bool is_ending_ = false, is_reloading_ = false, reloads_again_ = false;
  RequestThreads threads_;  // the last: its threads use all of the above
};

}  // namespace heed::serve
