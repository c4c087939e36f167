// The bytes of a connection, plain or by TLS.
#pragma once

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl.hpp>
#include <memory>
#include <optional>
#include <utility>

namespace heed::serve {

using TlsContext = boost::asio::ssl::context;

// One read and one write may be under way at a time.
class Stream {
 public:
  using Error = boost::system::error_code;

  // Plain without a context.
  Stream(boost::asio::ip::tcp::socket socket, std::shared_ptr<TlsContext> context)
      : socket_(std::move(socket)), context_(std::move(context)) {
    if (context_) {
      tls_.emplace(socket_, *context_);
    }
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;

  boost::asio::ip::tcp::socket& socket() { return socket_; }

  // done(error) when both sides have agreed on keys; at once for a plain connection.
  template <class Done>
  void begin(Done done) {
    if (tls_) {
      tls_->async_handshake(boost::asio::ssl::stream_base::server, std::move(done));
    } else {
      done(Error());
    }
  }
  template <class Buffer, class Done>
  void read(const Buffer& buffer, Done done) {
    if (tls_) {
      tls_->async_read_some(buffer, std::move(done));
    } else {
      socket_.async_read_some(buffer, std::move(done));
    }
  }
  template <class Buffer, class Done>
  void write(const Buffer& buffer, Done done) {
    if (tls_) {
      tls_->async_write_some(buffer, std::move(done));
    } else {
      socket_.async_write_some(buffer, std::move(done));
    }
  }
  // Says that nothing more is sent; done(error) when that has been said.
  template <class Done>
  void end(Done done) {
    if (tls_) {
      tls_->async_shutdown(std::move(done));
      return;
    }
    Error error;
    socket_.shutdown(boost::asio::ip::tcp::socket::shutdown_send, error);
    done(error);
  }

 private:
  boost::asio::ip::tcp::socket socket_;
  std::shared_ptr<TlsContext> context_;
  std::optional<boost::asio::ssl::stream<boost::asio::ip::tcp::socket&>> tls_;
};

}  // namespace heed::serve
