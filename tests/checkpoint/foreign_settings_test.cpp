// Every setting of another program's model counts: changed alone, it changes what the model computes or is refused,
// unless it is one of those that say nothing about that.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "base/errors.h"
#include "base/system/files.h"
#include "checkpoint/weights.h"
#include "interchange/foreign_weights.h"
#include "interchange/huggingface/huggingface_model.h"
#include "kernels/reference/reference_backend.h"
#include "models/any_model.h"
#include "source_root.h"
#include "test_folder.h"

namespace heed::test {
namespace {

using nlohmann::json;

std::vector<double> all_values(const ConstView& view) {
  std::vector<double> values;
  const auto rows = host<double>(view);
  for (int64_t r = 0; r < view.rows(); ++r) {
    for (int64_t c = 0; c < view.columns(); ++c) {
      values.push_back(rows(r, c));
    }
  }
  return values;
}

Sequences tokens_of(const json& ids) { return Sequences({ids.get<std::vector<int32_t>>()}); }

struct LogitsOfCase {
  Pass& pass;
  const json& golden_case;

  std::vector<double> operator()(const CausalLM& model) const {
    const Sequences tokens = tokens_of(golden_case.at("ids"));
    return all_values(model.logits(pass, model.hidden(pass, tokens)).var().value());
  }
  std::vector<double> operator()(const Seq2Seq& model) const {
    const SourceSequences source(tokens_of(golden_case.at("source")));
    const TargetSequences target(tokens_of(golden_case.at("target")));
    const Memory memory = model.encode(pass, source);
    return all_values(model.logits(pass, model.decode(pass, target, memory)).var().value());
  }
  std::vector<double> operator()(const EncoderOnly& model) const {
    const Sequences tokens = tokens_of(golden_case.at("ids"));
    return all_values(model.hidden(pass, tokens).var().value());
  }
};

// In double.
std::vector<double> logits_of_folder(const std::filesystem::path& folder, const json& golden_case) {
  const ForeignModel found = read_huggingface_model(folder);
  const std::unique_ptr<Backend> backend = make_reference_backend();
  Weights weights;
  const AnyModel model(Scope(weights), found.config);
  load_weights(std::make_shared<const ForeignWeights>(found.archive, found.names, found.config), *backend, DType::f64,
               weights);
  Pass pass = Pass::infer(*backend, DType::f64);
  return model.visit(LogitsOfCase{pass, golden_case});
}

// Nothing where the folder is refused.
std::optional<std::vector<double>> logits_unless_refused(const std::filesystem::path& folder, const json& golden_case) {
  try {
    return logits_of_folder(folder, golden_case);
  } catch (const FormatError&) {
    return std::nullopt;
  }
}

bool differ(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() != b.size()) {
    return true;
  }
  constexpr double kTenthOfTheLeastParticular = 1e-7;
  double largest = 0.0, worst = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  return !(worst <= kTenthOfTheLeastParticular * largest);
}

// Tokens, lengths, training and generation.
bool says_nothing_about_logits(std::string_view key) {
  constexpr std::array kOthers{
      "_num_labels",
      "add_bias_logits",
      "add_final_layer_norm",
      "cache_implementation",
      "down_scale_factor",
      "early_stopping",
      "gap_size",
      "gradient_checkpointing",
      "init_std",
      "initializer_factor",
      "initializer_range",
      "is_encoder_decoder",
      "max_length",
      "max_position_embeddings",
      "model_max_length",
      "n_positions",
      "net_structure_type",
      "no_repeat_ngram_size",
      "normalize_before",
      "num_beams",
      "num_memory_blocks",
      "output_past",
      "pretraining_tp",
      "reorder_and_upcast_attn",
      "sinusoidal_pos_embds",
      "static_position_embeddings",
      "use_cache",
  };
  constexpr std::array kParts{"token_id", "dropout", "pdrop", "layerdrop", "summary_", "bad_words_ids"};
  return std::ranges::find(kOthers, key) != kOthers.end() ||
         std::ranges::any_of(kParts, [key](std::string_view part) { return key.find(part) != std::string_view::npos; });
}

// What another setting or the tensors say too, and more strongly; or what has no effect while another setting is off.
bool is_said_elsewhere(const std::string& model, const std::string& key) {
  static const std::map<std::string, std::set<std::string>> kKeys{
      {"decoders/gemma", {"hidden_act"}},
      {"decoders/gemma-2", {"hidden_act"}},
      {"decoders/gpt-neox", {"partial_rotary_factor", "rotary_emb_base", "tie_word_embeddings"}},
      {"decoders/llama", {"tie_word_embeddings"}},
      {"decoders/llama-biases", {"tie_word_embeddings"}},
      {"decoders/llama-v5", {"tie_word_embeddings"}},
      {"decoders/llama-yarn-v5", {"tie_word_embeddings"}},
      {"decoders/mistral", {"tie_word_embeddings"}},
      {"decoders/phi-3", {"original_max_position_embeddings", "tie_word_embeddings"}},
      {"decoders/qwen2-yarn", {"max_window_layers", "sliding_window", "use_sliding_window"}},
      {"decoders/qwen3", {"max_window_layers", "use_sliding_window"}},
      {"decoders/stablelm", {"tie_word_embeddings"}},
      {"encoders/distilbert", {"tie_weights_"}},
      {"encoders/t5-encoder", {"is_gated_act", "num_decoder_layers", "tie_word_embeddings"}},
      {"encoder_decoders/bart", {"num_hidden_layers"}},
      {"encoder_decoders/m2m-100", {"num_hidden_layers"}},
      {"encoder_decoders/marian-apart",
       {"num_hidden_layers", "share_encoder_decoder_embeddings", "tie_word_embeddings"}},
      {"encoder_decoders/mbart-50", {"num_hidden_layers"}},
      {"encoder_decoders/mt5", {"dense_act_fn", "is_gated_act", "tie_word_embeddings"}},
      {"encoder_decoders/nllb", {"num_hidden_layers"}},
      {"encoder_decoders/t5", {"dense_act_fn", "is_gated_act"}},
      {"encoder_decoders/t5-1.1", {"dense_act_fn", "is_gated_act"}},
  };
  const auto found = kKeys.find(model);
  return found != kKeys.end() && found->second.contains(key);
}

// Another value of the same type, far enough away to count where it is rounded. Nothing for what has no other: null,
// and texts that name neither an activation nor a kind.
std::optional<json> another(const std::string& key, const json& value) {
  if (value.is_boolean()) {
    return !value.get<bool>();
  }
  if (value.is_number_integer()) {
    return value.get<int64_t>() * 8 + 1;
  }
  if (value.is_number()) {
    return value.get<double>() * 8.0 + 1e-3;
  }
  if (value.is_string() && (key.ends_with("hidden_act") || key.starts_with("activation_function") ||
                            key == "activation" || key == "hidden_activation" || key == "feed_forward_proj")) {
    return value == "relu" ? "silu" : "relu";
  }
  if (value == "sliding_attention" || value == "full_attention") {
    return value == "sliding_attention" ? "full_attention" : "sliding_attention";
  }
  if (key.ends_with("rope_type") || key == "rope_scaling/type" || key == "model_type") {
    return "unheard-of";
  }
  return std::nullopt;
}

// config.json with one setting changed, for each that can be: by its JSON pointer.
std::map<std::string, json> altered_configs(const json& config) {
  std::map<std::string, json> result;
  const json settings = config.flatten();
  for (const auto& [pointer, value] : settings.items()) {
    if (const std::optional<json> other = another(pointer.substr(1), value)) {
      json& altered = result.emplace(pointer.substr(1), config).first->second;
      altered[json::json_pointer(pointer)] = *other;
    }
  }
  return result;
}

class AlteredFolder {
 public:
  explicit AlteredFolder(const std::filesystem::path& original) : folder_(folder_of_test()) {
    std::filesystem::create_directories(folder_);
    for (const auto& entry : std::filesystem::directory_iterator(original)) {
      if (entry.path().filename() != "config.json") {
        std::filesystem::create_symlink(entry.path(), folder_ / entry.path().filename());
      }
    }
  }
  ~AlteredFolder() { std::filesystem::remove_all(folder_); }
  AlteredFolder(const AlteredFolder&) = delete;
  AlteredFolder& operator=(const AlteredFolder&) = delete;

  const std::filesystem::path& with(const json& config) const {
    std::ofstream(folder_ / "config.json") << config;
    return folder_;
  }

 private:
  std::filesystem::path folder_;
};

class AlteredSettings : public testing::TestWithParam<const char*> {};

TEST_P(AlteredSettings, ChangeTheLogitsOrAreRefused) {
  const std::filesystem::path original = source_root() / "tests/interchange/golden" / GetParam();
  const json config = json::parse(read_file(original / "config.json"));
  const json golden_case = json::parse(read_file(original / "golden.json")).at("cases").at(0);
  const AlteredFolder folder(original);
  const std::vector<double> right = logits_of_folder(folder.with(config), golden_case);
  for (const auto& [key, altered] : altered_configs(config)) {
    const std::optional<std::vector<double>> found = logits_unless_refused(folder.with(altered), golden_case);
    if (!found || differ(right, *found)) {
      continue;
    }
    EXPECT_TRUE(says_nothing_about_logits(key) || is_said_elsewhere(GetParam(), key))
        << key << " changed, and nothing noticed";
  }
}

INSTANTIATE_TEST_SUITE_P(Decoders, AlteredSettings,
                         testing::Values("decoders/gemma", "decoders/gemma-2", "decoders/gemma-3",
                                         "decoders/gemma-3-v5", "decoders/gpt-neox", "decoders/gpt2", "decoders/llama",
                                         "decoders/llama-biases", "decoders/llama-v5", "decoders/llama-yarn-v5",
                                         "decoders/mistral", "decoders/opt", "decoders/phi-3", "decoders/qwen2-windows",
                                         "decoders/qwen2-yarn", "decoders/qwen3", "decoders/stablelm"));
INSTANTIATE_TEST_SUITE_P(EncoderDecoders, AlteredSettings,
                         testing::Values("encoder_decoders/marian-apart", "encoder_decoders/t5",
                                         "encoder_decoders/t5-1.1", "encoder_decoders/mt5", "encoder_decoders/bart",
                                         "encoder_decoders/mbart-50", "encoder_decoders/m2m-100",
                                         "encoder_decoders/nllb"));

INSTANTIATE_TEST_SUITE_P(Encoders, AlteredSettings,
                         testing::Values("encoders/albert", "encoders/bert", "encoders/distilbert", "encoders/electra",
                                         "encoders/mpnet", "encoders/roberta", "encoders/xlm-roberta",
                                         "encoders/t5-encoder"));

}  // namespace
}  // namespace heed::test
