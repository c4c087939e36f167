#include "interchange/ctranslate2/ctranslate2_export.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <unordered_set>
#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "interchange/config_differences.h"
#include "interchange/ctranslate2/ctranslate2_model.h"
#include "interchange/ctranslate2/ctranslate2_names.h"
#include "interchange/ctranslate2/model_file_writing.h"
#include "interchange/renamed_weights.h"
#include "nn/embedding.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/huggingface/writing/written_pieces.h"

namespace heed {
namespace {

using Variables = std::vector<CTranslate2Variable>;
using SettingsJson = nlohmann::json;

// Whether positions are CTranslate2's own sinusoids: halves_inclusive, counted from 1.
bool are_own_positions(const ModelConfig& config) {
  return config.positions == Positions::sinusoidal && config.sinusoid == SinusoidLayout::halves_inclusive &&
         config.position_offset == 1;
}

// The model as the file has it, with positions in a table unless they are CTranslate2's own.
ModelConfig written_config(const ModelConfig& config) {
  ModelConfig written = config;
  if (!are_own_positions(config) && (config.positions == Positions::sinusoidal || are_learned(config.positions))) {
    written.positions = Positions::learned;
    written.position_offset = 0;
  }
  return written;
}

template <class Number>
CTranslate2Variable scalar(std::string name, ForeignType type, Number value) {
  return {std::move(name), type, {}, [value] {
            std::vector<std::byte> bytes(sizeof(value));
            std::memcpy(bytes.data(), &value, sizeof(value));
            return bytes;
          }};
}

void add_settings(const ModelConfig& config, Variables& variables) {
  const auto* const activation =
      std::ranges::find(kCTranslate2Activations, config.activation, &std::pair<int, Activation>::second);
  require<ConfigError>(activation != kCTranslate2Activations.end(), "activation", "is one that CTranslate2 lacks");
  for (const std::string stack : {"encoder/", "decoder/"}) {
    const auto add_flag = [&](const char* name, bool value) {
      variables.push_back(scalar(stack + name, ForeignType::i8, static_cast<int8_t>(value ? 1 : 0)));
    };
    variables.push_back(scalar(stack + "num_heads", ForeignType::i16, static_cast<int16_t>(config.heads)));
    variables.push_back(scalar(stack + "activation", ForeignType::i8, static_cast<int8_t>(activation->first)));
    add_flag("pre_norm", config.placement == NormPlacement::pre);
    add_flag("scale_embeddings", config.embedding_scale == EmbeddingScale::sqrt_model);
  }
  variables.push_back(scalar("encoder/embeddings_merge", ForeignType::i8, int8_t{0}));
  variables.push_back(scalar("decoder/alignment_layer", ForeignType::i16, int16_t{-1}));
  variables.push_back(scalar("decoder/alignment_heads", ForeignType::i16, int16_t{1}));
  variables.push_back(scalar("decoder/start_from_zero_embedding", ForeignType::i8, int8_t{0}));
}

std::vector<float> floats_of(const RenamedTensor& tensor) {
  const std::vector<std::byte> bytes = tensor.bytes();
  const ArchiveTensor found{tensor.name, foreign_type(tensor.type), tensor.shape, bytes};
  return read_floats(found);
}

struct Int8Rows {
  std::vector<std::byte> values;
  std::vector<float> scales;  // what a row is multiplied by: 127 over its largest magnitude
};

Int8Rows int8_rows(const RenamedTensor& tensor) {
  constexpr float kLargest = 127.0F;
  const std::vector<float> values = floats_of(tensor);
  const auto columns = static_cast<size_t>(tensor.shape.back());
  Int8Rows rows;
  rows.values.reserve(values.size());
  for (size_t first = 0; first < values.size(); first += columns) {
    float largest = 0.0F;
    for (size_t i = 0; i < columns; ++i) {
      largest = std::max(largest, std::abs(values[first + i]));
    }
    const float scale = largest == 0.0F ? 1.0F : kLargest / largest;
    rows.scales.push_back(scale);
    for (size_t i = 0; i < columns; ++i) {
      rows.values.push_back(static_cast<std::byte>(static_cast<int8_t>(std::nearbyint(values[first + i] * scale))));
    }
  }
  return rows;
}

// Matrices of products and tables of tokens, but not of positions.
bool is_weight(const RenamedTensor& tensor) { return tensor.shape.size() == 2 && tensor.name.ends_with("/weight"); }

void add_int8(const RenamedTensor& tensor, Variables& variables) {
  variables.push_back({tensor.name, ForeignType::i8, tensor.shape, [&tensor] { return int8_rows(tensor).values; }});
  variables.push_back({tensor.name + "_scale", ForeignType::f32, {tensor.shape.front()}, [&tensor] {
                         return bytes_as(StoredType::f32, int8_rows(tensor).scales, tensor.name);
                       }});
}

// A table of positions without the rows before the first position.
CTranslate2Variable without_first_rows(const RenamedTensor& tensor, int64_t rows) {
  std::vector<int64_t> shape = tensor.shape;
  const auto skipped = static_cast<size_t>(rows * shape.back() * size_of(tensor.type));
  shape.front() -= rows;
  return {tensor.name, foreign_type(tensor.type), std::move(shape), [&tensor, skipped] {
            std::vector<std::byte> bytes = tensor.bytes();
            bytes.erase(bytes.begin(), bytes.begin() + static_cast<ptrdiff_t>(skipped));
            return bytes;
          }};
}

void add_sinusoids(const ModelConfig& config, Variables& variables) {
  for (const char* const name : {"encoder/position_encodings/encodings", "decoder/position_encodings/encodings"}) {
    variables.push_back({name, ForeignType::f32, {config.max_length, config.model}, [&config] {
                           Tensor table = sinusoidal_positions(
                               config.max_length, {config.model, config.sinusoid, config.position_offset}, DType::f32);
                           std::vector<float> values;
                           for (int64_t p = 0; p < config.max_length; ++p) {
                             for (int64_t c = 0; c < config.model; ++c) {
                               values.push_back(host<float>(table.view())(p, c));
                             }
                           }
                           return bytes_as(StoredType::f32, values, "positions");
                         }});
  }
}

// Whether bos stands before a source and eos after it, which is all that CTranslate2 can express.
struct SourceFrame {
  bool begin = false, end = false;
};

SourceFrame source_frame(const ExportedModel& model) {
  const Tokenizer& source = *model.tokenizers.front();
  const SpecialTokens& special = source.special();
  SourceFrame frame{.end = source.frame(1).empty()};
  bool is_after = false;
  for (const FrameSlot& slot : source.frame(1)) {
    if (slot.text != FrameSlot::kToken) {
      is_after = true;
      continue;
    }
    require<ConfigError>(slot.token == (is_after ? special.eos : special.bos), model.where,
                         "puts '{}' beside its sources, but CTranslate2 only puts bos before and eos after them",
                         source.piece(slot.token));
    (is_after ? frame.end : frame.begin) = true;
  }
  return frame;
}

// Each token's text; tokens without one have a name of their own.
std::vector<std::string> texts_of(const Tokenizer& tokenizer) {
  const auto* const foreign = dynamic_cast<const HuggingFaceTokenizer*>(&tokenizer);
  std::vector<std::string> texts;
  std::unordered_set<std::string> known;
  for (int64_t id = 0; id < tokenizer.vocabulary_size(); ++id) {
    const TokenId token(static_cast<int32_t>(id));
    std::string text = foreign == nullptr ? std::string() : foreign->token_text(token);
    text = text.empty() ? std::string(tokenizer.piece(token)) : text;
    texts.push_back(known.insert(text).second ? text : fmt::format("<no token {}>", id));
  }
  return texts;
}

void write_vocabularies(const ExportedModel& model, const std::filesystem::path& folder) {
  const Tokenizer &source = *model.tokenizers.front(), &target = *model.tokenizers.back();
  const auto write = [&](const char* name, const Tokenizer& tokenizer) {
    write_file(folder / name, SettingsJson(texts_of(tokenizer)).dump(1) + "\n");
  };
  const bool is_one = &source == &target;
  write(is_one ? "shared_vocabulary.json" : "source_vocabulary.json", source);
  if (!is_one) {
    write("target_vocabulary.json", target);
  }
  if (is_made_of_pieces(source) && is_made_of_pieces(target)) {
    write_file(folder / "source.spm", write_pieces(source, model.where).model);
    write_file(folder / "target.spm", write_pieces(target, model.where).model);
  }
}

void write_settings(const ExportedModel& model, const std::filesystem::path& folder) {
  const Tokenizer& target = *model.tokenizers.back();
  const std::vector<std::string> source_texts = texts_of(*model.tokenizers.front()), texts = texts_of(target);
  const SpecialTokens special = model.tokenizers.front()->special();
  const std::vector<int32_t>& start = model.marks.target_start;
  require<ConfigError>(
      start.size() <= 1, model.where,
      "begins translations with {} tokens, but CTranslate2 with one, and leaves the others to its callers",
      start.size());
  const SourceFrame frame = source_frame(model);
  SettingsJson settings{
      {"add_source_bos", frame.begin}, {"add_source_eos", frame.end}, {"layer_norm_epsilon", model.config.epsilon}};
  const auto name = [&](const char* key, const std::vector<std::string>& among, int32_t token) {
    if (token >= 0) {
      settings[key] = among[static_cast<size_t>(token)];
    }
  };
  name("unk_token", source_texts, special.unk.value);
  name("bos_token", source_texts, special.bos.value);
  name("eos_token", source_texts, special.eos.value);
  name("decoder_start_token", texts, start.empty() ? target.special().bos.value : start.front());
  write_file(folder / "config.json", settings.dump(2) + "\n");
}

std::optional<StoredType> float_type_of(CTranslate2Type type) {
  switch (type) {
    case CTranslate2Type::f32:
      return StoredType::f32;
    case CTranslate2Type::bf16:
      return StoredType::bf16;
    case CTranslate2Type::f16:
      return StoredType::f16;
    default:
      return std::nullopt;
  }
}

void require_same(const ExportedModel& model, const std::filesystem::path& folder) {
  std::string refusal;
  try {
    const auto differences =
        config_differences(written_config(model.config), read_ctranslate2_model(folder).model.config);
    if (!differences.empty()) {
      refusal =
          fmt::format("{}, but CTranslate2's form needs {}", differences.front().setting, differences.front().other);
    }
  } catch (const FormatError& error) {
    refusal = fmt::format("does not fit CTranslate2's form: {}", error.what());
  }
  require<ConfigError>(refusal.empty(), model.where, "{}", refusal);
}

}  // namespace

ExportSummary write_ctranslate2_model(const ExportedModel& model, const std::filesystem::path& folder,
                                      CTranslate2Type type) {
  const ModelConfig& config = model.config;
  Variables variables;
  add_settings(config, variables);
  const std::vector<RenamedTensor> tensors = renamed_weights(ctranslate2_names(config, kCTranslate2Source), config,
                                                             model.weights, float_type_of(type), model.where);
  CTranslate2Aliases aliases;
  for (const RenamedTensor& tensor : tensors) {
    const bool is_int8 = type == CTranslate2Type::int8 && is_weight(tensor);
    if (is_int8) {
      add_int8(tensor, variables);
    } else if (tensor.name.ends_with("/encodings")) {
      variables.push_back(without_first_rows(tensor, config.position_offset));
    } else {
      variables.push_back({tensor.name, foreign_type(tensor.type), tensor.shape, tensor.bytes});
    }
    for (const std::string& copy : tensor.copies) {
      aliases.emplace_back(copy, tensor.name);  // and the scales with it
    }
  }
  if (config.positions == Positions::sinusoidal && !are_own_positions(config)) {
    add_sinusoids(config, variables);
  }
  write_vocabularies(model, folder);
  write_settings(model, folder);
  ExportSummary summary{.form = "ctranslate2", .tensors = std::ssize(tensors)};
  summary.bytes = write_ctranslate2_file(folder / "model.bin", variables, aliases, model.interruption);
  require_same(model, folder);
  return summary;
}

}  // namespace heed
