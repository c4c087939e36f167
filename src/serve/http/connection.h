// A client's connection: requests one after the other, each with its answer. Everything here belongs to the server's
// thread.
#pragma once

#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "serve/http/http_server.h"
#include "serve/http/stream.h"

namespace heed::serve {

using Clock = std::chrono::steady_clock;

class Connection;

// What a connection needs of its server.
struct ConnectionOwner {
  HttpHandler& handler;
  const HttpLimits& limits;
  bool is_draining = false;
  std::shared_ptr<TlsContext> tls = nullptr;
  std::function<void(Connection&)> remove = {};     // a connection that has ended
  std::function<void(Connection&)> make_room = {};  // for the answer that a connection has begun to send
};

// A read is always under way, also while an answer is made: that is how it is noticed that a client has gone. What a
// client sends ahead is kept up to a limit.
class Connection : public std::enable_shared_from_this<Connection> {
 public:
  Connection(boost::asio::ip::tcp::socket socket, ConnectionOwner& owner);  // by TLS where the owner has a context

  void start();
  // Ends it if it has waited too long for its client, and sends comments into silent streams.
  void look_at_clock(Clock::time_point now);
  // Since when it has waited for a request of which nothing has come.
  std::optional<Clock::time_point> idle_since() const;
  // What its client has not taken yet, and since when it has been sent the present answer.
  size_t held_bytes() const { return out_.size() + sending_.size() - sent_; }
  Clock::time_point sending_since() const { return sending_since_; }
  // Ends it now if it is waiting for a request, else after the present answer.
  void drain();
  void cut_off();
  void close();

 private:
  enum class State : uint8_t { reading, answering, lingering, closed };
  using Parser = boost::beast::http::request_parser<boost::beast::http::string_body>;
  using Error = boost::system::error_code;

  void read();
  void on_read(const Error& error, size_t bytes);
  void parse();
  size_t head_bytes() const;
  bool look_at_head();
  void dispatch();
  void refuse(unsigned status, std::string_view why);
  HttpRequest take_request();
  std::string address();
  void begin_exchange(HttpRequest request);

  void on_chunk();
  void add_head(const HttpAnswer& head, std::optional<size_t> length);
  void add_body(std::string_view part);
  void write();
  void on_written(const Error& error, size_t bytes);
  void finish_answer();
  void linger();

  Stream stream_;
  ConnectionOwner& owner_;
  State state_ = State::reading;
  std::vector<char> incoming_;        // of the read that is under way
  boost::beast::flat_buffer buffer_;  // what was read and has not been parsed
  bool is_reading_ = false, is_writing_ = false;
  Clock::time_point deadline_, last_write_, sending_since_;

  std::optional<Parser> parser_;
  bool has_head_ = false;  // the present request's headers were looked at
  size_t head_bytes_ = 0;  // of them, that the parser has taken

  std::shared_ptr<Exchange> exchange_;
  bool is_head_request_ = false, is_old_version_ = false, keeps_alive_ = true, is_chunked_ = false, is_events_ = false;
  bool is_last_chunk_ = false;
  std::string out_;      // what is written next
  std::string sending_;  // what is being written, from sent_ on: it stays where it is until it has been written
  size_t sent_ = 0;
  size_t out_body_ = 0, sending_body_ = 0;  // bytes of them that are the answer's body
};

}  // namespace heed::serve
