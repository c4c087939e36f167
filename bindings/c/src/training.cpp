#include "heed/train.h"

#include <chrono>

#include "options.h"
#include "record.h"

namespace heed::c {
namespace {

heed_record record_of(const TrainStatus& status) {
  return {.kind = "train",
          .figures = {{"update", static_cast<double>(status.update)},
                      {"epoch", status.epoch},
                      {"loss", status.loss},
                      {"negative_log_likelihood", status.negative_log_likelihood},
                      {"learning_rate", status.learning_rate},
                      {"gradient_norm", status.gradient_norm},
                      {"tokens_per_second", status.target_tokens_per_second},
                      {"seconds", status.seconds},
                      {"fraction", status.fraction}}};
}

heed_record record_of(const ValidationStatus& status) {
  heed_record record{.kind = "validation",
                     .figures = {{"update", static_cast<double>(status.update)},
                                 {"loss", status.scores.loss},
                                 {"seconds", status.seconds},
                                 {"best", status.best ? 1.0 : 0.0}}};
  for (const NamedScore& score : status.scores.others) {
    record.figures.emplace_back(score.name, score.value);
  }
  return record;
}

// Tells a callback of each event, until it wants the training to end.
class EventTeller final : public TrainListener {
 public:
  EventTeller(const heed_options::Callback<heed_event_callback>& callback, Interruption interruption)
      : callback_(callback), interruption_(std::move(interruption)) {}

  void on_message(const std::string& message) override { tell({.kind = "message", .texts = {message}}); }
  void on_start() override { tell({.kind = "start"}); }
  void on_status(const TrainStatus& status) override { tell(record_of(status)); }
  void on_validation(const ValidationStatus& status) override { tell(record_of(status)); }
  bool wants_to_stop() override {
    return stops_ || interruption_.stop.stop_requested() || std::chrono::steady_clock::now() >= interruption_.deadline;
  }

 private:
  void tell(const heed_record& event) {
    if (callback_.function != nullptr && !stops_) {
      stops_ = callback_.function(callback_.user, &event) != 0;
    }
  }

  heed_options::Callback<heed_event_callback> callback_;
  Interruption interruption_;
  bool stops_ = false;
};

}  // namespace
}  // namespace heed::c

using namespace heed::c;

heed_error* heed_train(const char* recipe, const char* directory, const heed_options* options, heed_record** made) {
  return guarded([&] {
    require_given(recipe, "recipe");
    require_given(directory, "directory");
    OptionReader reader(options);
    heed::TrainOptions training;
    training.recipe = recipe;
    training.output = directory;
    reader.texts(HEED_SETTING, training.overrides);
    reader.choice(HEED_RESUME, training.start, heed::TrainStart::fresh, heed::TrainStart::resume);
    reader.text(HEED_PREPARED, training.prepared);
    reader.integer(HEED_THREADS, training.threads);
    reader.text(HEED_DEVICE, training.device);
    heed::Interruption interruption;
    reader.interruption(interruption);
    EventTeller listener(reader.event_callback(), interruption);
    reader.finish();
    const heed::TrainResult result = heed::train(training, listener);
    put_made({.kind = "trained",
              .figures = {{"parameters", static_cast<double>(result.parameters)}},
              .texts = {std::string(heed::name_of(result.reason))}},
             made);
  });
}
