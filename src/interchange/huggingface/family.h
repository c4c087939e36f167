// The families of models in Hugging Face's directories: how each writes its settings and names its tensors.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "interchange/huggingface/config_file.h"

namespace heed {

// What a family's reader has: its settings, and the tensors, of which some decide a setting.
struct FamilySource {
  ConfigFile& file;
  const TensorArchive& archive;
};

struct FamilyModel {
  ModelConfig config;
  ForeignNames names;
};

struct Family {
  std::string_view type;  // "model_type" in config.json
  std::string_view name;  // for people
  FamilyModel (*read)(FamilySource& source);
};

// FormatError, naming those that heed reads, for another one.
const Family& family_of(ConfigFile& file);

// "gelu_new" as heed's activation; FormatError for one that it lacks.
Activation activation_named(const ConfigFile& file, std::string_view key, std::string_view name);
// The one that a setting names.
Activation activation_of(ConfigFile& file, std::string_view key, std::optional<std::string> absent = {});

// Whether the output projection is the table of embeddings. A stored projection that differs from the table is one of
// its own, whatever the settings say.
Tying tying_of(FamilySource& source, std::string_view head, std::string_view table, bool absent);

// The longest of these prefixes with which a tensor's name begins; "" if none has it.
std::string prefix_of(const TensorArchive& archive, std::initializer_list<std::string_view> prefixes,
                      std::string_view tensor);

// What all families share: nothing is dropped, and embeddings are not scaled.
ModelConfig config_of(Architecture architecture);
Probability dropout_of(ConfigFile& file, std::string_view key);

// What decoders' settings have in common.
struct DecoderKeys {
  std::string_view model = "hidden_size", heads = "num_attention_heads", layers = "num_hidden_layers",
                   max_length = "max_position_embeddings";
};
// A language model of these sizes, whose logits have no bias; the width of its feed-forward layers is left open.
ModelConfig decoder_config(ConfigFile& file, const DecoderKeys& keys = {});

FamilyModel read_llama(FamilySource& source);  // and its kin: Mistral, Qwen 2 and 3, Phi-3, SmolLM
FamilyModel read_gemma(FamilySource& source);
FamilyModel read_gpt2(FamilySource& source);
FamilyModel read_gpt_neox(FamilySource& source);
FamilyModel read_opt(FamilySource& source);
FamilyModel read_stablelm(FamilySource& source);

FamilyModel read_bart(FamilySource& source);  // and its kin: Marian, mBART, M2M-100 and NLLB, Pegasus
FamilyModel read_bert(FamilySource& source);
FamilyModel read_roberta(FamilySource& source);  // and XLM-RoBERTa
FamilyModel read_distilbert(FamilySource& source);
FamilyModel read_electra(FamilySource& source);
FamilyModel read_mpnet(FamilySource& source);
FamilyModel read_albert(FamilySource& source);

FamilyModel read_t5(FamilySource& source);  // and mT5; an encoder-decoder, or an encoder alone

}  // namespace heed
