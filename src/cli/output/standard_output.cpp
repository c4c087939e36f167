#include "cli/output/standard_output.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace heed::cli {
namespace {

std::optional<int> first_failure;  // its errno

void note_failure_unless(bool written) {
  if (!written && !first_failure) {
    first_failure = errno;
  }
}

void fail_after_failure() {
  if (first_failure) {
    throw std::runtime_error(fmt::format("cannot write to the standard output: {}", std::strerror(*first_failure)));
  }
}

// False when `stopping` is set and the output takes nothing more.
bool wait_for_output(const std::atomic<bool>& stopping) {
  constexpr int kLook = 100;  // milliseconds
  pollfd output{.fd = STDOUT_FILENO, .events = POLLOUT, .revents = 0};
  while (true) {
    const bool last = stopping;
    if (poll(&output, 1, last ? 0 : kLook) > 0) {
      return true;
    }
    if (last) {
      return false;
    }
  }
}

}  // namespace

void write_output(std::string_view text) {
  note_failure_unless(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
  fail_after_failure();
}

void flush_output() {
  note_failure_unless(std::fflush(stdout) == 0);
  fail_after_failure();
}

void show_output(std::string_view text) {
  note_failure_unless(std::fwrite(text.data(), 1, text.size(), stdout) == text.size());
  note_failure_unless(std::fflush(stdout) == 0);
}

void show_output_until(const std::atomic<bool>& stopping, std::string_view text) {
  show_output("");  // flushes what was printed before
  while (!text.empty() && wait_for_output(stopping)) {
    // A pipe that is ready accepts this much at once, so no write blocks, and no signal can be missed just before one
    // that would.
    const ssize_t written = write(STDOUT_FILENO, text.data(), std::min(text.size(), size_t{PIPE_BUF}));
    if (written < 0 && errno != EINTR) {
      note_failure_unless(false);
      return;
    }
    text.remove_prefix(static_cast<size_t>(std::max<ssize_t>(written, 0)));
  }
}

}  // namespace heed::cli
