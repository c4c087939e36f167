// What a training run shows, and how it is interrupted.
#pragma once

#include "heed/train.h"

namespace heed::cli {

// One line that is written over on a terminal, plain lines elsewhere. The first Ctrl-C ends the run in good order, a
// second one the program.
class TrainDisplay : public TrainListener {
 public:
  TrainDisplay();

  void on_message(const std::string& message) override;
  void on_status(const TrainStatus& status) override;
  void on_validation(const ValidationStatus& status) override;
  bool wants_to_stop() override;

 private:
  void line(const std::string& text) const;

  bool terminal_;
};

}  // namespace heed::cli
