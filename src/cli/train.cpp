#include "heed/train.h"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <atomic>
#include <csignal>
#include <memory>

#include "cli/commands.h"

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

// One line that is written over on a terminal, plain lines elsewhere.
class Display : public TrainListener {
 public:
  void on_message(const std::string& message) override { line(message); }
  void on_status(const TrainStatus& s) override {
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
  void on_validation(const ValidationStatus& s) override {
    line(fmt::format("validation at update {}: loss {:.4f}{}{}  {}", s.update, s.loss,
                     s.bleu ? fmt::format("  BLEU {:.2f}", *s.bleu) : "", s.best ? "  (best)" : "",
                     duration(s.seconds)));
  }
  bool wants_to_stop() override { return interrupted; }

 private:
  void line(const std::string& text) const {
    fmt::print("{}{}\n", terminal_ ? "\r\033[K" : "", text);
    std::fflush(stdout);
  }

  bool terminal_ = isatty(STDOUT_FILENO) != 0;
};

}  // namespace

void add_train(CLI::App& app) {
  CLI::App* const command = app.add_subcommand("train", "train a translation model from a recipe");
  const auto options = std::make_shared<TrainOptions>();
  const auto resume = std::make_shared<bool>(false);
  command->add_option("RECIPE", options->recipe, "a recipe, in TOML")->required();
  command->add_option("--out", options->output, "the model directory")->required();
  command->add_option("--set", options->overrides, "table.key=value, instead of what the recipe says; repeatable")
      ->take_all()
      ->allow_extra_args(false);
  command->add_flag("--resume", *resume, "go on where a run in the directory stopped");
  command->add_option("--threads", options->threads, "0: one per processor")->capture_default_str();
  command->callback([options, resume] {
    options->start = *resume ? TrainStart::resume : TrainStart::fresh;
    std::signal(SIGINT, on_interrupt);
    std::signal(SIGTERM, on_interrupt);
    Display display;
    const TrainResult result = train(*options, display);
    display.on_message(fmt::format("ended by {}; the model is in {}", result.reason, options->output));
  });
}

}  // namespace heed::cli
