#include "cli/train_display.h"

#include <fmt/format.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>

namespace heed::cli {
namespace {

std::atomic<bool> interrupted{false};

// The first Ctrl-C ends the run in good order; a second one ends the program.
void on_interrupt(int signal) {
  interrupted = true;
  std::signal(signal, SIG_DFL);
}

std::string duration(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  return whole >= 3600 ? fmt::format("{}:{:02}:{:02}", whole / 3600, whole / 60 % 60, whole % 60)
                       : fmt::format("{}:{:02}", whole / 60, whole % 60);
}

}  // namespace

TrainDisplay::TrainDisplay() : terminal_(isatty(STDOUT_FILENO) != 0) {
  std::signal(SIGINT, on_interrupt);
  std::signal(SIGTERM, on_interrupt);
}

void TrainDisplay::on_message(const std::string& message) { line(message); }

void TrainDisplay::on_status(const TrainStatus& s) {
  const std::string numbers =
      fmt::format("update {}  epoch {:.2f}  loss {:.3f}  rate {:.2e}  norm {:.2f}  {:.0f} tokens/s  {}", s.update,
                  s.epoch, s.loss, s.learning_rate, s.gradient_norm, s.target_tokens_per_second, duration(s.seconds));
  if (!terminal_) {
    line(numbers);
    return;
  }
  const double left = s.fraction > 0.0 ? s.seconds * (1.0 - s.fraction) / s.fraction : 0.0;
  constexpr int kBar = 20;
  const int filled = static_cast<int>(s.fraction * kBar);
  fmt::print("\r\033[K[{}{}] {}, {} left", std::string(static_cast<size_t>(filled), '#'),
             std::string(static_cast<size_t>(kBar - filled), '.'), numbers, duration(left));
  std::fflush(stdout);
}

void TrainDisplay::on_validation(const ValidationStatus& s) {
  line(fmt::format("validation at update {}: loss {:.4f}{}{}  {}", s.update, s.loss,
                   s.bleu ? fmt::format("  BLEU {:.2f}", *s.bleu) : "", s.best ? "  (best)" : "", duration(s.seconds)));
}

bool TrainDisplay::wants_to_stop() { return interrupted; }

void TrainDisplay::line(const std::string& text) const {
  fmt::print("{}{}\n", terminal_ ? "\r\033[K" : "", text);
  std::fflush(stdout);
}

}  // namespace heed::cli
