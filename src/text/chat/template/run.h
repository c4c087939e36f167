// One rendering: where it is, and what it has used of its limits.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "base/errors.h"
#include "text/chat/template/limits.h"

namespace heed::chat {

class Run {
 public:
  explicit Run(std::string_view where) : where_(where) {}

  // FormatError at the line that is being evaluated.
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> message, Args&&... args) const {
    throw FormatError(fmt::format("{}:{}: {}", where_, line_, fmt::format(message, std::forward<Args>(args)...)));
  }

  void at(int line) { line_ = line; }
  int line() const { return line_; }

  void step(size_t steps = 1) {
    steps_ += steps;
    if (steps_ > kMaxSteps) [[unlikely]] {
      refuse("the template takes more than {} steps, the limit", kMaxSteps);
    }
  }

  // Before a value of so many bytes is made: its bytes count, and the work of filling them.
  void make(size_t bytes) {
    made_ += bytes;
    if (made_ > kMaxMadeBytes) [[unlikely]] {
      refuse("the template makes values of more than {} bytes in all, the limit", kMaxMadeBytes);
    }
    step(bytes / 64);
  }

  void enter() {
    if (++depth_ > kMaxDepth) [[unlikely]] {
      refuse("the template's expressions and macros are more than {} deep, the limit", kMaxDepth);
    }
  }
  void leave() { --depth_; }

 private:
  std::string where_;
  int line_ = 1;
  uint64_t steps_ = 0;
  size_t made_ = 0;
  int depth_ = 0;
};

// A level of evaluation while it lives.
class Level {
 public:
  explicit Level(Run& run) : run_(run) { run_.enter(); }
  ~Level() { run_.leave(); }
  Level(const Level&) = delete;
  Level& operator=(const Level&) = delete;

 private:
  Run& run_;
};

}  // namespace heed::chat
