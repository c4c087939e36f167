#include "serve/http/connection.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>
#include <boost/beast/http/error.hpp>
#include <boost/beast/http/rfc7230.hpp>
#include <utility>

namespace heed::serve {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;

constexpr size_t kFirstRead = 2048, kRead = 65536;  // bytes of a read, before a request has begun and within one
constexpr size_t kMaxAhead = 65536;                 // bytes that a client may send while its answer is made
constexpr size_t kLargeAnswer = 65536;              // smaller ones fit however many connections there are
constexpr std::chrono::milliseconds kLingerTime{2000};
constexpr std::string_view kEvents = "text/event-stream";

unsigned status_of(const boost::system::error_code& error) {
  if (error == http::error::header_limit || error == http::error::buffer_overflow) {
    return 431;
  }
  return error == http::error::body_limit ? 413 : 400;
}

std::string_view why_not(unsigned status) {
  switch (status) {
    case 431:
      return "the headers are too long";
    case 413:
      return "the body is too long";
    default:
      return "this is not an HTTP/1.1 request";
  }
}

}  // namespace

Connection::Connection(asio::ip::tcp::socket socket, ConnectionOwner& owner)
    : stream_(std::move(socket), owner.tls), owner_(owner), last_write_(Clock::now()) {}

void Connection::start() {
  Error ignored;
  stream_.socket().set_option(asio::ip::tcp::no_delay(true), ignored);
  stream_.socket().set_option(asio::socket_base::keep_alive(true), ignored);
  deadline_ = Clock::now() + owner_.limits.idle_time;
  stream_.begin([self = shared_from_this()](const Error& error) {
    if (error) {
      self->close();
    } else {
      self->read();
    }
  });
}

void Connection::look_at_clock(Clock::time_point now) {
  if (state_ == State::answering) {
    if (is_writing_) {
      if (now - last_write_ > owner_.limits.stall_time) {
        close();
      }
    } else if (is_events_ && now - last_write_ > owner_.limits.ping_time) {
      add_body(": \n\n");
      write();
    }
  } else if (now > deadline_) {
    if (state_ == State::reading && parser_ && !is_writing_) {
      refuse(408, "the request took too long to arrive");
    } else {
      close();
    }
  }
}

std::optional<Clock::time_point> Connection::idle_since() const {
  return state_ == State::reading && !parser_ ? std::optional(last_write_) : std::nullopt;
}

void Connection::drain() {
  if (idle_since()) {
    close();
  }
}

void Connection::cut_off() {
  if (exchange_) {
    exchange_->cut_off();
  } else {
    close();
  }
}

void Connection::close() {
  if (state_ == State::closed) {
    return;
  }
  state_ = State::closed;
  if (exchange_) {
    const size_t others = sending_.size() - sending_body_;
    exchange_->add_sent(sent_ - std::min(sent_, others));
    exchange_->abandon();
    exchange_.reset();
  }
  Error ignored;
  stream_.socket().shutdown(asio::ip::tcp::socket::shutdown_both, ignored);
  stream_.socket().close(ignored);
  owner_.remove(*this);
}

void Connection::read() {
  if (is_reading_ || state_ == State::closed || (state_ == State::answering && buffer_.size() >= kMaxAhead)) {
    return;
  }
  is_reading_ = true;
  const size_t size = parser_ ? kRead : kFirstRead;
  if (incoming_.size() != size) {
    incoming_ = std::vector<char>(size);
  }
  stream_.read(asio::buffer(incoming_),
               [self = shared_from_this()](const Error& error, size_t bytes) { self->on_read(error, bytes); });
}

void Connection::on_read(const Error& error, size_t bytes) {
  is_reading_ = false;
  if (state_ == State::closed) {
    return;
  }
  if (error) {
    close();
    return;
  }
  if (state_ != State::lingering) {
    buffer_.commit(asio::buffer_copy(buffer_.prepare(bytes), asio::buffer(incoming_, bytes)));
    parse();
  }
  read();
}

void Connection::parse() {
  while (state_ == State::reading && buffer_.size() > 0) {
    if (!parser_) {
      parser_.emplace();
      parser_->eager(true);
      parser_->header_limit(static_cast<uint32_t>(2 * owner_.limits.header_bytes));
      parser_->body_limit(owner_.limits.body_bytes);
      has_head_ = false;
      head_bytes_ = 0;
      deadline_ = Clock::now() + owner_.limits.header_time;
    }
    if (!parser_->is_header_done() && head_bytes_ + head_bytes() > owner_.limits.header_bytes) {
      refuse(431, why_not(431));
      return;
    }
    Error error;
    const size_t used = parser_->put(buffer_.data(), error);
    buffer_.consume(used);
    head_bytes_ += used;  // while the headers are incomplete, whole lines are taken
    if (error && error != http::error::need_more) {
      refuse(status_of(error), why_not(status_of(error)));
      return;
    }
    if (parser_->is_header_done() && !look_at_head()) {
      return;
    }
    if (parser_->is_done()) {
      dispatch();
    } else if (error || used == 0) {
      if (parser_->is_header_done() && buffer_.size() > owner_.limits.header_bytes) {
        refuse(431, why_not(431));  // a line between two chunks, or what follows the last one
      }
      return;
    }
  }
}

// How much of the request's line and headers is there and has not been taken. The parser's own limit is not exact.
size_t Connection::head_bytes() const {
  constexpr std::string_view kEnd = "\r\n\r\n";
  const std::string_view bytes(static_cast<const char*>(buffer_.data().data()), buffer_.size());
  const size_t end = bytes.find(kEnd);
  return end == std::string_view::npos ? bytes.size() : end + kEnd.size();
}

// Whether the request, whose headers are there, goes on. Bodies that clients ask about are asked for.
bool Connection::look_at_head() {
  if (std::exchange(has_head_, true)) {
    return true;
  }
  deadline_ = Clock::now() + owner_.limits.body_time;
  const auto& head = parser_->get();
  const auto coding = head.find(http::field::transfer_encoding);
  if (coding != head.end() && (head.count(http::field::transfer_encoding) > 1 || head.version() < 11 ||
                               !equal_ignoring_case({coding->value().data(), coding->value().size()}, "chunked"))) {
    refuse(501, "the only supported transfer encoding is chunked");
    return false;
  }
  if (head.version() == 11 && head.count(http::field::host) != 1) {
    refuse(400, "one Host header is needed");
    return false;
  }
  const auto expected = head.find(http::field::expect);
  if (expected != head.end() && !parser_->is_done()) {
    out_ += "HTTP/1.1 100 Continue\r\n\r\n";
    write();
  }
  return true;
}

HttpRequest Connection::take_request() {
  auto message = parser_->release();
  parser_.reset();
  HttpRequest request{.method = std::string(message.method_string()),
                      .target = std::string(message.target()),
                      .headers = {},
                      .body = std::move(message.body()),
                      .address = address()};
  for (const auto& field : message) {
    request.headers.push_back({std::string(field.name_string()), std::string(field.value())});
  }
  is_head_request_ = request.method == "HEAD";
  is_old_version_ = message.version() < 11;
  keeps_alive_ = message.keep_alive() && !owner_.is_draining;
  return request;
}

std::string Connection::address() {
  Error error;
  const auto endpoint = stream_.socket().remote_endpoint(error);
  return error ? "" : endpoint.address().to_string();
}

void Connection::begin_exchange(HttpRequest request) {
  exchange_ = std::make_shared<Exchange>(std::move(request), owner_.limits.waiting_bytes);
  state_ = State::answering;
  is_chunked_ = is_events_ = is_last_chunk_ = false;
  last_write_ = Clock::now();
  exchange_->on_chunk([weak = weak_from_this(), executor = stream_.socket().get_executor()] {
    asio::post(executor, [weak] {
      if (const auto self = weak.lock()) {
        self->on_chunk();
      }
    });
  });
}

void Connection::dispatch() {
  begin_exchange(take_request());
  owner_.handler.handle(exchange_);
}

// Where a request ends can't be known any more, so the connection ends too.
void Connection::refuse(unsigned status, std::string_view why) {
  is_head_request_ = is_old_version_ = false;
  const bool has_line = parser_ && !parser_->get().target().empty();
  begin_exchange(has_line ? take_request() : HttpRequest{.address = address()});
  parser_.reset();
  keeps_alive_ = false;
  owner_.handler.refuse(exchange_, status, why);
}

void Connection::on_chunk() {
  if (state_ != State::answering || !exchange_) {
    return;
  }
  if (exchange_->is_dropped()) {
    close();
    return;
  }
  if (is_writing_) {
    return;
  }
  Exchange::Chunk chunk = exchange_->take();
  if (chunk.head) {
    sending_since_ = Clock::now();
    if (chunk.is_whole) {
      add_head(*chunk.head, chunk.head->body.size());
      if (!is_head_request_) {
        out_ += chunk.head->body;
        out_body_ += chunk.head->body.size();
      }
    } else {
      is_chunked_ = !is_old_version_;
      keeps_alive_ = keeps_alive_ && is_chunked_;
      is_events_ = chunk.head->type.starts_with(kEvents);
      add_head(*chunk.head, std::nullopt);
    }
  }
  add_body(chunk.body);
  is_last_chunk_ = chunk.is_ended;
  if (is_last_chunk_ && is_chunked_ && !is_head_request_) {
    out_ += "0\r\n\r\n";
  }
  if (out_.size() > kLargeAnswer) {
    owner_.make_room(*this);
  }
  write();
}

void Connection::add_head(const HttpAnswer& head, std::optional<size_t> length) {
  out_ += fmt::format("HTTP/1.1 {} {}\r\nDate: {}\r\n", head.status, reason_of(head.status), date_of_now());
  if (!head.type.empty()) {
    out_ += fmt::format("Content-Type: {}\r\n", head.type);
  }
  if (length) {
    out_ += head.status == 204 || head.status == 304 ? "" : fmt::format("Content-Length: {}\r\n", *length);
  } else if (is_chunked_) {
    out_ += "Transfer-Encoding: chunked\r\n";
  }
  for (const HttpHeader& header : head.headers) {
    out_ += fmt::format("{}: {}\r\n", header.name, header.value);
  }
  if (!keeps_alive_) {
    out_ += "Connection: close\r\n";
  } else if (is_old_version_) {
    out_ += "Connection: keep-alive\r\n";
  }
  out_ += "\r\n";
}

void Connection::add_body(std::string_view part) {
  if (part.empty() || is_head_request_) {
    return;
  }
  out_body_ += part.size();
  if (is_chunked_) {
    out_ += fmt::format("{:x}\r\n", part.size());
    out_ += part;
    out_ += "\r\n";
  } else {
    out_ += part;
  }
}

void Connection::write() {
  if (is_writing_ || state_ == State::closed) {
    return;
  }
  if (sent_ == sending_.size()) {
    sending_.clear();
    sent_ = 0;
    std::swap(sending_, out_);
    sending_body_ = std::exchange(out_body_, 0);
  }
  if (sending_.empty()) {
    if (state_ == State::answering && is_last_chunk_) {
      finish_answer();
    }
    return;
  }
  is_writing_ = true;
  last_write_ = Clock::now();
  stream_.write(asio::buffer(sending_.data() + sent_, sending_.size() - sent_),
                [self = shared_from_this()](const Error& error, size_t bytes) { self->on_written(error, bytes); });
}

void Connection::on_written(const Error& error, size_t bytes) {
  is_writing_ = false;
  last_write_ = Clock::now();
  if (state_ == State::closed) {
    return;
  }
  if (error) {
    close();
    return;
  }
  sent_ += bytes;
  const bool is_done = sent_ == sending_.size();
  if (is_done && exchange_) {
    exchange_->add_sent(std::exchange(sending_body_, 0));
  }
  write();
  if (is_done) {
    on_chunk();
  }
}

void Connection::finish_answer() {
  exchange_.reset();
  is_last_chunk_ = false;
  for (std::string* const buffer : {&out_, &sending_}) {
    if (buffer->capacity() > kRead) {
      *buffer = std::string();
    }
  }
  if (!keeps_alive_ || owner_.is_draining) {
    linger();
    return;
  }
  state_ = State::reading;
  deadline_ = Clock::now() + owner_.limits.idle_time;
  if (buffer_.size() == 0) {
    buffer_.shrink_to_fit();
  }
  parse();
  read();
}

// A client that is still sending would lose the answer if the connection were closed at once.
void Connection::linger() {
  state_ = State::lingering;
  deadline_ = Clock::now() + kLingerTime;
  buffer_.consume(buffer_.size());
  stream_.end([self = shared_from_this()](const Error&) {
    if (self->state_ == State::lingering) {
      self->read();
    }
  });
}

}  // namespace heed::serve
