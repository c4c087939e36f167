#include "report/figures/model_facts.h"

#include <algorithm>

#include "models/config_keys.h"
#include "report/figures/html.h"

namespace heed {
namespace {

constexpr size_t kMaxPatterns = 6;  // that are listed
constexpr size_t kMaxLabels = 8;

void append(Facts& facts, const Facts& more) { facts.insert(facts.end(), more.begin(), more.end()); }

// Layers that take turns, with runs of equal ones counted: "2 × local:128 / full".
Facts pattern_facts(const ModelConfig& config, Stack stack) {
  const std::vector<LayerPattern> layers = config.patterns_of(stack);
  std::vector<std::string> runs;
  for (auto layer = layers.begin(); layer != layers.end();) {
    const auto end = std::find_if(layer, layers.end(), [&](const LayerPattern& other) { return other != *layer; });
    const std::string text = escape_html(to_text(*layer));
    runs.push_back(end - layer == 1 || layers.size() == 1 ? text : fmt::format("{} &#215; {}", end - layer, text));
    layer = end;
  }
  if (runs.size() == 1 && to_text(layers.front()) == "full") {
    return {};
  }
  if (runs.size() == 1) {
    return {escape_html(to_text(layers.front()))};
  }
  const size_t shown = std::min(runs.size(), kMaxPatterns);
  std::string text = fmt::format("{}", fmt::join(runs.begin(), runs.begin() + static_cast<int64_t>(shown), " / "));
  if (shown < runs.size()) {
    text += fmt::format(" / {} more", runs.size() - shown);
  }
  return {text};
}

Facts rotary_facts(const ModelConfig& config) {
  const int64_t columns = config.rotary_width > 0 ? config.rotary_width : config.width_of_head();
  Facts facts{columns == config.width_of_head()
                  ? "rotary positions"
                  : fmt::format("rotary positions in {} of {} columns", columns, config.width_of_head())};
  if (!config.rotary_base.is_uniform()) {
    facts.front() += fmt::format(" of base {}", describe(config.rotary_base));
  }
  if (config.rotary_scaling != RotaryScaling::none) {
    facts.push_back(
        fmt::format("{} scaling by {}", describe_setting(config, "rotary_scaling"), describe(config.rotary_factor)));
  }
  return facts;
}

// Positions that act between queries and keys.
Facts position_facts(const ModelConfig& config) {
  switch (config.positions) {
    case Positions::rotary:
      return rotary_facts(config);
    case Positions::alibi:
      return {"ALiBi"};
    case Positions::relative_bias:
    case Positions::learned_relative_bias:
      return {fmt::format("relative bias of {} buckets", config.relative_buckets)};
    case Positions::relative_keys:
      return {fmt::format("relative keys up to distance {}", config.relative_clip)};
    case Positions::relative_keys_values:
      return {fmt::format("relative keys and values up to distance {}", config.relative_clip)};
    default:
      return {};
  }
}

Facts head_facts(const ModelConfig& config) {
  Facts facts{fmt::format("{} of {}", counted(config.heads, "head"), config.width_of_head())};
  if (const std::string keys = config.key_heads_text(); keys != fmt::format("{}", config.heads)) {
    facts.push_back(fmt::format("{} of keys and values", keys));
  }
  if (config.width_of_values() != config.width_of_head()) {
    facts.push_back(fmt::format("values of {}", config.width_of_values()));
  }
  return facts;
}

// What is done to queries, keys and scores.
Facts score_facts(const ModelConfig& config) {
  Facts facts;
  if (config.head_norm != HeadNorm::none) {
    facts.emplace_back("Q and K normed");
  }
  if (config.attention_scale > 0.0) {
    facts.push_back(fmt::format("scores times {:g}", config.attention_scale));
  }
  if (config.attention_cap > 0.0) {
    facts.push_back(fmt::format("scores within &#177;{:g}", config.attention_cap));
  }
  return facts;
}

// "3 labels: a, b, c", or their number alone where they are many.
Facts label_facts(const ModelConfig& config) {
  if (config.head == Head::number) {
    return {"a number"};
  }
  const std::string count = counted(static_cast<int64_t>(config.labels.size()), "label");
  if (config.labels.empty() || config.labels.size() > kMaxLabels) {
    return {count};
  }
  Facts facts;
  for (const std::string& label : config.labels) {
    facts.push_back(escape_html(label));
  }
  facts.front().insert(0, count + ": ");
  return facts;
}

}  // namespace

std::string describe_setting(const ModelConfig& config, std::string_view key) {
  ModelConfig copy = config;
  const SettingTable table = model_settings(copy);
  const auto it = std::ranges::find(table.settings, key, &Setting::name);
  std::string text = it == table.settings.end() ? "" : it->show();
  std::erase(text, '"');
  return text;
}

Facts embedding_facts(const ModelConfig& config) {
  Facts facts;
  if (config.embedding_scale == EmbeddingScale::sqrt_model) {
    facts.push_back(fmt::format("times &#8730;{}", config.model));
  }
  if (config.positions == Positions::sinusoidal || are_learned(config.positions)) {
    facts.push_back(fmt::format("{} positions", are_learned(config.positions) ? "learned" : "sinusoidal"));
    if (config.positions == Positions::sinusoidal && config.sinusoid != SinusoidLayout::interleaved) {
      facts.back() += fmt::format(" in {}", describe_setting(config, "sinusoid"));
    }
    if (config.position_offset > 0) {
      facts.back() += fmt::format(" from {}", config.position_offset);
    }
  } else if (config.positions == Positions::none) {
    facts.emplace_back("no positions");
  }
  if (config.token_types > 0) {
    facts.push_back(counted(config.token_types, "token type"));
  }
  if (config.bigrams > 0) {
    facts.push_back(counted(config.bigrams, "row") + " of bigrams");
  }
  if (config.embedding_norm == EmbeddingNorm::present) {
    facts.emplace_back("normed");
  }
  if (config.embedding_width > 0) {
    facts.push_back(fmt::format("from {} to {}", config.embedding_width, config.model));
  }
  return facts;
}

Facts head_layer_facts(const ModelConfig& config) {
  Facts facts{describe_setting(config, "head_layer")};
  if (config.head_layer_norm == HeadLayerNorm::present) {
    facts.emplace_back("normed");
  }
  return facts;
}

Facts self_attention_facts(const ModelConfig& config, Stack stack) {
  if (stack == Stack::decoder && config.is_recurrent()) {
    return {"forget gate and candidate", "relu"};
  }
  Facts facts = head_facts(config);
  append(facts, pattern_facts(config, stack));
  append(facts, position_facts(config));
  if (config.has_value_embeddings()) {
    facts.emplace_back("value embeddings");
  }
  append(facts, score_facts(config));
  return facts;
}

Facts cross_attention_facts(const ModelConfig& config) {
  Facts facts = head_facts(config);
  append(facts, score_facts(config));
  return facts;
}

Facts feed_forward_facts(const ModelConfig& config) {
  const bool gated = config.gating == Gating::gated;
  Facts facts{
      fmt::format("{0} &#8594; {1}{2} &#8594; {0}", config.model, gated ? "2 &#183; " : "", describe(config.inner)),
      describe_setting(config, "activation")};
  if (gated) {
    facts.emplace_back("gated");
  }
  return facts;
}

Facts output_facts(const ModelConfig& config) {
  if (config.head != Head::tokens) {
    return label_facts(config);
  }
  Facts facts{config.tying != Tying::none ? "the embedding's table" : "a table of its own"};
  if (config.output_scale != 1.0) {
    facts.push_back(fmt::format("of inputs times {:.3g}", config.output_scale));
  }
  if (config.logit_cap > 0.0) {
    facts.push_back(fmt::format("within &#177;{:g}", config.logit_cap));
  }
  return facts;
}

std::string describe_prediction(const ModelConfig& config) {
  switch (config.head) {
    case Head::one_label:
      return "one label of each text";
    case Head::several_labels:
      return "any number of labels of each text";
    case Head::number:
      return "a number for each text";
    case Head::token_labels:
      return "a label of each token";
    default:
      return config.architecture == Architecture::encoder ? "the masked tokens" : "the next token";
  }
}

}  // namespace heed
