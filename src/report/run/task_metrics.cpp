#include "report/run/task_metrics.h"

#include <algorithm>
#include <array>
#include <initializer_list>
#include <limits>

#include "base/errors.h"

namespace heed {
namespace {

constexpr std::string_view kShare = "share that is predicted correctly", kUpToOne = "at most 1",
                           kCorrelation = "-1 to 1";

constexpr std::array kMetrics{
    Metric{"bleu", "BLEU", "0 to 100", 100.0, 2},
    Metric{"bits_per_byte", "Bits per byte", "of the text as it is stored", std::numeric_limits<double>::infinity()},
    Metric{"accuracy", "Accuracy", kShare},
    Metric{"f1_micro", "Micro F1", kUpToOne},
    Metric{"f1_macro", "Macro F1", kUpToOne},
    Metric{"matthews", "Matthews correlation", kCorrelation},
    Metric{"exact", "Exact match", "share of texts with exactly the right labels"},
    Metric{"spearman", "Spearman correlation", kCorrelation},
    Metric{"pearson", "Pearson correlation", kCorrelation}};

std::vector<Metric> metrics_of(std::initializer_list<std::string_view> keys) {
  std::vector<Metric> found;
  for (const std::string_view key : keys) {
    const auto it = std::ranges::find(kMetrics, key, &Metric::key);
    ensure(it != kMetrics.end(), "report", "there is no metric '{}'", key);
    found.push_back(*it);
  }
  return found;
}

TaskMetrics encoder_metrics(Head head) {
  constexpr auto kByFirst = TaskMetrics::ComparedBy::first_metric;
  switch (head) {
    case Head::one_label:
      return {"texts", "nats per text", false, metrics_of({"accuracy", "f1_macro", "matthews"}), kByFirst};
    case Head::token_labels:
      return {"words", "nats per word", false, metrics_of({"accuracy", "f1_macro", "matthews"}), kByFirst};
    case Head::several_labels:
      return {"texts", "nats per text, summed over the labels", false, metrics_of({"f1_micro", "f1_macro", "exact"}),
              kByFirst};
    case Head::number:
      return {"texts", "half the squared error", false, metrics_of({"spearman", "pearson"}), kByFirst};
    case Head::tokens:
    case Head::none:
      break;
  }
  return {"chosen tokens", "nats per chosen token", true, metrics_of({"accuracy"})};
}

}  // namespace

std::span<const Metric> known_metrics() { return kMetrics; }

TaskMetrics task_metrics(const ModelConfig& model) {
  switch (model.architecture) {
    case Architecture::encoder:
      return encoder_metrics(model.head);
    case Architecture::causal_lm:
      return {"target tokens", "nats per token", true, metrics_of({"bits_per_byte"})};
    case Architecture::seq2seq:
      break;
  }
  return {"target tokens", "nats per token", true, metrics_of({"bleu"})};
}

}  // namespace heed
