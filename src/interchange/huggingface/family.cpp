#include "interchange/huggingface/family.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"

namespace heed {
namespace {

constexpr std::array kFamilies{
    Family{"llama", "Llama", read_llama},
    Family{"mistral", "Mistral", read_llama},
    Family{"qwen2", "Qwen 2", read_llama},
    Family{"qwen3", "Qwen 3", read_llama},
    Family{"phi3", "Phi-3", read_llama},
    Family{"gemma", "Gemma", read_gemma},
    Family{"gemma2", "Gemma 2", read_gemma},
    Family{"gemma3_text", "Gemma 3", read_gemma},
    Family{"gpt2", "GPT-2", read_gpt2},
    Family{"gpt_neox", "GPT-NeoX", read_gpt_neox},
    Family{"opt", "OPT", read_opt},
    Family{"stablelm", "StableLM", read_stablelm},
    Family{"bart", "BART", read_bart},
    Family{"mbart", "mBART", read_bart},
    Family{"marian", "Marian", read_bart},
    Family{"m2m_100", "M2M-100", read_bart},
    Family{"pegasus", "Pegasus", read_bart},
    Family{"bert", "BERT", read_bert},
    Family{"roberta", "RoBERTa", read_roberta},
    Family{"xlm-roberta", "XLM-RoBERTa", read_roberta},
    Family{"distilbert", "DistilBERT", read_distilbert},
    Family{"electra", "ELECTRA", read_electra},
    Family{"mpnet", "MPNet", read_mpnet},
    Family{"albert", "ALBERT", read_albert},
    Family{"t5", "T5", read_t5},
    Family{"mt5", "mT5", read_t5},
};

// The tanh form is the one that some call new or fast.
constexpr std::array<std::pair<std::string_view, Activation>, 8> kActivations{{
    {"relu", Activation::relu},
    {"gelu", Activation::gelu},
    {"gelu_python", Activation::gelu},
    {"gelu_new", Activation::gelu_tanh},
    {"gelu_fast", Activation::gelu_tanh},
    {"gelu_pytorch_tanh", Activation::gelu_tanh},
    {"silu", Activation::silu},
    {"swish", Activation::silu},
}};

}  // namespace

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

Activation activation_of(ConfigFile& file, std::string_view key, std::optional<std::string> absent) {
  return activation_named(file, key, file.text(key, std::move(absent)));
}

Tying tying_of(FamilySource& source, std::string_view head, std::string_view table, bool absent) {
  const bool tied = source.file.flag("tie_word_embeddings", absent);
  const ArchiveTensor *const own = source.archive.find(head), *const embeddings = source.archive.find(table);
  if (own == nullptr || embeddings == nullptr) {
    return tied ? Tying::output : Tying::none;
  }
  const bool same = own->type == embeddings->type && own->shape == embeddings->shape &&
                    std::ranges::equal(own->bytes, embeddings->bytes);
  return tied && same ? Tying::output : Tying::none;
}

std::string prefix_of(const TensorArchive& archive, std::initializer_list<std::string_view> prefixes,
                      std::string_view tensor) {
  for (const std::string_view prefix : prefixes) {
    if (archive.find(std::string(prefix) + std::string(tensor)) != nullptr) {
      return std::string(prefix);
    }
  }
  return "";
}

ModelConfig config_of(Architecture architecture) {
  ModelConfig config{.architecture = architecture};
  config.embedding_scale = EmbeddingScale::none;
  config.embedding_dropout = config.attention_dropout = config.inner_dropout = config.branch_dropout =
      Probability(0.0F);
  config.init = InitScheme::normal;
  return config;
}

Probability dropout_of(ConfigFile& file, std::string_view key) {
  return Probability(static_cast<float>(file.number(key, 0.0)));
}

ModelConfig decoder_config(ConfigFile& file, const DecoderKeys& keys) {
  ModelConfig config = config_of(Architecture::causal_lm);
  config.model = file.integer(keys.model);
  config.heads = file.integer(keys.heads);
  config.decoder_layers = file.integer(keys.layers);
  config.target_vocabulary = file.integer("vocab_size");
  config.max_length = file.integer(keys.max_length);
  config.output_bias = Bias::none;
  return config;
}

}  // namespace heed
