#include "serve/system/system_service.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <string>

namespace heed::serve {
namespace {

constexpr int kFirstSocket = 3;  // sd_listen_fds(3)
constexpr long kMostSockets = 64;

long number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? 0 : std::strtol(text, nullptr, 10);
}

}  // namespace

std::vector<int> sockets_of_system() {
  std::vector<int> sockets;
  const long count = number_in("LISTEN_FDS");
  if (number_in("LISTEN_PID") == getpid() && count > 0 && count <= kMostSockets) {
    for (int i = 0; i < static_cast<int>(count); ++i) {
      fcntl(kFirstSocket + i, F_SETFD, FD_CLOEXEC);
      sockets.push_back(kFirstSocket + i);
    }
  }
  return sockets;
}

void tell_system(std::string_view state) {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  sockaddr_un address{};
  const size_t length = path == nullptr ? 0 : std::strlen(path);
  if (length < 2 || length >= sizeof address.sun_path) {
    return;
  }
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path, path, length);
  if (address.sun_path[0] == '@') {  // a name that is not in the file system
    address.sun_path[0] = '\0';
  }
  const int descriptor = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (descriptor < 0) {
    return;
  }
  const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
  static_cast<void>(
      sendto(descriptor, state.data(), state.size(), MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address), size));
  close(descriptor);
}

void allow_open_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0) {
    limit.rlim_cur = limit.rlim_max;
    setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace heed::serve
