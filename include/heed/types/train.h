// Training: a run's options, progress and result.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heed/types/names.h"

namespace heed {

enum class TrainStart : uint8_t { fresh, resume };

struct TrainOptions {
  std::string recipe;                  // a file, in TOML
  std::string output;                  // the model directory
  std::vector<std::string> overrides;  // "table.key=value"
  // The folder of a corpus that heed::prepare() made of this recipe, used instead of the text; as data.prepared says,
  // where this is empty.
  std::string prepared;
  // How the ranks of a job share the training out, as training.layout says where this is empty.
  std::string layout;
  TrainStart start = TrainStart::fresh;
  int threads = 0;             // 0: one per processor
  std::string device = "cpu";  // or "cuda", "cuda:1": an NVIDIA GPU
};

// What a rank did since the last status.
struct RankStatus {
  double seconds = 0.0, waited = 0.0;  // in updates, and of those for other ranks
  int64_t sent_bytes = 0;
  int64_t peak_memory_bytes = 0;  // of its process
  int64_t optimizer_bytes = 0;    // of these the optimizer's: moments, and masters where layers read copies of them
};

// Means are over the targets (the tokens that the loss counts) since the last status.
struct TrainStatus {
  int64_t update = 0;
  double epoch = 0.0;
  double loss = 0.0;                     // label-smoothed, mean
  double negative_log_likelihood = 0.0;  // mean
  double kl_divergence = 0.0;            // of the smoothed targets from the model: the loss minus their entropy
  double learning_rate = 0.0, gradient_norm = 0.0;
  double target_tokens_per_second = 0.0;
  double seconds = 0.0;           // of the run so far
  double fraction = 0.0;          // of the run, as far as its limits tell
  int64_t peak_memory_bytes = 0;  // of the process
  std::vector<RankStatus> ranks;  // where there are several
};

struct NamedScore {
  std::string name;  // "bleu", "bits_per_byte"
  double value = 0.0;
};

// A text that the model wrote.
struct Sample {
  std::string prompt, text;
};

// How one label of the validation text was predicted.
struct LabelFigures {
  std::string label;
  int64_t expected = 0, predicted = 0, right = 0;  // how often
  // How often each label was predicted where this one was expected; empty where a text may have several labels.
  std::vector<int64_t> predicted_as;

  // A ratio whose denominator is 0 is 0.
  double precision() const { return ratio(right, predicted); }
  double recall() const { return ratio(right, expected); }
  double f1() const { return ratio(2 * right, predicted + expected); }

 private:
  static double ratio(int64_t part, int64_t whole) {
    return whole == 0 ? 0.0 : static_cast<double>(part) / static_cast<double>(whole);
  }
};

// How good a model is on text that it was not trained on.
struct Scores {
  double loss = 0.0;               // negative log-likelihood per target, in nats
  std::vector<NamedScore> others;  // of the task
  double value = 0.0;              // what checkpoints are compared by; higher is better
  std::vector<Sample> samples;
  std::vector<LabelFigures> labels;  // of classification, if they are few enough to list

  const NamedScore* find(std::string_view name) const {  // nullptr where the task has none of that name
    for (const NamedScore& score : others) {
      if (score.name == name) {
        return &score;
      }
    }
    return nullptr;
  }
};

struct ValidationStatus {
  int64_t update = 0;
  Scores scores;
  double seconds = 0.0;
  bool best = false;
};

enum class EndReason : uint8_t { epochs, updates, minutes, patience, stopped, paused };

inline constexpr std::array<NamedValue<EndReason>, 6> kEndReasonNames{{{"epochs", EndReason::epochs},
                                                                       {"updates", EndReason::updates},
                                                                       {"minutes", EndReason::minutes},
                                                                       {"patience", EndReason::patience},
                                                                       {"stopped", EndReason::stopped},
                                                                       {"paused", EndReason::paused}}};

constexpr std::string_view name_of(EndReason reason) { return name_among(kEndReasonNames, reason); }

struct TrainResult {
  EndReason reason = EndReason::updates;
  int64_t parameters = 0;
  int rank = 0;          // which one of several this process is; the first reports for all
  double seconds = 0.0;  // of the training, with those before it was resumed
};

// Receives a run's progress, on the calling thread.
class TrainListener {
 public:
  virtual ~TrainListener() = default;
  virtual void on_message(const std::string& message) = 0;
  // The text is read and the model built: from here on there is something to save. Of a recipe of stages, in each.
  virtual void on_start() = 0;
  virtual void on_status(const TrainStatus& status) = 0;
  virtual void on_validation(const ValidationStatus& status) = 0;
  virtual bool wants_to_stop() = 0;  // asked after each update; the run then saves its state and ends
  // Asked after each update, with the share of the run that is done, as far as its limits tell: the run then validates,
  // saves its state and ends.
  virtual bool wants_to_pause(double /*fraction*/) { return false; }
};

}  // namespace heed
