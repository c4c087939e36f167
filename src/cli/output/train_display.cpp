#include "cli/output/train_display.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <csignal>

#include "cli/output/standard_output.h"
#include "heed/ranks.h"

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

constexpr std::string_view kClearLine = "\r\033[K";

size_t terminal_width() {
  constexpr size_t kUsual = 80;
  winsize size{};
  return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : kUsual;
}

// What matters most comes first: a narrow terminal cuts the end off.
std::string progress_bar(const TrainStatus& s) {
  if (s.fraction <= 0.0) {
    return "";  // no limit tells how far the run has got
  }
  constexpr size_t kBar = 20;
  const size_t filled = std::min(kBar, static_cast<size_t>(s.fraction * kBar));
  return fmt::format("[{}{}] {} left  ", std::string(filled, '#'), std::string(kBar - filled, '.'),
                     duration(s.seconds * (1.0 - s.fraction) / s.fraction));
}

// "bits per byte" for "bits_per_byte".
std::string describe(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

// How long ranks waited for others. Where one waited much less than another, the other waited for it.
std::string describe(const std::vector<RankStatus>& ranks) {
  if (ranks.empty()) {
    return "";
  }
  const auto share = [](const RankStatus& rank) { return 100.0 * rank.waited / rank.seconds; };
  const auto [least, most] = std::ranges::minmax_element(ranks, {}, share);
  const bool one_is_late = share(*most) - share(*least) > 20.0;
  return fmt::format("  ranks wait {:.0f} to {:.0f}%{}", share(*least), share(*most),
                     one_is_late ? fmt::format(", least rank {}", least - ranks.begin()) : "");
}

}  // namespace

// mpirun gives its processes terminals, whatever its own output is.
TrainDisplay::TrainDisplay() : terminal_(isatty(STDOUT_FILENO) != 0 && rank_of_job().is_alone()) {}

void TrainDisplay::on_start() {
  if (watching_) {
    return;
  }
  watching_ = true;
  struct sigaction action {};
  action.sa_handler = on_interrupt;  // sa_flags has no SA_RESTART: a write that nobody reads ends
  for (size_t i = 0; i < kSignals.size(); ++i) {
    sigaction(kSignals[i], &action, &actions_before_[i]);
  }
}

// The next output, such as an error, starts on a line of its own.
TrainDisplay::~TrainDisplay() {
  if (in_progress_) {
    show("\n");
  }
  if (watching_) {
    for (size_t i = 0; i < kSignals.size(); ++i) {
      sigaction(kSignals[i], &actions_before_[i], nullptr);
    }
  }
}

void TrainDisplay::on_message(const std::string& message) { show_line(message); }

void TrainDisplay::on_status(const TrainStatus& s) {
  const std::string numbers =
      fmt::format("update {}  epoch {:.2f}  loss {:.3f}  rate {:.2e}  norm {:.2f}  {:.0f} tokens/s  {}", s.update,
                  s.epoch, s.loss, s.learning_rate, s.gradient_norm, s.target_tokens_per_second, duration(s.seconds));
  if (!terminal_) {
    show_line(numbers + describe(s.ranks));
    return;
  }
  // A line up to the last column would wrap on some terminals, and then only a part of it would be overwritten.
  const std::string line = (progress_bar(s) + numbers).substr(0, terminal_width() - 1);
  show(fmt::format("{}{}", kClearLine, line));
  in_progress_ = true;
}

void TrainDisplay::on_validation(const ValidationStatus& s) {
  std::string others;
  for (const NamedScore& score : s.scores.others) {
    others += score.name == "bleu" ? fmt::format("  BLEU {:.2f}", score.value)
                                   : fmt::format("  {} {:.4f}", describe(score.name), score.value);
  }
  show_line(fmt::format("validation at update {}: loss {:.4f}{}{}  {}", s.update, s.scores.loss, others,
                        s.best ? "  (best)" : "", duration(s.seconds)));
  for (const Sample& sample : s.scores.samples) {
    show_line(sample.prompt + sample.text);
  }
}

bool TrainDisplay::wants_to_stop() { return interrupted; }

void TrainDisplay::show(std::string_view text) { show_output_until(interrupted, text); }

void TrainDisplay::show_line(const std::string& text) {
  show(fmt::format("{}{}\n", in_progress_ ? kClearLine : "", text));
  in_progress_ = false;
}

}  // namespace heed::cli
