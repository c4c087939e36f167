#include "tune/trials.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "base/errors.h"
#include "base/random.h"

namespace heed {
namespace {

constexpr double kNearlySame = 1.25;

constexpr std::array<std::string_view, 8> kNotVaried{"training.task",    "training.from",    "training.seed",
                                                     "training.minutes", "training.updates", "training.epochs",
                                                     "data.prepared",    "training.layout"};

void require_comparable(const std::string& key) {
  const bool compares = key.starts_with("validation.") || key.starts_with("data.validation") ||
                        key == "preference.beta";  // which scales the loss
  require<ConfigError>(!compares, fmt::format("--vary {}", key),
                       "runs are compared by their validation: it must be the same");
  require<ConfigError>(std::ranges::count(kNotVaried, key) == 0, fmt::format("--vary {}", key),
                       "runs are compared side by side: what they learn and how long they are must be the same");
}

Change number(std::string_view key, double value) { return {std::string(key), fmt::format("{:.3g}", value)}; }

class UsualChanges {
 public:
  explicit UsualChanges(const Recipe& recipe) : recipe_(recipe) {}

  void peak(double value) {
    const double ratio = value / recipe_.schedule.peak;
    const bool is_new = std::ranges::none_of(
        peaks_, [&](double other) { return std::max(value / other, other / value) < kNearlySame; });
    if (is_new && std::max(ratio, 1.0 / ratio) >= kNearlySame) {
      peaks_.push_back(value);
      Changes changes{number("schedule.peak", value)};
      if (recipe_.schedule.final > value) {
        changes.push_back(number("schedule.final", value));
      }
      add(std::move(changes));
    }
  }

  // Embeddings and branches have the same rate in most recipes, and change together.
  void dropout(double step) {
    const double before = static_cast<double>(recipe_.model.branch_dropout.value);
    const double after = std::round(1000.0 * std::clamp(before + step, 0.0, 0.5)) / 1000.0;
    if (std::abs(after - before) > 1e-6) {
      add({number("model.embedding_dropout", after), number("model.branch_dropout", after)});
    }
  }

  void warmup(double factor) {
    const auto updates = static_cast<int64_t>(factor * static_cast<double>(recipe_.schedule.warmup));
    if (recipe_.schedule.warmup > 0 && updates > 0) {
      add({{"schedule.warmup", std::to_string(updates)}});
    }
  }

  void width(double factor) {
    const ModelConfig& model = recipe_.model;
    const int64_t unit = 8 * model.heads;
    const auto scaled = [factor](int64_t size, int64_t to) {
      return std::max<int64_t>(1, std::llround(factor * static_cast<double>(size) / static_cast<double>(to))) * to;
    };
    if (model.inner.is_uniform() && model.head_width == 0 && model.embedding_width == 0) {
      add({{"model.model", std::to_string(scaled(model.model, unit))},
           {"model.inner", std::to_string(scaled(model.inner.of(0), 8))}});
    }
  }

  void layers(int64_t more) {
    Changes changes;
    const auto change = [&](std::string_view key, int64_t layers) {
      if (layers > 0) {
        changes.push_back({std::string(key), std::to_string(layers + more)});
      }
    };
    change("model.encoder_layers", recipe_.model.layers_of(Stack::encoder));
    change("model.decoder_layers", recipe_.model.layers_of(Stack::decoder));
    add(std::move(changes));
  }

  std::vector<Changes> take() { return std::move(all_); }

 private:
  void add(Changes changes) { all_.push_back(std::move(changes)); }

  const Recipe& recipe_;
  std::vector<double> peaks_;
  std::vector<Changes> all_;
};

}  // namespace

std::string describe(const Changes& changes) {
  std::string text;
  for (const Change& change : changes) {
    text += (text.empty() ? "" : " ") + change.assignment();
  }
  return text.empty() ? "the recipe" : text;
}

VariedSetting parse_varied(const std::string& text) {
  const size_t equals = text.find('=');
  const std::string where = fmt::format("--vary {}", text);
  require<ConfigError>(equals != std::string::npos && text.find('.') < equals, where, "expected table.key=value,value");
  VariedSetting varied{text.substr(0, equals), {""}};
  require_comparable(varied.key);
  int depth = 0;
  char quote = 0;
  for (const char c : text.substr(equals + 1)) {
    if (quote != 0 ? c == quote : c == '"' || c == '\'') {
      quote = quote == 0 ? c : '\0';
    }
    depth += quote != 0 ? 0 : c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == ',' && depth == 0 && quote == 0) {
      varied.values.emplace_back();
    } else {
      varied.values.back() += c;
    }
  }
  require<ConfigError>(std::ranges::count(varied.values, "") == 0, where, "has an empty value");
  return varied;
}

std::vector<Changes> combinations(std::span<const VariedSetting> varied) {
  std::vector<Changes> all{{}};
  for (const VariedSetting& setting : varied) {
    std::vector<Changes> longer;
    longer.reserve(all.size() * setting.values.size());
    for (const Changes& changes : all) {
      for (const std::string& value : setting.values) {
        longer.push_back(changes);
        longer.back().push_back({setting.key, value});
      }
    }
    require<ConfigError>(longer.size() <= 10'000, "--vary", "makes {} combinations, expected at most 10000",
                         longer.size());
    all = std::move(longer);
  }
  return all;
}

std::vector<Changes> usual_changes(const Recipe& recipe, const RateRange& range) {
  UsualChanges usual(recipe);
  const double peak = recipe.schedule.peak;
  const bool knows = range.suggested > 0.0;
  if (knows) {
    usual.peak(range.suggested);
  }
  if (!knows || 2.0 * peak < range.highest) {
    usual.peak(2.0 * peak);
  }
  usual.dropout(0.1);
  usual.peak(0.5 * peak);
  usual.dropout(-0.1);
  // A slower model would have fewer updates in the same time, and end before its rate has come down.
  const bool may_be_slower = recipe.training.minutes > 0.0 && !has_length(recipe.schedule.kind);
  if (may_be_slower && recipe.training.from.empty()) {
    usual.width(1.5);
    usual.width(0.67);
    usual.layers(2);
  }
  usual.warmup(2.0);
  usual.warmup(0.5);
  if (!knows || 4.0 * peak < range.highest) {
    usual.peak(4.0 * peak);
  }
  return usual.take();
}

std::vector<Changes> spread(std::vector<Changes> all, size_t count) {
  if (all.size() <= count) {
    return all;
  }
  std::vector<size_t> order(all.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [](size_t i) { return uniform_draw(RandomKey{1}, i); });  // always the same
  order.resize(count);
  std::ranges::sort(order);
  std::vector<Changes> chosen;
  chosen.reserve(count);
  for (const size_t index : order) {
    chosen.push_back(std::move(all[index]));
  }
  return chosen;
}

}  // namespace heed
