#include "train/run/run_events.h"

#include <chrono>
#include <nlohmann/json.hpp>

namespace heed {

using nlohmann::json;

std::string to_json(const TrainingStart& start) {
  const auto time = std::chrono::system_clock::now().time_since_epoch();
  json line({{"event", "start"},
             {"update", start.update},
             {"time", std::chrono::duration_cast<std::chrono::seconds>(time).count()},
             {"parameters", start.parameters},
             {"trained_parameters", start.trained_parameters},
             {"precision", start.precision},
             {"threads", start.threads},
             {"task", start.task}});
  if (!start.layout.empty()) {
    line["layout"] = start.layout;
  }
  for (const auto& [name, size] : start.sizes) {
    line[name] = size;
  }
  return line.dump();
}

std::string to_json(const TrainStatus& status) {
  json line({{"event", "train"},
             {"update", status.update},
             {"epoch", status.epoch},
             {"loss", status.loss},
             {"nll", status.negative_log_likelihood},
             {"kl", status.kl_divergence},
             {"learning_rate", status.learning_rate},
             {"gradient_norm", status.gradient_norm},
             {"target_tokens_per_second", status.target_tokens_per_second},
             {"seconds", status.seconds},
             {"peak_memory_bytes", status.peak_memory_bytes}});
  for (const RankStatus& rank : status.ranks) {
    line["ranks"].push_back({{"seconds", rank.seconds},
                             {"waited", rank.waited},
                             {"sent_bytes", rank.sent_bytes},
                             {"peak_memory_bytes", rank.peak_memory_bytes},
                             {"optimizer_bytes", rank.optimizer_bytes}});
  }
  return line.dump();
}

std::string to_json(const ValidationStatus& status) {
  json line{{"event", "validation"},
            {"update", status.update},
            {"loss", status.scores.loss},
            {"seconds", status.seconds},
            {"best", status.best}};
  for (const NamedScore& score : status.scores.others) {
    line[score.name] = score.value;
  }
  for (const Sample& sample : status.scores.samples) {
    line["samples"].push_back({{"prompt", sample.prompt}, {"text", sample.text}});
  }
  for (const LabelFigures& label : status.scores.labels) {
    line["labels"].push_back(
        {{"label", label.label}, {"expected", label.expected}, {"predicted", label.predicted}, {"right", label.right}});
    if (!label.predicted_as.empty()) {
      line["labels"].back()["predicted_as"] = label.predicted_as;
    }
  }
  return line.dump();
}

std::string to_json(const TrainingEnd& end) {
  return json({{"event", "end"}, {"update", end.update}, {"reason", name_of(end.reason)}, {"seconds", end.seconds}})
      .dump();
}

}  // namespace heed
