// The families of models in Hugging Face's directories: how each writes its settings and names its tensors.
#pragma once

#include <array>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "interchange/huggingface/config_file.h"

namespace heed {

// What a family's settings are exchanged with: a file that is read, and the tensors, some of which decide a setting; or
// a file that is written, without tensors.
struct FamilySource {
  ConfigFile& file;
  const TensorArchive& archive;
};

struct Family {
  std::string_view type;  // "model_type" in config.json
  std::string_view name;  // for people
  // The original library's class, as "architectures" names it; for encoders its first part: the rest names the head.
  std::string_view model_class;
  // Reads the settings into the configuration, or writes those of the configuration, and says what the tensors are
  // called. What the family lacks is not written, which shows when the file is read again.
  ForeignNames (*exchange)(FamilySource& source, ModelConfig& config);
};

std::span<const Family> families();
// FormatError, naming those that heed reads, for any other.
const Family& family_of(ConfigFile& file);

// "gelu_new" as heed's activation; FormatError for one that it lacks.
Activation activation_named(const ConfigFile& file, std::string_view key, std::string_view name);
// The first name of an activation, or of the first one where it has none.
std::string_view name_of_activation(Activation activation);
// Reads or writes a setting that names an activation.
void exchange_activation(ConfigFile& file, std::string_view key, Activation& value,
                         std::optional<std::string> absent = {});
// A flag for one of two values.
template <class Value>
void exchange_flag(ConfigFile& file, std::string_view key, Value& value, const std::array<Value, 2>& no_yes,
                   std::optional<bool> absent = {}) {
  bool flag = value == no_yes[1];
  file.exchange(key, flag, absent);
  value = no_yes[flag ? 1 : 0];
}

// Whether the output projection is the table of embeddings. A stored projection that differs from the table is
// separate, whatever the settings say.
void exchange_tying(FamilySource& source, ModelConfig& config, std::string_view head, std::string_view table,
                    bool absent);

// The first of these prefixes with which a tensor's name begins, or that of a model that is written; "" if none has it.
std::string prefix_of(const FamilySource& source, std::initializer_list<std::string_view> prefixes,
                      std::string_view tensor);

// What all families share: nothing is dropped, and embeddings are not scaled. A configuration that is written stays.
void begin_config(const ConfigFile& file, Architecture architecture, ModelConfig& config);

// The first position, in families where it is one after the padding's id.
int64_t position_behind_padding(ConfigFile& file);
void write_position_behind_padding(ConfigFile& file, int64_t position);

// What decoders' settings have in common.
struct DecoderKeys {
  std::string_view model = "hidden_size", heads = "num_attention_heads", layers = "num_hidden_layers",
                   max_length = "max_position_embeddings";
};
// A language model of these sizes, whose logits have no bias; the width of its feed-forward layers is left open.
void exchange_decoder(ConfigFile& file, ModelConfig& config, const DecoderKeys& keys = {});

ForeignNames exchange_llama(FamilySource& source,
                            ModelConfig& config);  // and its kin: Mistral, Qwen 2 and 3, Phi-3 ...
ForeignNames exchange_gemma(FamilySource& source, ModelConfig& config);
ForeignNames exchange_gpt2(FamilySource& source, ModelConfig& config);
ForeignNames exchange_gpt_neox(FamilySource& source, ModelConfig& config);
ForeignNames exchange_opt(FamilySource& source, ModelConfig& config);
ForeignNames exchange_stablelm(FamilySource& source, ModelConfig& config);

// And its kin: Marian, mBART, M2M-100 and NLLB, Pegasus.
ForeignNames exchange_bart(FamilySource& source, ModelConfig& config);
ForeignNames exchange_bert(FamilySource& source, ModelConfig& config);
ForeignNames exchange_roberta(FamilySource& source, ModelConfig& config);  // and XLM-RoBERTa
ForeignNames exchange_distilbert(FamilySource& source, ModelConfig& config);
ForeignNames exchange_electra(FamilySource& source, ModelConfig& config);
ForeignNames exchange_mpnet(FamilySource& source, ModelConfig& config);
ForeignNames exchange_albert(FamilySource& source, ModelConfig& config);

// And mT5; an encoder-decoder, or an encoder alone.
ForeignNames exchange_t5(FamilySource& source, ModelConfig& config);

}  // namespace heed
