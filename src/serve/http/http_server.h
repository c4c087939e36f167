// A server of HTTP/1.1: one thread holds all connections.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "serve/http/exchange.h"
#include "serve/http/message.h"

namespace heed::serve {

struct HttpLimits {
  size_t header_bytes = 16 << 10;
  size_t body_bytes = 8 << 20;
  size_t waiting_bytes = 1 << 20;                // of a stream that its client does not read
  size_t answer_bytes = 512 << 20;               // of all answers that clients do not read, when another one comes
  size_t connections = 20000;                    // more are refused
  std::chrono::milliseconds header_time{10000};  // from a request's first byte to the end of its headers
  std::chrono::milliseconds body_time{60000};    // and from there to the end of its body
  std::chrono::milliseconds idle_time{75000};    // between two requests of a connection
  std::chrono::milliseconds stall_time{30000};   // in which a client takes no byte of its answer
  std::chrono::milliseconds ping_time{15000};    // after which a silent stream of events sends a comment
};

// What answers requests. Both are called by the server's thread, and must return soon.
class HttpHandler {
 public:
  virtual ~HttpHandler() = default;

  // May answer later, from any thread.
  virtual void handle(std::shared_ptr<Exchange> exchange) = 0;
  // Answers at once what cannot be handled. The request holds what was understood of it.
  virtual void refuse(std::shared_ptr<Exchange> exchange, unsigned status, std::string_view why) = 0;
};

class HttpServer {
 public:
  // The handler must outlive it.
  HttpServer(HttpHandler& handler, const HttpLimits& limits);
  ~HttpServer();
  HttpServer(const HttpServer&) = delete;
  HttpServer& operator=(const HttpServer&) = delete;

  // Listens on "127.0.0.1:8080", "[::1]:8080", "localhost:8080" or, on all addresses, ":8080"; port 0 is any that is
  // free. Returns the port. ConfigError when it can't.
  int listen(const std::string& address);
  // The same on a socket that listens already.
  void adopt(int socket);

  // From now on connections are by TLS: 1.2 or later. The files are in PEM, the certificate's with its chain. ConfigError
  // when they can't be used.
  struct TlsFiles {
    std::string certificate, key;
  };
  void use_tls(const TlsFiles& files);

  // Serves until it has been told to end and all connections are gone.
  void run();
  // Accepts no more connections, and ends each after the answer that it is waiting for.
  void drain();
  // Ends the work on all answers, and the connections that wait for none.
  void cut_off();
  // Ends all connections at once.
  void stop();

  // Calls `what` from the server's thread, soon; from any thread.
  void post(std::function<void()> what);
  void after(std::chrono::milliseconds time, std::function<void()> what);
  // When the process gets the signal. From the server's thread.
  void on_signal(int signal, std::function<void()> what);

  size_t connections() const;  // now; from the server's thread

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heed::serve
