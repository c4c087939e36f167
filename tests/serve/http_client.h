// A client for tests of the server in the same process.
#pragma once

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <string>
#include <string_view>

namespace heed::serve::test {

// One connection to a port of this machine; closed when it goes.
class Client {
 public:
  explicit Client(int port) : socket_(socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(static_cast<uint16_t>(port));
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    is_open_ = connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  }
  ~Client() { close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool is_open() const { return is_open_; }

  void send(std::string_view bytes) const {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) {
        return;
      }
      bytes.remove_prefix(static_cast<size_t>(sent));
    }
  }
  void post(std::string_view path, std::string_view body) const {
    send(fmt::format("POST {} HTTP/1.1\r\nHost: a\r\nContent-Length: {}\r\n\r\n{}", path, body.size(), body));
  }

  // Some of what the server sends; empty at the end.
  std::string receive() const {
    std::string bytes(65536, '\0');
    const ssize_t received = recv(socket_, bytes.data(), bytes.size(), 0);
    bytes.resize(received > 0 ? static_cast<size_t>(received) : 0);
    return bytes;
  }
  // An answer with a Content-Length: its head and its body.
  std::string answer() const {
    std::string bytes = receive();
    while (true) {
      const size_t end = bytes.find("\r\n\r\n"), length = bytes.find("Content-Length: ");
      if (end != std::string::npos &&
          (length > end || bytes.size() >= end + 4 + std::stoul(bytes.substr(length + 16)))) {
        return bytes;
      }
      const std::string more = receive();
      if (more.empty()) {
        return bytes;
      }
      bytes += more;
    }
  }

 private:
  int socket_;
  bool is_open_ = false;
};

}  // namespace heed::serve::test
