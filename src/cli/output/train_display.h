// Shows the progress of a training run, and lets the user interrupt it.
#pragma once

#include <array>
#include <csignal>
#include <string>
#include <string_view>

#include "heed/types/train.h"

namespace heed::cli {

// On a terminal one line that is overwritten, no wider than the terminal; elsewhere plain lines. Once the run has
// started, the first Ctrl-C (or SIGTERM, or SIGUSR1) ends it in good order, and a second one ends the program.
class TrainDisplay : public TrainListener {
 public:
  TrainDisplay();
  ~TrainDisplay() override;
  TrainDisplay(const TrainDisplay&) = delete;
  TrainDisplay& operator=(const TrainDisplay&) = delete;

  void on_message(const std::string& message) override;
  void on_start() override;
  void on_status(const TrainStatus& status) override;
  void on_validation(const ValidationStatus& status) override;
  bool wants_to_stop() override;

 protected:
  bool is_on_terminal() const { return terminal_; }

 private:
  void show(std::string_view text);
  void show_line(const std::string& text);

  bool terminal_;
  bool in_progress_ = false;  // the terminal's last line is to be overwritten
  bool watching_ = false;
  // SIGUSR1 is what mpirun passes on, and what batch systems send before a job's time is up.
  static constexpr std::array<int, 3> kSignals{SIGINT, SIGTERM, SIGUSR1};
  std::array<struct sigaction, kSignals.size()> actions_before_{};
};

}  // namespace heed::cli
