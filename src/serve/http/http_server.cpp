#include "serve/http/http_server.h"

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <list>
#include <unordered_map>
#include <vector>

#include "base/errors.h"
#include "base/system/placement.h"
#include "serve/http/connection.h"

namespace heed::serve {
namespace {

namespace asio = boost::asio;
using Tcp = asio::ip::tcp;
using ErrorCode = boost::system::error_code;

constexpr std::chrono::milliseconds kTick{500};            // between two looks at the clock
constexpr std::chrono::milliseconds kAfterFailure{100};    // before accepting is tried again
constexpr std::chrono::milliseconds kIdleForOthers{2000};  // after which a connection makes room where there is none

struct HostAndPort {
  std::string host, port;
};

HostAndPort parse_address(const std::string& address) {
  const size_t colon = address.rfind(':');
  require<ConfigError>(colon != std::string::npos && colon + 1 < address.size(), "listen",
                       "'{}' is not an address: expected HOST:PORT, [IPV6]:PORT or :PORT", address);
  std::string host = address.substr(0, colon);
  if (host.size() > 2 && host.front() == '[' && host.back() == ']') {
    host = host.substr(1, host.size() - 2);
  }
  const std::string port = address.substr(colon + 1);
  require<ConfigError>(
      port.size() <= 5 && port.find_first_not_of("0123456789") == std::string::npos && std::stoi(port) <= 65535,
      "listen", "the port of '{}' is not a number up to 65535", address);
  return {host, port};
}

}  // namespace

struct HttpServer::State {
  State(HttpHandler& handler, const HttpLimits& given) : limits(given), owner{handler, limits} {
    owner.remove = [this](Connection& connection) { remove(connection); };
    owner.make_room = [this](const Connection& connection) { make_room_for(connection); };
  }

  void accept(Tcp::acceptor& acceptor) {
    acceptor.async_accept([this, &acceptor](const ErrorCode& error, Tcp::socket socket) {
      if (!acceptor.is_open()) {
        return;
      }
      if (error) {
        // There may be too many open files: other connections must end first.
        wait(end_idlest() ? std::chrono::milliseconds(0) : kAfterFailure, [this, &acceptor] {
          if (acceptor.is_open()) {
            accept(acceptor);
          }
        });
        return;
      }
      if (connections.size() < limits.connections) {
        const auto connection = std::make_shared<Connection>(std::move(socket), owner);
        connections.emplace(connection.get(), connection);
        connection->start();
      }
      accept(acceptor);
    });
  }

  void open(const Tcp::endpoint& endpoint, const std::string& address) {
    Tcp::acceptor& acceptor = acceptors.emplace_back(loop);
    ErrorCode error;
    acceptor.open(endpoint.protocol(), error);
    if (!error) {
      acceptor.set_option(asio::socket_base::reuse_address(true), error);
      acceptor.bind(endpoint, error);
    }
    if (!error) {
      acceptor.listen(asio::socket_base::max_listen_connections, error);
    }
    if (error) {
      acceptors.pop_back();
      fail<ConfigError>("listen", "cannot listen on '{}': {}", address, error.message());
    }
    accept(acceptor);
  }

  // Ends the connection that has been idle for longest, if it has been so for a while.
  bool end_idlest() {
    Clock::time_point least = Clock::now() - kIdleForOthers;
    std::shared_ptr<Connection> idlest;
    for (const auto& [_, connection] : connections) {
      if (const auto since = connection->idle_since(); since && *since < least) {
        least = *since;
        idlest = connection;
      }
    }
    if (idlest) {
      idlest->close();
    }
    return idlest != nullptr;
  }

  // Gives up the clients that have been receiving an answer for longest, also those that take a byte now and then, until
  // what is held for others than the newest is within the limit: a large answer takes nothing from quick clients.
  void make_room_for(const Connection& newest) {
    size_t held = 0;
    std::vector<std::shared_ptr<Connection>> others;
    for (const auto& [_, connection] : connections) {
      if (connection.get() != &newest && connection->held_bytes() > 0) {
        held += connection->held_bytes();
        others.push_back(connection);
      }
    }
    if (held <= limits.answer_bytes) {
      return;
    }
    std::ranges::sort(others, {}, [](const auto& connection) { return connection->sending_since(); });
    for (const auto& slowest : others) {
      held -= slowest->held_bytes();
      slowest->close();
      if (held <= limits.answer_bytes) {
        return;
      }
    }
  }

  void remove(Connection& connection) {
    connections.erase(&connection);
    end_if_done();
  }

  void end_if_done() {
    if (owner.is_draining && connections.empty()) {
      loop.stop();
    }
  }

  // Calls use(connection) for all, some of which may end meanwhile.
  template <class Use>
  void for_each(Use use) {
    std::vector<std::shared_ptr<Connection>> all;
    all.reserve(connections.size());
    for (const auto& [_, connection] : connections) {
      all.push_back(connection);
    }
    for (const auto& connection : all) {
      use(*connection);
    }
  }

  void tick() {
    const Clock::time_point now = Clock::now();
    for_each([now](Connection& connection) { connection.look_at_clock(now); });
    wait(kTick, [this] { tick(); });
  }

  void wait(std::chrono::milliseconds time, std::function<void()> what) {
    const auto timer = std::make_shared<asio::steady_timer>(loop, time);
    timer->async_wait([timer, what = std::move(what)](const ErrorCode& error) {
      if (!error) {
        what();
      }
    });
  }

  void drain() {
    for (Tcp::acceptor& acceptor : acceptors) {
      ErrorCode ignored;
      acceptor.close(ignored);
    }
    owner.is_draining = true;
    for_each([](Connection& connection) { connection.drain(); });
    end_if_done();
  }

  const HttpLimits limits;
  ConnectionOwner owner;
  asio::io_context loop{1};
  std::list<Tcp::acceptor> acceptors;
  std::list<asio::signal_set> signals;
  std::vector<std::shared_ptr<std::function<void()>>> signal_waits;
  std::unordered_map<Connection*, std::shared_ptr<Connection>> connections;
};

HttpServer::HttpServer(HttpHandler& handler, const HttpLimits& limits)
    : state_(std::make_unique<State>(handler, limits)) {}

HttpServer::~HttpServer() {
  state_->for_each([](Connection& connection) { connection.close(); });
}

int HttpServer::listen(const std::string& address) {
  const auto [host, port] = parse_address(address);
  if (host.empty()) {
    state_->open(Tcp::endpoint(Tcp::v4(), static_cast<uint16_t>(std::stoi(port))), address);
  } else {
    ErrorCode error;
    Tcp::resolver resolver(state_->loop);
    const auto found = resolver.resolve(host, port, Tcp::resolver::passive, error);
    require<ConfigError>(!error && !found.empty(), "listen", "'{}' is not an address of this machine: {}", address,
                         error.message());
    state_->open(found.begin()->endpoint(), address);
  }
  return state_->acceptors.back().local_endpoint().port();
}

void HttpServer::adopt(int socket) {
  Tcp::acceptor& acceptor = state_->acceptors.emplace_back(state_->loop);
  ErrorCode error;
  acceptor.assign(Tcp::v4(), socket, error);
  require<ConfigError>(!error, "listen", "the socket that was handed over cannot be used: {}", error.message());
  state_->accept(acceptor);
}

void HttpServer::use_tls(const TlsFiles& files) {
  auto context = std::make_shared<TlsContext>(TlsContext::tls_server);
  context->set_options(TlsContext::default_workarounds | TlsContext::no_tlsv1 | TlsContext::no_tlsv1_1);
  ErrorCode error;
  context->use_certificate_chain_file(files.certificate, error);
  require<ConfigError>(!error, files.certificate, "is not a certificate in PEM: {}", error.message());
  context->use_private_key_file(files.key, TlsContext::pem, error);
  require<ConfigError>(!error, files.key, "is not the certificate's private key in PEM: {}", error.message());
  state_->owner.tls = std::move(context);
}

void HttpServer::run() {
  prefer_short_turns();  // models compute beside it
  state_->tick();
  state_->loop.run();
}

void HttpServer::drain() { state_->drain(); }

void HttpServer::cut_off() {
  state_->drain();
  state_->for_each([](Connection& connection) { connection.cut_off(); });
}

void HttpServer::stop() {
  state_->drain();
  state_->for_each([](Connection& connection) { connection.close(); });
}

void HttpServer::post(std::function<void()> what) { asio::post(state_->loop, std::move(what)); }

void HttpServer::after(std::chrono::milliseconds time, std::function<void()> what) {
  state_->wait(time, std::move(what));
}

void HttpServer::on_signal(int signal, std::function<void()> what) {
  asio::signal_set& set = state_->signals.emplace_back(state_->loop, signal);
  const auto again = std::make_shared<std::function<void()>>();
  *again = [&set, what = std::move(what), weak = std::weak_ptr(again)] {
    set.async_wait([what, weak](const ErrorCode& error, int) {
      if (error) {
        return;
      }
      what();
      if (const auto next = weak.lock()) {
        (*next)();
      }
    });
  };
  (*again)();
  state_->signal_waits.push_back(again);
}

size_t HttpServer::connections() const { return state_->connections.size(); }

}  // namespace heed::serve
