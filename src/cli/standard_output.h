// What is printed must arrive: a disk may be full. Every command prints through here.
#pragma once

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace heed::cli {

// Throws std::runtime_error with the system's reason when the text cannot be written.
void write_output(std::string_view text);

template <class... Args>
void put(fmt::format_string<Args...> format, Args&&... args) {
  write_output(fmt::format(format, std::forward<Args>(args)...));
}

// Hands over what was written so far. Throws likewise, also for an earlier failure of show_output().
void flush_output();

// Writes at once. A failure is left for flush_output() to tell: work that goes on is worth more than what it shows.
void show_output(std::string_view text);

}  // namespace heed::cli
