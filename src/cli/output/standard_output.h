// Every command prints through here, so that no failure (a full disk) goes unnoticed.
#pragma once

#include <fmt/format.h>

#include <atomic>
#include <string_view>
#include <utility>

namespace heed::cli {

// Throws std::runtime_error with the system's reason when the text cannot be written.
void write_output(std::string_view text);

template <class... Args>
void put(fmt::format_string<Args...> format, Args&&... args) {
  write_output(fmt::format(format, std::forward<Args>(args)...));
}

// Flushes what was written so far. Throws like write_output(), also for an earlier failure of show_output().
void flush_output();

// Writes and flushes. Failures are reported by flush_output() later: the work that goes on is worth more than its
// display.
void show_output(std::string_view text);

// Like show_output(), but once `stopping` is set, text that nobody reads is dropped: mpirun stops reading what its
// processes print when it ends them, and a full pipe must not keep a run from saving. The signal that sets `stopping`
// has to interrupt a write, so its handler must be installed without SA_RESTART.
void show_output_until(const std::atomic<bool>& stopping, std::string_view text);

}  // namespace heed::cli
