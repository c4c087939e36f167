#include "heed/train.h"

#include "arguments.h"
#include "calls.h"
#include "parts.h"

namespace heed::python {
namespace {

py::dict dict_of(const TrainStatus& status) {
  py::dict event;
  event["event"] = "train";
  event["update"] = status.update;
  event["epoch"] = status.epoch;
  event["loss"] = status.loss;
  event["negative_log_likelihood"] = status.negative_log_likelihood;
  event["learning_rate"] = status.learning_rate;
  event["gradient_norm"] = status.gradient_norm;
  event["tokens_per_second"] = status.target_tokens_per_second;
  event["seconds"] = status.seconds;
  event["fraction"] = status.fraction;
  return event;
}

py::dict dict_of(const ValidationStatus& status) {
  py::dict event;
  event["event"] = "validation";
  event["update"] = status.update;
  event["loss"] = status.scores.loss;
  for (const NamedScore& score : status.scores.others) {
    event[py::str(score.name)] = score.value;
  }
  event["seconds"] = status.seconds;
  event["best"] = status.best;
  return event;
}

// Tells callbacks of each event. Training ends, with its state saved, when one raises or returns something true, and on
// Ctrl-C.
class Callbacks final : public TrainListener {
 public:
  Callbacks(const std::vector<py::function>& callables, CallbackFailure& failure, const Interruption& interruption)
      : callables_(callables), failure_(failure), interruption_(interruption) {}

  void on_message(const std::string& message) override {
    tell([&] {
      py::dict event;
      event["event"] = "message";
      event["message"] = message;
      return event;
    });
  }
  void on_start() override {}
  void on_status(const TrainStatus& status) override {
    tell([&] { return dict_of(status); });
  }
  void on_validation(const ValidationStatus& status) override {
    tell([&] { return dict_of(status); });
  }
  bool wants_to_stop() override { return stops_ || interruption_.stop.stop_requested(); }

 private:
  template <class Make>
  void tell(const Make& make) {
    if (callables_.empty()) {
      return;
    }
    const py::gil_scoped_acquire acquire;
    const py::dict event = make();
    for (const py::function& callable : callables_) {
      stops_ = !failure_.goes_on_after([&] { return callable(event); }) || stops_;
    }
  }

  const std::vector<py::function>& callables_;
  CallbackFailure& failure_;
  const Interruption& interruption_;
  bool stops_ = false;
};

}  // namespace

void add_training(py::module_& module) {
  module.def(
      "_train",
      [](const py::object& recipe, const py::object& output, const std::vector<py::function>& callbacks,
         const py::object& overrides, const py::object& resume, const py::object& threads, const py::object& device) {
        TrainOptions options{.recipe = path_of(recipe, "recipe"),
                             .output = path_of(output, "output"),
                             .overrides = list_of(overrides, "overrides"),
                             .prepared = {},
                             .layout = {},
                             .start = value_of<bool>(resume, "resume") ? TrainStart::resume : TrainStart::fresh,
                             .threads = value_of<int>(threads, "threads"),
                             .device = value_of<std::string>(device, "device")};
        CallbackFailure failure;
        TrainResult result;
        run_call([&](const Interruption& interruption, std::stop_source&) {
          Callbacks listener(callbacks, failure, interruption);
          result = train(options, listener);
        });
        failure.raise();
        py::dict summary;
        summary["reason"] = std::string(name_of(result.reason));
        summary["parameters"] = result.parameters;
        return summary;
      },
      py::arg("recipe"), py::arg("output"), py::arg("callbacks"), py::arg("overrides"), py::arg("resume"),
      py::arg("threads"), py::arg("device"));
}

}  // namespace heed::python
