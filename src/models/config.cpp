#include "models/config.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "base/text/plural.h"
#include "models/config_keys.h"

namespace heed {
namespace {

// Larger values are mistakes.
constexpr int64_t kLargest = int64_t{1} << 24;  // any one extent
constexpr int64_t kDeepest = 1024;              // layers of a stack
constexpr int64_t kMaxDistance = 1 << 16;       // that a relative bias tells apart
constexpr int64_t kMaxTokenTypes = 1024;
constexpr double kMaxElements = 1e12;  // all parameters and position tables together

template <class... Args>
void check(bool condition, fmt::format_string<Args...> message, Args&&... args) {
  require<ConfigError, Args...>(condition, "model", message, std::forward<Args>(args)...);
}

void check_extent(std::string_view name, int64_t value, int64_t least, int64_t most = kLargest) {
  check(value >= least && value <= most, "{} is {}, expected {} to {}", name, value, least, most);
}

// Roughly all matrices and position tables. In double, which no product of the extents overflows.
double estimated_elements(const ModelConfig& config) {
  const auto number = [](int64_t value) { return static_cast<double>(value); };
  const double model = number(config.model);
  const double tables =
      model * (number(config.source_vocabulary) + 2.0 * number(config.target_vocabulary) + number(config.bigrams) +
               (config.positions == Positions::none ? 0.0 : 2.0 * number(config.max_length + config.position_offset)));
  double layers = 0.0;
  for (int64_t i = 0; i < std::max(config.encoder_layers, config.decoder_layers); ++i) {
    const double attention = model * (number(config.width_of_head()) + number(config.width_of_values())) *
                             (number(config.heads) + number(config.heads_of_keys(i)));
    const double feed_forward = model * number(config.inner.of(i)) * (config.gating == Gating::gated ? 3.0 : 2.0);
    const double values = config.value_embeddings.of(i) == 0
                              ? 0.0
                              : number(config.heads_of_keys(i)) * number(config.width_of_values()) *
                                    (number(config.source_vocabulary) + number(config.target_vocabulary));
    layers += values;
    layers += i < config.encoder_layers ? attention + feed_forward : 0.0;
    layers += i < config.decoder_layers ? 2.0 * attention + feed_forward : 0.0;
  }
  return layers + tables;
}

void check_probability(std::string_view name, Probability p) {
  check(p.value >= 0.0F && p.value < 1.0F, "{} is {}, expected at least 0 and below 1", name, p.value);
}

// Half of a direction's buckets hold one distance each, and the furthest of those must be below the maximum.
void check_buckets(const ModelConfig& config) {
  const bool both_ways = config.architecture != Architecture::causal_lm;
  const int64_t least = both_ways ? 4 : 2, most = least * (kMaxDistance - 1), exact = config.relative_buckets / least;
  if (config.has_relative_bias()) {
    check(config.relative_buckets >= least && config.relative_buckets <= most && config.relative_buckets % least == 0,
          "relative_buckets is {}, expected a multiple of {}{}, at most {}", config.relative_buckets, least,
          both_ways ? ", for the keys before and after" : "", most);
    check(
        config.relative_max_distance > exact && config.relative_max_distance <= kMaxDistance,
        "relative_max_distance is {}, expected {} to {}, since half of the {} relative_buckets hold one distance each",
        config.relative_max_distance, exact + 1, kMaxDistance, config.relative_buckets);
  }
}

void check_pattern(const ModelConfig& config, const LayerPattern& pattern, int64_t layer) {
  const bool adds_to_scores =
      config.positions == Positions::alibi || config.has_relative_bias() || config.has_relative_keys();
  const bool rotates = config.rotary(layer).dims > 0;
  const int64_t parts = std::ssize(pattern), keys = config.heads_of_keys(layer);
  check((!adds_to_scores && !rotates) || !is_linear(pattern),
        "attention \"linear\" sums over keys before it meets a query, so that positions can't depend on both: use "
        "positions \"none\", \"sinusoidal\" or \"learned\"{}",
        rotates ? ", or rotary_base 0 in that layer" : "");
  check(config.attention_cap == 0.0 || !is_linear(pattern),
        "attention_cap limits scores, but attention \"linear\" has none: leave it at 0");
  check(keys % parts == 0, "attention \"{}\" has {} parts, which do not divide {} head{}{}", to_text(pattern), parts,
        keys, plural(keys), keys == config.heads ? "" : " of keys and values");
  check(!adds_to_scores || (parts == 1 && pattern.front().kind != HeadPattern::Kind::strided),
        "positions \"alibi\", \"relative-bias\", \"relative-keys\" and \"relative-keys-values\" need one pattern for "
        "all heads of a layer, full or local, but attention has \"{}\"",
        to_text(pattern));
  for (const HeadPattern& part : pattern) {
    check(part.kind != HeadPattern::Kind::strided || part.size < config.max_length,
          "attention \"{}\" sees no other token in sequences of at most {} tokens (max_length)",
          to_text(LayerPattern{part}), config.max_length);
  }
}

void check_attention(const ModelConfig& config) {
  check(!config.attention.empty(), "attention has no pattern, expected at least one: [\"full\"]");
  const bool one_list = config.encoder_attention.empty() && config.decoder_attention.empty();
  check(one_list || config.architecture == Architecture::seq2seq,
        "encoder_attention and decoder_attention are for architecture \"seq2seq\": write attention instead");
  const bool plain = one_list && config.attention == std::vector<LayerPattern>{{{}}};
  check(config.window == 0 || plain, "both window and {} are set: write \"local:{}\" in {} instead",
        one_list ? "attention" : "patterns of one stack", config.window, one_list ? "attention" : "these");
  for (const Stack stack : {Stack::encoder, Stack::decoder}) {
    for (int64_t layer = 0; layer < config.layers_of(stack); ++layer) {
      check_pattern(config, config.pattern_of(stack, layer), layer);
    }
  }
}

template <class Value>
void check_count(std::string_view name, const PerLayer<Value>& setting, int64_t layers) {
  check(std::ssize(setting.values()) <= std::max<int64_t>(1, layers), "{} has {} values for {} layer{}", name,
        setting.values().size(), layers, plural(layers));
}

void check_layers(const ModelConfig& config) {
  const int64_t layers = config.layers_of_deepest_stack();
  check_count("inner", config.inner, layers);
  check_count("key_value_heads", config.key_value_heads, layers);
  check_count("rotary_base", config.rotary_base, layers);
  check_count("rotary_factor", config.rotary_factor, layers);
  check_count("value_embeddings", config.value_embeddings, layers);
  for (const int64_t inner : config.inner.values()) {
    check_extent("inner", inner, 1);
  }
  for (const int64_t heads : config.key_value_heads.values()) {
    check_extent("key_value_heads", heads, 0);
    check(heads == 0 || config.heads % heads == 0, "key_value_heads {} does not divide heads {}", heads, config.heads);
  }
}

void check_value_embeddings(const ModelConfig& config) {
  const std::vector<int64_t>& tables = config.value_embeddings.values();
  for (const int64_t table : tables) {
    check_extent("value_embeddings", table, 0, kDeepest);
    check(table < 2 || std::ranges::count(tables, table - 1) > 0,
          "value_embeddings has table {} but no table {}: number them from 1", table, table - 1);
  }
  check(!config.has_value_embeddings() || config.key_value_heads.is_uniform(),
        "value_embeddings need the same key_value_heads in all layers, which share tables");
  check(!config.has_value_embeddings() || !config.is_recurrent(),
        "value_embeddings are added to values, which autoregression = \"ssru\" does not have");
}

void check_skips(const ModelConfig& config) {
  check(config.skips == Skips::none || config.placement != NormPlacement::post,
        "skips add to a layer's input, which norm_placement = \"post\" has normalized: use another");
  check(config.skips == Skips::none || config.shared_layers == SharedLayers::no,
        "skips tell layers apart, but shared_layers is true");
}

void check_recurrence(const ModelConfig& config) {
  check(!config.is_recurrent() || config.architecture == Architecture::seq2seq,
        "autoregression = \"ssru\" is for the decoder of architecture \"seq2seq\"");
  check(
      !config.is_recurrent() || config.positions == Positions::none || config.positions == Positions::sinusoidal ||
          config.positions == Positions::learned,
      "autoregression = \"ssru\" forms no pairs of tokens, so positions can't depend on both: use positions \"none\", "
      "\"sinusoidal\" or \"learned\"");
}

// What layers that are the same can't differ in.
void check_shared_layers(const ModelConfig& config) {
  const bool alike = config.inner.is_uniform() && config.key_value_heads.is_uniform() &&
                     config.rotary_base.is_uniform() && config.rotary_factor.is_uniform() &&
                     config.value_embeddings.is_uniform();
  check(config.shared_layers == SharedLayers::no || alike,
        "shared_layers is true, but inner, key_value_heads, rotary_base, rotary_factor or value_embeddings differs by "
        "layer");
  for (const Stack stack : {Stack::encoder, Stack::decoder}) {
    for (int64_t layer = 1; layer < config.layers_of(stack); ++layer) {
      check(config.shared_layers == SharedLayers::no || config.pattern_of(stack, layer) == config.pattern_of(stack, 0),
            "shared_layers is true, but attention differs by layer");
    }
  }
}

void check_labels(const ModelConfig& config) {
  std::set<std::string> known;
  for (const std::string& label : config.labels) {
    check(known.insert(label).second, "labels has '{}' twice", label);
  }
}

void check_rotary_turns(const ModelConfig& config) {
  const double slow = config.rotary_slow_turns, fast = config.rotary_fast_turns;
  for (const auto& [name, value] : {std::pair{"rotary_slow_turns", slow}, std::pair{"rotary_fast_turns", fast},
                                    std::pair{"rotary_magnitude", config.rotary_magnitude}}) {
    check(std::isfinite(value) && value >= 0.0, "{} is {}, expected above 0, or 0 for what the scaling has", name,
          value);
  }
  const double least_fast = config.rotary_scaling == RotaryScaling::llama3 ? 4.0 : 32.0;
  const double slowest = slow > 0.0 ? slow : 1.0, fastest = fast > 0.0 ? fast : least_fast;
  check(!is_by_turns(config.rotary_scaling) || slowest < fastest,
        "rotary_slow_turns is {}, which is not below rotary_fast_turns {}", slowest, fastest);
}

void check_rotary(const ModelConfig& config) {
  const std::vector<double>& bases = config.rotary_base.values();
  for (const double base : bases) {
    const bool is_none = base == 0.0 && bases.size() > 1;  // a layer without positions among others
    check(std::isfinite(base) && (base > 0.0 || is_none), "rotary_base is {}, expected above 0{}", base,
          bases.size() > 1 ? ", or 0 for a layer without positions" : "");
    check(
        config.positions != Positions::rotary || config.rotary_scaling != RotaryScaling::yarn || base > 1.0 || is_none,
        "rotary_base is {}, expected above 1 for rotary_scaling = \"yarn\"", base);
  }
  check(std::ranges::any_of(bases, [](double base) { return base > 0.0; }),
        "rotary_base is 0 in all layers: write positions = \"none\"");
  for (const double factor : config.rotary_factor.values()) {
    check(std::isfinite(factor) && factor >= 1.0, "rotary_factor is {}, expected at least 1", factor);
  }
  check_extent("rotary_trained_length", config.rotary_trained_length, 0);
  check_rotary_turns(config);
  check_extent("rotary_width", config.rotary_width, 0);
  const bool scaled = config.rotary_scaling != RotaryScaling::none;
  if (config.positions != Positions::rotary) {
    return;
  }
  for (const double factor : config.rotary_factor.values()) {
    check(scaled || factor == 1.0, "rotary_factor is {}, but rotary_scaling is \"none\"", factor);
  }
  check(!is_by_turns(config.rotary_scaling) || config.rotary_trained_length > 0 || config.rotary_factor.is_uniform(),
        "rotary_factor differs by layer, so that rotary_trained_length, which {} needs, does not follow from it",
        config.rotary_scaling == RotaryScaling::yarn ? "yarn" : "llama3");
  check(config.rotary_width <= config.width_of_head(), "rotary_width is {}, but a head has {} columns",
        config.rotary_width, config.width_of_head());
  const int64_t columns = config.rotary_width > 0 ? config.rotary_width : config.width_of_head();
  check(columns % 2 == 0, "rotary positions rotate pairs of columns, but {} has {} columns",
        config.rotary_width > 0 ? "rotary_width" : "a head", columns);
}

}  // namespace

std::vector<LayerPattern> ModelConfig::patterns_of(Stack stack) const {
  if (stack == Stack::decoder && is_recurrent()) {
    return {{{}}};
  }
  if (window > 0) {
    return {{{HeadPattern::Kind::local, window}}};
  }
  const std::vector<LayerPattern>& own = stack == Stack::encoder ? encoder_attention : decoder_attention;
  return own.empty() ? attention : own;
}

bool ModelConfig::has_value_embeddings() const {
  return std::ranges::any_of(value_embeddings.values(), [](int64_t table) { return table > 0; });
}

LayerPattern ModelConfig::pattern_of(Stack stack, int64_t layer) const {
  const std::vector<LayerPattern> patterns = patterns_of(stack);
  return patterns[static_cast<size_t>(layer) % patterns.size()];
}

std::vector<LayerPattern> ModelConfig::patterns_in_use() const {
  std::vector<LayerPattern> patterns;
  for (const Stack stack : {Stack::encoder, Stack::decoder}) {
    for (int64_t layer = 0; layer < layers_of(stack); ++layer) {
      patterns.push_back(pattern_of(stack, layer));
    }
  }
  return patterns;
}

std::string ModelConfig::key_heads_text() const {
  return describe(key_value_heads.with_each([this](int64_t own) { return own > 0 ? own : heads; }));
}

int64_t ModelConfig::most_heads_of_keys(int64_t layers) const {
  int64_t most = 0;
  for (int64_t layer = 0; layer < layers; ++layer) {
    most = std::max(most, heads_of_keys(layer));
  }
  return most;
}

// Linear attention reads those of a chunk that is not summed yet.
int64_t ModelConfig::cached_window() const {
  if (is_recurrent()) {
    return 2;  // a token and the cell of the one before it
  }
  int64_t most = 0;
  for (int64_t layer = 0; layer < layers_of(Stack::decoder); ++layer) {
    for (const HeadPattern& part : pattern_of(Stack::decoder, layer)) {
      if (part.kind == HeadPattern::Kind::full || part.kind == HeadPattern::Kind::strided) {
        return 0;
      }
      most = std::max(most, part.kind == HeadPattern::Kind::local ? part.size : kLinearChunk);
    }
  }
  return most;
}

std::vector<int64_t> ModelConfig::linear_layers_of_decoder() const {
  std::vector<int64_t> layers;
  for (int64_t layer = 0; layer < layers_of(Stack::decoder); ++layer) {
    if (is_linear(pattern_of(Stack::decoder, layer))) {
      layers.push_back(layer);
    }
  }
  return layers;
}

Bias ModelConfig::bias_of_attention_inputs() const {
  return attention_bias == AttentionBias::inputs ? Bias::present : bias_of_attention_output();
}

Bias ModelConfig::bias_of_attention_output() const {
  if (attention_bias == AttentionBias::as_model) {
    return bias;
  }
  return attention_bias == AttentionBias::all ? Bias::present : Bias::none;
}

Rotary ModelConfig::rotary(int64_t layer) const {
  if (positions != Positions::rotary || rotary_base.of(layer) == 0.0) {
    return {};
  }
  const double factor = rotary_factor.of(layer);
  const double trained =
      rotary_trained_length > 0 ? static_cast<double>(rotary_trained_length) : static_cast<double>(max_length) / factor;
  return {rotary_width > 0 ? rotary_width : width_of_head(),
          rotary_base.of(layer),
          {rotary_scaling, factor, is_by_turns(rotary_scaling) ? trained : 0.0, rotary_slow_turns, rotary_fast_turns,
           rotary_magnitude}};
}

std::vector<std::string> obstacles_to_parts(const ModelConfig& config, int64_t parts) {
  std::vector<std::string> found;
  const auto must = [&](bool condition, const std::string& obstacle) {
    std::string whole = fmt::format("tensor {} {}", parts, obstacle);
    if (!condition && std::ranges::count(found, whole) == 0) {  // once, however many layers have it
      found.push_back(std::move(whole));
    }
  };
  if (parts == 1) {
    return found;
  }
  must(config.heads % parts == 0, fmt::format("does not divide {} head{}", config.heads, plural(config.heads)));
  for (const int64_t keys : config.key_value_heads.values()) {
    must(keys == 0 || keys == config.heads || keys % parts == 0,
         fmt::format("does not divide {} head{} of keys", keys, plural(keys)));
  }
  for (const int64_t inner : config.inner.values()) {
    must(inner % parts == 0, fmt::format("does not divide {} inner columns", inner));
    must(inner % parts != 0 || config.inner_dropout.value == 0.0F || inner / parts % Dropout::kColumnStep == 0,
         fmt::format("leaves each rank {} inner columns, but inner_dropout needs a multiple of {}", inner / parts,
                     Dropout::kColumnStep));
  }
  for (const LayerPattern& pattern : config.patterns_in_use()) {
    const auto patterns = static_cast<int64_t>(pattern.size());
    must(patterns % parts == 0 || parts % patterns == 0,
         fmt::format("does not divide attention \"{}\" of {} patterns", to_text(pattern), patterns));
  }
  must(config.head_norm != HeadNorm::all_heads,
       "does not go with qk_norm = \"all\", which normalizes all heads together");
  must(config.head_norm != HeadNorm::own_gains,
       "does not go with qk_norm = \"head-gains\", whose gains are not divided");
  must(!config.has_value_embeddings(), "does not go with value_embeddings, whose tables are not divided");
  const int64_t least = config.architecture == Architecture::causal_lm ? config.target_vocabulary
                        : config.architecture == Architecture::encoder
                            ? config.source_vocabulary
                            : std::min(config.source_vocabulary, config.target_vocabulary);
  must(least >= parts, fmt::format("is more than the vocabulary of {}", least));
  return found;
}

void require_divisible(const ModelConfig& config, int64_t parts) {
  const std::vector<std::string> obstacles = obstacles_to_parts(config, parts);
  check(obstacles.empty(), "{}", obstacles.empty() ? "" : obstacles.front());
}

ModelConfig with_context(const ModelConfig& config, const ContextOptions& options, std::string_view where) {
  ModelConfig longer = config;
  const bool scaled = options.rotary_scaling != RotaryScaling::none;
  require<ConfigError>(!scaled || config.positions == Positions::rotary, where,
                       "the model's positions are not rotary: the scaling of rotary positions does not apply");
  require<ConfigError>(!scaled || options.max_length > config.max_length, where,
                       "scaling rotary positions needs a maximum length above the model's {}", config.max_length);
  require<ConfigError>(!scaled || config.rotary_scaling == RotaryScaling::none, where,
                       "the model's rotary positions are scaled already");
  if (options.max_length == 0) {
    return longer;
  }
  require<ConfigError>(options.max_length >= config.max_length && options.max_length <= kLargest, where,
                       "the maximum length is {}, expected the model's own {} to {}", options.max_length,
                       config.max_length, kLargest);
  require<ConfigError>(!are_learned(config.positions) || options.max_length == config.max_length, where,
                       "the model learned a table of {} positions, so it can't take {} tokens", config.max_length,
                       options.max_length);
  if (config.rotary_trained_length == 0 && config.positions == Positions::rotary) {
    longer.rotary_trained_length =
        static_cast<int64_t>(static_cast<double>(config.max_length) / config.rotary_factor.of(0));
  }
  if (scaled) {
    longer.rotary_scaling = options.rotary_scaling;
    longer.rotary_factor = static_cast<double>(options.max_length) / static_cast<double>(config.max_length);
  }
  longer.max_length = options.max_length;
  return longer;
}

void ModelConfig::validate() const {
  check_extent("model", model, 1);
  check_extent("heads", heads, 1);
  check_extent("head_width", head_width, 0);
  check_extent("value_width", value_width, 0);
  check_extent("encoder_layers", encoder_layers, 0, kDeepest);
  check_extent("decoder_layers", decoder_layers, 0, kDeepest);
  check_extent("max_length", max_length, 1);
  check_extent("window", window, 0);
  check(head_width > 0 || model % heads == 0, "heads {} does not divide model {}", heads, model);
  check_layers(*this);
  check_rotary(*this);
  check_attention(*this);
  check_buckets(*this);
  check_extent("relative_clip", relative_clip, 1, kMaxDistance);
  check_extent("position_offset", position_offset, 0);
  check(positions != Positions::sinusoidal || (embedding_width > 0 ? embedding_width : model) % 2 == 0,
        "sinusoidal positions need an even width, but {} is {}", embedding_width > 0 ? "embedding_width" : "model",
        embedding_width > 0 ? embedding_width : model);
  const bool has_encoder = architecture != Architecture::causal_lm;
  const bool has_decoder = architecture != Architecture::encoder;
  check(!has_encoder || encoder_layers >= 1, "encoder_layers is {}, expected at least 1", encoder_layers);
  check(!has_decoder || decoder_layers >= 1, "decoder_layers is {}, expected at least 1", decoder_layers);
  check(!has_encoder || source_vocabulary >= 1, "source_vocabulary is {}, expected at least 1", source_vocabulary);
  check(!has_decoder || target_vocabulary >= 1, "target_vocabulary is {}, expected at least 1", target_vocabulary);
  check(source_vocabulary <= kLargest && target_vocabulary <= kLargest,
        "the vocabulary has {} tokens, but at most {} are supported", std::max(source_vocabulary, target_vocabulary),
        kLargest);
  check(estimated_elements(*this) <= kMaxElements,
        "the model would have about {:.1e} parameters, but at most {:.0e} are supported", estimated_elements(*this),
        kMaxElements);
  check(tying != Tying::all || architecture == Architecture::seq2seq, "tie = \"all\" is for seq2seq models");
  check(tying != Tying::all || source_vocabulary == target_vocabulary,
        "tie = \"all\" needs one vocabulary, but source has {} and target {}", source_vocabulary, target_vocabulary);
  check(!has_labels() || !labels.empty(), "head needs labels, but labels is empty");
  check_labels(*this);
  check_extent("token_types", token_types, 0, kMaxTokenTypes);
  check(architecture == Architecture::encoder || (head == Head::tokens && token_types == 0),
        "head and token_types are for architecture \"encoder\"");
  check(architecture == Architecture::encoder || (!head_layer && text_width == 0),
        "head_layer and text_width are for architecture \"encoder\"");
  check(architecture != Architecture::seq2seq || embedding_width == 0,
        "embedding_width is for architecture \"encoder\" and \"causal-lm\"");
  check(architecture != Architecture::causal_lm || embedding_width == 0 || positions != Positions::sinusoidal,
        "embedding_width of architecture \"causal-lm\" does not go with positions \"sinusoidal\"");
  check_extent("embedding_width", embedding_width, 0);
  check_extent("bigrams", bigrams, 0, kLargest);
  check(bigrams == 0 || (architecture == Architecture::causal_lm && embedding_width == 0),
        "bigrams are for architecture \"causal-lm\" without embedding_width");
  check_extent("text_width", text_width, 0);
  check(embedding_width == 0 || tying == Tying::none || head_layer || architecture == Architecture::causal_lm,
        "embedding_width is {}, so tie needs a head_layer, which makes an output of that width", embedding_width);
  check_shared_layers(*this);
  check_recurrence(*this);
  check_value_embeddings(*this);
  check_skips(*this);
  check(head != Head::none || !head_layer, "head_layer needs a head");
  check(head == Head::tokens || tying == Tying::none, "tie = \"output\" needs head = \"tokens\"");
  check(branches == Branches::sequential || placement == NormPlacement::pre,
        "parallel branches need norm_placement = \"pre\": they read norms of the layer's input");
  check(branches == Branches::sequential || architecture != Architecture::seq2seq,
        "parallel branches are for models without cross-attention");
  check_probability("embedding_dropout", embedding_dropout);
  check_probability("attention_dropout", attention_dropout);
  check_probability("inner_dropout", inner_dropout);
  check_probability("branch_dropout", branch_dropout);
  check(std::isfinite(logit_cap) && logit_cap >= 0.0, "logit_cap is {}, expected above 0, or 0 for none", logit_cap);
  check(std::isfinite(attention_cap) && attention_cap >= 0.0, "attention_cap is {}, expected above 0, or 0 for none",
        attention_cap);
  check(std::isfinite(attention_scale) && attention_scale >= 0.0,
        "attention_scale is {}, expected above 0, or 0 for 1 / sqrt(head_width)", attention_scale);
  check(std::isfinite(output_scale) && output_scale > 0.0, "output_scale is {}, expected above 0", output_scale);
  check(attention_cap == 0.0 || (positions != Positions::alibi && !has_relative_bias() && !has_relative_keys()),
        "attention_cap does not go with positions \"alibi\", \"relative-bias\", \"relative-keys\" and "
        "\"relative-keys-values\", which add to the scores");
  check(logit_cap == 0.0 || head == Head::tokens,
        "logit_cap limits the scores of tokens, so it needs head = \"tokens\"");
  check(std::isfinite(epsilon) && epsilon > 0.0, "epsilon is {}, expected above 0", epsilon);
  check(std::isfinite(init_deviation) && init_deviation > 0.0, "init_deviation is {}, expected above 0",
        init_deviation);
}

std::string describe(const ModelConfig& config) {
  ModelConfig copy = config;
  std::string text;
  for (const Setting& setting : model_settings(copy).settings) {
    text += fmt::format("{} = {}\n", setting.name, setting.show());
  }
  return text;
}

}  // namespace heed
