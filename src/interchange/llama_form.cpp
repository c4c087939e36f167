#include "interchange/llama_form.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "base/errors.h"
#include "checkpoint/weights.h"

namespace heed {
namespace {

// A setting, whether it has a value of the Llama form, and which values those are.
struct Need {
  std::string_view key;
  bool met;
  std::string_view needed;
};

bool sees_everything(const LayerPattern& layer) {
  return std::ranges::all_of(layer, [](const HeadPattern& part) { return part.kind == HeadPattern::Kind::full; });
}

std::vector<Need> needs_of(const ModelConfig& c) {
  const bool shared_bias = c.attention_bias == AttentionBias::as_model || c.feed_forward_bias == PartBias::as_model;
  return {
      {"norm", c.norm == NormKind::rms, R"("rms")"},
      {"norm_placement", c.placement == NormPlacement::pre, R"("pre")"},
      {"final_norm", c.final_norm == FinalNorm::present, "true"},
      {"embedding_norm", c.embedding_norm == EmbeddingNorm::none, "false"},
      {"qk_norm", c.head_norm == HeadNorm::none, R"("none")"},
      {"branches", c.branches == Branches::sequential, R"("sequential")"},
      {"positions", c.positions == Positions::rotary, R"("rotary")"},
      {"rotary_width", c.rotary_width == 0 || c.rotary_width == c.width_of_head(), "0"},
      {"rotary_scaling", c.rotary_scaling != RotaryScaling::yarn, R"("none", "linear" or "ntk")"},
      {"window", c.window == 0, "0"},
      {"attention", std::ranges::all_of(c.attention, sees_everything), R"(["full"])"},
      {"value_width", c.width_of_values() == c.width_of_head(), "0"},
      {"activation", c.activation == Activation::silu, R"("silu")"},
      {"gated", c.gating == Gating::gated, "true"},
      {"bias", c.bias == Bias::none || !shared_bias, "false"},
      {"attention_bias", c.bias_of_attention_inputs() == Bias::none && c.bias_of_attention_output() == Bias::none,
       R"("none")"},
      {"feed_forward_bias", c.bias_of_feed_forward() == Bias::none, R"("none")"},
      {"output_bias", c.output_bias == Bias::none, "false"},
      {"logit_cap", c.logit_cap == 0.0, "0"},
      {"attention_cap", c.attention_cap == 0.0, "0"},
  };
}

// "norm = "layer"", as a recipe would give it.
std::string setting_of(const ModelConfig& config, std::string_view key) {
  const std::string all = "\n" + describe(config) + "\n", begin = fmt::format("\n{} = ", key);
  const size_t at = all.find(begin);
  ensure(at != std::string::npos, key, "is not a setting");
  return all.substr(at + 1, all.find('\n', at + 1) - at - 1);
}

// NTK-aware scaling is the plain rotation with another base: base^(-2c/d) f^(-2c/(d-2)) = (base f^(d/(d-2)))^(-2c/d).
double rotary_base_of(const ModelConfig& config) {
  const auto width = static_cast<double>(config.width_of_head());
  return config.rotary_scaling == RotaryScaling::ntk && width > 2.0
             ? config.rotary_base * std::pow(config.rotary_factor, width / (width - 2.0))
             : config.rotary_base;
}

struct Rows {
  int64_t first, count;
};

using Values = std::vector<float>;

// One of llama.cpp's names to one of heed's weights, or some rows of it.
class LlamaTensors {
 public:
  LlamaTensors(const ModelConfig& config, const SafeTensors& stored, GgufType type)
      : config_(config), stored_(stored), type_(type) {}

  void add_vector(std::string name, const std::string& weight) {
    const SafeTensors& stored = stored_;
    tensors_.push_back(
        {std::move(name), stored.at(weight).shape, GgufType::f32, [&stored, weight] { return read(stored, weight); }});
  }

  template <class Change>
  void add_matrix(std::string name, const std::string& weight, Rows rows, Change change) {
    const SafeTensors& stored = stored_;
    const int64_t columns = stored.at(weight).shape.back();
    const bool in_blocks = type_ == GgufType::q8_0 || type_ == GgufType::q4_0;
    require<ConfigError>(!in_blocks || columns % kGgufBlock == 0, weight,
                         "has rows of {}, which {}'s blocks of {} do not divide: export the model as f16", columns,
                         name_of(type_), kGgufBlock);
    tensors_.push_back({std::move(name), {rows.count, columns}, type_, [=, &stored] {
                          const Values all = read(stored, weight);
                          const auto first = all.begin() + rows.first * columns;
                          return change(Values(first, first + rows.count * columns));
                        }});
  }
  void add_matrix(std::string name, const std::string& weight, Rows rows) {
    add_matrix(std::move(name), weight, rows, [](Values values) { return values; });
  }
  void add_matrix(std::string name, const std::string& weight) {
    add_matrix(std::move(name), weight, {0, stored_.at(weight).shape.front()});
  }

  // Of queries or keys. heed rotates columns c and c + width / 2 of a head together, llama.cpp 2c and 2c + 1.
  void add_rotated(std::string name, const std::string& weight, Rows rows) {
    const int64_t width = config_.width_of_head(), columns = stored_.at(weight).shape.back();
    add_matrix(std::move(name), weight, rows, [width, columns](const Values& values) {
      Values paired;
      paired.reserve(values.size());
      const int64_t count = static_cast<int64_t>(values.size()) / columns;
      for (int64_t r = 0; r < count; ++r) {
        const int64_t in_head = r % width;
        const auto row = values.begin() + (r - in_head + in_head / 2 + in_head % 2 * (width / 2)) * columns;
        paired.insert(paired.end(), row, row + columns);
      }
      return paired;
    });
  }

  // llama.cpp has no factor between the table and the first layer: its table is multiplied here.
  void add_table(const std::string& name, const std::string& weight) {
    const auto scale = static_cast<float>(
        config_.embedding_scale == EmbeddingScale::sqrt_model ? std::sqrt(static_cast<double>(config_.model)) : 1.0);
    add_matrix(name, weight, {0, stored_.at(weight).shape.front()}, [scale](Values values) {
      std::ranges::for_each(values, [scale](float& x) { x *= scale; });
      return values;
    });
  }

  std::vector<GgufTensor> take() { return std::move(tensors_); }

 private:
  static Values read(const SafeTensors& stored, const std::string& weight) {
    return read_weight(stored, stored.at(weight));
  }

  const ModelConfig& config_;
  const SafeTensors& stored_;
  GgufType type_;
  std::vector<GgufTensor> tensors_;
};

void add_layer(LlamaTensors& tensors, const ModelConfig& config, int64_t layer) {
  const std::string to = fmt::format("blk.{}.", layer), from = fmt::format("decoder.layers.{}.", layer);
  const int64_t queries = config.heads * config.width_of_head(), keys = config.heads_of_keys() * config.width_of_head();
  const std::string projection = from + "attention.projection.weight", inner = from + "feed_forward.inner.weight";
  tensors.add_vector(to + "attn_norm.weight", from + "attention.norm.gain");
  tensors.add_rotated(to + "attn_q.weight", projection, {0, queries});
  tensors.add_rotated(to + "attn_k.weight", projection, {queries, keys});
  tensors.add_matrix(to + "attn_v.weight", projection, {queries + keys, keys});
  tensors.add_matrix(to + "attn_output.weight", from + "attention.output.weight");
  tensors.add_vector(to + "ffn_norm.weight", from + "feed_forward.norm.gain");
  tensors.add_matrix(to + "ffn_gate.weight", inner, {0, config.inner});
  tensors.add_matrix(to + "ffn_up.weight", inner, {config.inner, config.inner});
  tensors.add_matrix(to + "ffn_down.weight", from + "feed_forward.output.weight");
}

}  // namespace

void require_llama_form(const ModelConfig& config, const std::string& where) {
  for (const Need& need : needs_of(config)) {
    require<ConfigError>(need.met, where, "{}, but the Llama form, which GGUF files hold, needs {}",
                         need.met ? "" : setting_of(config, need.key), need.needed);
  }
}

std::vector<GgufEntry> llama_entries(const ModelConfig& config) {
  const auto count = [](int64_t n) { return static_cast<uint32_t>(n); };
  const uint32_t width = count(config.width_of_head());
  std::vector<GgufEntry> entries{
      {"llama.vocab_size", count(config.target_vocabulary)},
      {"llama.context_length", count(config.max_length)},
      {"llama.embedding_length", count(config.model)},
      {"llama.block_count", count(config.decoder_layers)},
      {"llama.feed_forward_length", count(config.inner)},
      {"llama.attention.head_count", count(config.heads)},
      {"llama.attention.head_count_kv", count(config.heads_of_keys())},
      {"llama.attention.key_length", width},
      {"llama.attention.value_length", width},
      {"llama.attention.layer_norm_rms_epsilon", static_cast<float>(config.epsilon)},
      {"llama.rope.dimension_count", width},
      {"llama.rope.freq_base", static_cast<float>(rotary_base_of(config))},
  };
  if (config.rotary_scaling == RotaryScaling::linear) {
    entries.push_back({"llama.rope.scaling.type", std::string("linear")});
    entries.push_back({"llama.rope.scaling.factor", static_cast<float>(config.rotary_factor)});
  }
  return entries;
}

// A table that is the output projection too is stored once, unless the two differ by a factor.
std::vector<GgufTensor> llama_tensors(const ModelConfig& config, const SafeTensors& stored, GgufType type) {
  LlamaTensors tensors(config, stored, type);
  tensors.add_table("token_embd.weight", "embedding.tokens");
  tensors.add_vector("output_norm.weight", "decoder.norm.gain");
  if (config.tying == Tying::none) {
    tensors.add_matrix("output.weight", "output.weight");
  } else if (config.embedding_scale != EmbeddingScale::none) {
    tensors.add_matrix("output.weight", "embedding.tokens");
  }
  for (int64_t layer = 0; layer < config.decoder_layers; ++layer) {
    add_layer(tensors, config, layer);
  }
  return tensors.take();
}

}  // namespace heed
