#include "cli/standard_output.h"

#include <cerrno>
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

}  // namespace heed::cli
