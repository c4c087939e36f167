// The server: which request goes where, who may ask, what is refused, and when it ends.
#pragma once

#include <atomic>
#include <fstream>
#include <functional>
#include <memory>
#include <string>

#include "serve/call.h"
#include "serve/http/http_server.h"
#include "serve/work/request_threads.h"

namespace heed::serve {

class Service final : public HttpHandler {
 public:
  // Loads the models. Throws where one can't be loaded, before anything is listened on.
  explicit Service(ServeSettings settings);

  // Listens and serves until a signal ends it: SIGTERM and SIGINT let requests under way finish, a second one does not.
  // `ready` is called with the address when requests are accepted.
  void run(const std::function<void(const std::string& address)>& ready);

  void handle(std::shared_ptr<Exchange> exchange) override;
  HttpAnswer refuse(const HttpRequest& request, unsigned status, std::string_view why) override;

 private:
  void answer(const std::shared_ptr<Exchange>& exchange, const Route& route, const KeySettings* key);
  void finish(const Exchange& exchange, const Call& call, const Route& route);
  void end();
  std::string metrics() const;
  void add_origin(const HttpRequest& request, HttpAnswer& answer) const;

  const ServeSettings settings_;
  ModelStore models_;
  Metrics metrics_;
  const ServerParts parts_{settings_, models_, metrics_};
  const Routes routes_;
  std::ofstream log_file_;
  HttpServer http_;
  bool is_ending_ = false;
  RequestThreads threads_;  // the last: its threads use all of the above
};

}  // namespace heed::serve
