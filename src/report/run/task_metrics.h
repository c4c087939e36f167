// What a kind of model reports at validations, with names and units for people.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "models/config.h"

namespace heed {

struct Metric {
  std::string_view key;   // in metrics.jsonl
  std::string_view name;  // "Accuracy"
  std::string_view unit;
  double highest = 1.0;  // infinity where there is none
  int digits = 4;
};

// All that metrics.jsonl may have, besides the loss.
std::span<const Metric> known_metrics();

struct TaskMetrics {
  enum class ComparedBy : uint8_t { loss, first_metric };  // what checkpoints are compared by, unless a recipe says

  std::string_view targets;     // that the loss is the mean of: "texts"
  std::string_view loss_unit;   // "nats per text"
  bool has_perplexity = false;  // whether e to the loss is one
  std::vector<Metric> metrics;  // besides the loss
  ComparedBy compared_by = ComparedBy::loss;
};

TaskMetrics task_metrics(const ModelConfig& model);

}  // namespace heed
