// One request and its answer, between the loop that owns the connection and the thread that makes the answer.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

#include "serve/http/message.h"

namespace heed::serve {

// The side that answers may be any thread, and never waits: what the client has not taken yet is kept, up to a limit.
// The client of an answer that exceeds it is given up.
class Exchange {
 public:
  Exchange(HttpRequest request, size_t max_waiting_bytes)
      : request_(std::move(request)), max_waiting_(max_waiting_bytes), began_(std::chrono::steady_clock::now()) {}
  // Calls what when_over() was given.
  ~Exchange();
  Exchange(const Exchange&) = delete;
  Exchange& operator=(const Exchange&) = delete;

  const HttpRequest& request() const { return request_; }
  std::chrono::steady_clock::time_point began() const { return began_; }
  // Stop is requested when nobody waits for the answer any more, or the work on it was cut off.
  std::stop_token gone() const { return gone_.get_token(); }
  bool is_cut_off() const { return is_cut_off_; }
  bool is_dropped() const;  // the client was too slow
  bool has_begun() const;   // whether an answer was given, or its beginning

  // Headers of whatever answer comes.
  void add_headers(std::vector<HttpHeader> headers);
  // A whole answer. An answer is given once: later calls of this do nothing.
  void answer(HttpAnswer answer);
  // An answer whose body comes in parts: its head and first part, further parts, and its end.
  void begin(HttpAnswer head);
  void write(std::string_view part);
  void end();

  // For the connection: what has come since the last call, and what it is.
  struct Chunk {
    std::optional<HttpAnswer> head;  // where it has not been taken yet
    bool is_whole = false;           // its body is all that comes
    std::string body;                // further parts
    bool is_ended = false;
  };
  Chunk take();
  // `wake` is called, by any thread, when there is something to take.
  void on_chunk(std::function<void()> wake);
  void abandon() { gone_.request_stop(); }
  // Ends the work while the client is still there to be told.
  void cut_off();
  void add_sent(uint64_t body_bytes) { sent_ += body_bytes; }

  // For the log. `what` is called when neither the connection nor the side that answers holds the exchange any more, by
  // the one that held it last. It must not throw.
  void when_over(std::function<void(const Exchange&)> what) { when_over_ = std::move(what); }
  // 499 where the client did not get the whole answer.
  unsigned status() const;
  uint64_t sent() const { return sent_; }  // bytes of the answer's body that went to the client

 private:
  void wake();

  const HttpRequest request_;
  const size_t max_waiting_;
  const std::chrono::steady_clock::time_point began_;
  std::stop_source gone_;
  std::function<void(const Exchange&)> when_over_;
  std::atomic<uint64_t> sent_ = 0;
  std::atomic<bool> is_cut_off_ = false;

  mutable std::mutex mutex_;  // of all below
  std::function<void()> wake_;
  bool is_awake_ = false;            // the connection was told, and has not taken anything yet
  std::vector<HttpHeader> headers_;  // that every answer has
  std::optional<HttpAnswer> head_;
  std::string waiting_;
  unsigned status_ = 0;
  bool is_whole_ = false, is_ended_ = false, is_dropped_ = false;
};

}  // namespace heed::serve
