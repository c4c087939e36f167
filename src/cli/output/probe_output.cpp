#include "cli/output/probe_output.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <vector>

#include "cli/output/json_text.h"

namespace heed::cli {
namespace {

// "0 to 3, 5" for 0, 1, 2, 3, 5.
std::string in_ranges(const std::vector<int64_t>& positions) {
  std::vector<std::string> ranges;
  for (size_t first = 0; first < positions.size();) {
    size_t last = first;
    while (last + 1 < positions.size() && positions[last + 1] == positions[last] + 1) {
      ++last;
    }
    ranges.push_back(first == last ? fmt::format("{}", positions[first])
                                   : fmt::format("{} to {}", positions[first], positions[last]));
    first = last + 1;
  }
  return fmt::format("{}", fmt::join(ranges, ", "));
}

template <class Entries>
size_t name_width(const Entries& entries) {
  size_t width = 0;
  for (const auto& entry : entries) {
    width = std::max(width, entry.name.size());
  }
  return width;
}

std::string parts_table(const Probe& probe) {
  const size_t width = name_width(probe.parts);
  std::string text = fmt::format("{:<{}} {:>12} {:>11} {:>10} {:>10} {:>10}\n", "what comes out of", width, "shape",
                                 "mean", "deviation", "minimum", "maximum");
  for (const ProbedPart& part : probe.parts) {
    text += fmt::format("{:<{}} {:>12} {:>11.4g} {:>10.4g} {:>10.4g} {:>10.4g}\n", part.name, width,
                        fmt::format("[{}, {}]", part.rows, part.columns), part.mean, part.deviation, part.minimum,
                        part.maximum);
  }
  return text;
}

std::string attention_table(const Probe& probe) {
  if (probe.attention.empty()) {
    return "";
  }
  const size_t width = std::max<size_t>(name_width(probe.attention), 17);
  std::string text =
      fmt::format("\n{:<{}} {:>10} {:>10}   on hidden keys\n", "rows of attention", width, "min sum", "max sum");
  for (const ProbedAttention& layer : probe.attention) {
    text += fmt::format("{:<{}} {:>10.6f} {:>10.6f}   {:.3g}\n", layer.name, width, layer.minimum_sum,
                        layer.maximum_sum, layer.on_hidden_keys);
  }
  return text;
}

std::string gradients_table(const std::string& title, const std::vector<ProbedGradient>& gradients) {
  const size_t width = std::max(title.size(), name_width(gradients));
  std::string text = fmt::format("\n{:<{}} {:>14} {:>11} {:>11}\n", title, width, "shape", "gradient", "weights");
  for (const ProbedGradient& one : gradients) {
    text += fmt::format("{:<{}} {:>14} {:>11} {:>11.4g}\n", one.name, width, one.shape,
                        one.trained ? fmt::format("{:.4g}", one.norm) : "frozen", one.weights);
  }
  return text;
}

std::string describe_changes(const Probe& probe) {
  std::string text;
  for (const ProbedChange& change : probe.changes) {
    text += fmt::format("\ntoken {} of the first {} replaced: the {}'s output changed at {} of its {} positions{}\n",
                        change.position, change.stream, change.stack, change.changed.size(), change.length,
                        change.changed.empty() ? "" : ": " + in_ranges(change.changed));
    if (!change.leaks.empty()) {
      text += fmt::format("  LEAK: positions {} must not depend on it\n", in_ranges(change.leaks));
    }
    if (change.other_sequences > 0) {
      text += fmt::format("  LEAK: {} rows of other sequences changed\n", change.other_sequences);
    }
    if (!change.unchanged.empty()) {
      text += fmt::format("  positions {} can see it, but did not change\n", in_ranges(change.unchanged));
    }
  }
  return text;
}

// JSON has no infinities.
std::string number(double value) { return std::isfinite(value) ? fmt::format("{:.9g}", value) : "null"; }

template <class Entries, class Show>
std::string list(const Entries& entries, Show show) {
  std::vector<std::string> shown;
  std::ranges::transform(entries, std::back_inserter(shown), show);
  return fmt::format("[{}]", fmt::join(shown, ", "));
}

std::string gradients_json(const std::vector<ProbedGradient>& gradients) {
  return list(gradients, [](const ProbedGradient& one) {
    return fmt::format("{{\"name\": {}, \"shape\": {}, \"gradient_norm\": {}, \"norm\": {}}}", json_string(one.name),
                       one.shape.empty() ? "null" : one.shape, one.trained ? number(one.norm) : "null",
                       number(one.weights));
  });
}

std::string change_json(const ProbedChange& change) {
  return fmt::format(
      "{{\"stream\": {}, \"position\": {}, \"stack\": {}, \"length\": {}, \"changed\": [{}], \"leaks\": [{}], "
      "\"unchanged\": [{}], \"other_sequences\": {}}}",
      json_string(change.stream), change.position, json_string(change.stack), change.length,
      fmt::join(change.changed, ", "), fmt::join(change.leaks, ", "), fmt::join(change.unchanged, ", "),
      change.other_sequences);
}

}  // namespace

std::string probe_in_tables(const Probe& probe) {
  std::string text = fmt::format("{} sequences, {} random tokens, seed {}, f32, no dropout\n", probe.sequences,
                                 probe.tokens, probe.seed);
  for (const std::string& note : probe.notes) {
    text += note + "\n";
  }
  text += fmt::format("loss {:.4f}", probe.loss);
  text += probe.uniform_guess
              ? fmt::format(" (equal probabilities for all {}: {:.4f})\n\n", probe.outputs, *probe.uniform_guess)
              : "\n\n";
  return text + parts_table(probe) + attention_table(probe) + gradients_table("norms by layer", probe.layers) +
         gradients_table("norms by parameter", probe.parameters) + describe_changes(probe);
}

std::string probe_in_json(const Probe& probe) {
  const std::string parts = list(probe.parts, [](const ProbedPart& part) {
    return fmt::format(
        "{{\"name\": {}, \"shape\": [{}, {}], \"mean\": {}, \"deviation\": {}, \"minimum\": {}, \"maximum\": {}}}",
        json_string(part.name), part.rows, part.columns, number(part.mean), number(part.deviation),
        number(part.minimum), number(part.maximum));
  });
  const std::string attention = list(probe.attention, [](const ProbedAttention& layer) {
    return fmt::format("{{\"name\": {}, \"minimum_sum\": {}, \"maximum_sum\": {}, \"on_hidden_keys\": {}}}",
                       json_string(layer.name), number(layer.minimum_sum), number(layer.maximum_sum),
                       number(layer.on_hidden_keys));
  });
  return fmt::format(
      "{{\"notes\": {}, \"sequences\": {}, \"tokens\": {}, \"seed\": {}, \"loss\": {}, \"uniform_guess\": {}, "
      "\"sound\": {}, \"parts\": {}, \"attention\": {}, \"layers\": {}, \"parameters\": {}, \"changes\": {}}}\n",
      list(probe.notes, json_string), probe.sequences, probe.tokens, probe.seed, number(probe.loss),
      probe.uniform_guess ? number(*probe.uniform_guess) : "null", probe.is_sound(), parts, attention,
      gradients_json(probe.layers), gradients_json(probe.parameters), list(probe.changes, change_json));
}

}  // namespace heed::cli
