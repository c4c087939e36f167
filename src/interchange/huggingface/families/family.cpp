#include "interchange/huggingface/families/family.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"

namespace heed {
namespace {

constexpr std::array kFamilies{
    Family{"llama", "Llama", "LlamaForCausalLM", exchange_llama},
    Family{"mistral", "Mistral", "MistralForCausalLM", exchange_llama},
    Family{"qwen2", "Qwen 2", "Qwen2ForCausalLM", exchange_llama},
    Family{"qwen3", "Qwen 3", "Qwen3ForCausalLM", exchange_llama},
    Family{"phi3", "Phi-3", "Phi3ForCausalLM", exchange_llama},
    Family{"smollm3", "SmolLM3", "SmolLM3ForCausalLM", exchange_llama},
    Family{"gemma", "Gemma", "GemmaForCausalLM", exchange_gemma},
    Family{"gemma2", "Gemma 2", "Gemma2ForCausalLM", exchange_gemma},
    Family{"gemma3_text", "Gemma 3", "Gemma3ForCausalLM", exchange_gemma},
    Family{"gpt2", "GPT-2", "GPT2LMHeadModel", exchange_gpt2},
    Family{"gpt_neox", "GPT-NeoX", "GPTNeoXForCausalLM", exchange_gpt_neox},
    Family{"opt", "OPT", "OPTForCausalLM", exchange_opt},
    Family{"stablelm", "StableLM", "StableLmForCausalLM", exchange_stablelm},
    Family{"bart", "BART", "BartForConditionalGeneration", exchange_bart},
    Family{"mbart", "mBART", "MBartForConditionalGeneration", exchange_bart},
    Family{"marian", "Marian", "MarianMTModel", exchange_bart},
    Family{"m2m_100", "M2M-100", "M2M100ForConditionalGeneration", exchange_bart},
    Family{"pegasus", "Pegasus", "PegasusForConditionalGeneration", exchange_bart},
    Family{"bert", "BERT", "Bert", exchange_bert},
    Family{"roberta", "RoBERTa", "Roberta", exchange_roberta},
    Family{"xlm-roberta", "XLM-RoBERTa", "XLMRoberta", exchange_roberta},
    Family{"distilbert", "DistilBERT", "DistilBert", exchange_distilbert},
    Family{"electra", "ELECTRA", "Electra", exchange_electra},
    Family{"mpnet", "MPNet", "MPNet", exchange_mpnet},
    Family{"albert", "ALBERT", "Albert", exchange_albert},
    Family{"t5", "T5", "T5", exchange_t5},
    Family{"mt5", "mT5", "MT5", exchange_t5},
};

// The tanh form is the one that some call new or fast.
constexpr std::array<std::pair<std::string_view, Activation>, 9> kActivations{{
    {"relu", Activation::relu},
    {"relu2", Activation::relu_squared},
    {"gelu", Activation::gelu},
    {"gelu_python", Activation::gelu},
    {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"gelu_new", Activation::gelu_tanh},
    {"gelu_fast", Activation::gelu_tanh},
    {"silu", Activation::silu},
    {"swish", Activation::silu},
}};

}  // namespace

std::span<const Family> families() { return kFamilies; }

const Family& family_of(ConfigFile& file) {
  const std::string type = file.text("model_type");
  const auto* const found = std::ranges::find(kFamilies, type, &Family::type);
  std::vector<std::string_view> types;
  std::ranges::transform(kFamilies, std::back_inserter(types), &Family::type);
  require<FormatError>(found != kFamilies.end(), file.where(),
                       "\"model_type\" is \"{}\", which heed does not read; it reads {}", shown(type),
                       fmt::join(types, ", "));
  return *found;
}

Activation activation_named(const ConfigFile& file, std::string_view key, std::string_view name) {
  const auto* const found = std::ranges::find(kActivations, name, &std::pair<std::string_view, Activation>::first);
  require<FormatError>(found != kActivations.end(), file.where(), "\"{}\" is \"{}\", an activation that heed lacks",
                       key, shown(name));
  return found->second;
}

std::string_view name_of_activation(Activation activation) {
  const auto* const found =
      std::ranges::find(kActivations, activation, &std::pair<std::string_view, Activation>::second);
  return found == kActivations.end() ? kActivations.front().first : found->first;
}

void exchange_activation(ConfigFile& file, std::string_view key, Activation& value, std::optional<std::string> absent) {
  // The usual name, if it is one of this activation's.
  const bool is_usual = absent && file.is_written() && activation_named(file, key, *absent) == value;
  std::string name(is_usual ? *absent : name_of_activation(value));
  file.exchange(key, name, std::move(absent));
  value = file.is_written() ? value : activation_named(file, key, name);
}

void exchange_tying(FamilySource& source, ModelConfig& config, std::string_view head, std::string_view table,
                    bool absent) {
  bool tied = config.tying != Tying::none;
  source.file.exchange("tie_word_embeddings", tied, absent);
  if (source.file.is_written()) {
    return;
  }
  const ArchiveTensor *const own = source.archive.find(head), *const embeddings = source.archive.find(table);
  const bool are_two = own != nullptr && embeddings != nullptr;
  const bool differ = are_two && (own->type != embeddings->type || own->shape != embeddings->shape ||
                                  !std::ranges::equal(own->bytes, embeddings->bytes));
  config.tying = tied && !differ ? Tying::output : Tying::none;
}

std::string prefix_of(const FamilySource& source, std::initializer_list<std::string_view> prefixes,
                      std::string_view tensor) {
  for (const std::string_view prefix : prefixes) {
    if (source.file.is_written() || source.archive.find(std::string(prefix) + std::string(tensor)) != nullptr) {
      return std::string(prefix);
    }
  }
  return "";
}

int64_t position_behind_padding(ConfigFile& file) { return file.integer("pad_token_id", 1) + 1; }

void write_position_behind_padding(ConfigFile& file, int64_t position) { file.write("pad_token_id", position - 1); }

void begin_config(const ConfigFile& file, Architecture architecture, ModelConfig& config) {
  if (file.is_written()) {
    return;
  }
  config = ModelConfig{.architecture = architecture};
  config.embedding_scale = EmbeddingScale::none;
  config.embedding_dropout = config.attention_dropout = config.inner_dropout = config.branch_dropout =
      Probability(0.0F);
  config.init = InitScheme::normal;
}

void exchange_decoder(ConfigFile& file, ModelConfig& config, const DecoderKeys& keys) {
  begin_config(file, Architecture::causal_lm, config);
  file.exchange(keys.model, config.model);
  file.exchange(keys.heads, config.heads);
  require<FormatError>(config.heads > 0, file.where(), "\"{}\" is {}, expected at least 1", keys.heads, config.heads);
  file.exchange(keys.layers, config.decoder_layers);
  file.exchange("vocab_size", config.target_vocabulary);
  file.exchange(keys.max_length, config.max_length);
  config.output_bias = Bias::none;
}

}  // namespace heed
