#include "interchange/ctranslate2/ctranslate2_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "interchange/ctranslate2/ctranslate2_names.h"
#include "interchange/zero_token.h"

namespace heed {
namespace {

// Settings of both stacks, which must agree: heed has one for both.
class StackSettings {
 public:
  StackSettings(const CTranslate2File& file, std::vector<SettingOrigin>& origins) : file_(file), origins_(origins) {}

  // Before revision 5 the settings of both stacks were one.
  double number(std::string_view name, double otherwise) {
    const double encoder = of("encoder/", name, otherwise), decoder = of("decoder/", name, otherwise);
    require<FormatError>(encoder == decoder, file_.tensors.where(),
                         "'{}' is {} in the encoder and {} in the decoder, but heed has one for both", name, encoder,
                         decoder);
    return encoder;
  }
  bool has_in_both(std::string_view name) {
    const bool encoder = has("encoder/", name), decoder = has("decoder/", name);
    require<FormatError>(encoder == decoder, file_.tensors.where(),
                         "'{}' is in one stack alone, but heed has one for both", name);
    return encoder;
  }
  int64_t layers(const std::string& stack) const {
    int64_t count = 0;
    while (has(stack, fmt::format("layer_{}/ffn/linear_1/weight", count))) {
      ++count;
    }
    return count;
  }
  bool has(const std::string& stack, std::string_view name) const {
    return file_.tensors.find(stack + std::string(name)) != nullptr;
  }

 private:
  double of(const std::string& stack, std::string_view name, double otherwise) {
    const std::string key = stack + std::string(name);
    std::optional<double> value = file_.find_number(key);
    if (!value && file_.revision < 5) {
      value = file_.find_number(name);
    }
    origins_.push_back({file_.tensors.where(), key, fmt::format("{}", value.value_or(otherwise)), !value.has_value()});
    return value.value_or(otherwise);
  }

  const CTranslate2File& file_;
  std::vector<SettingOrigin>& origins_;
};

Activation activation_of(double number, const std::string& where) {
  for (const auto& [known, activation] : kCTranslate2Activations) {
    if (number == known) {
      return activation;
    }
  }
  fail<FormatError>(where, "'activation' is {}, {}, which heed lacks", number,
                    number == 4   ? "x sigmoid(1.702 x)"
                    : number == 6 ? "a sigmoid"
                                  : "an unknown number");
}

// A flag, or the factor itself; without either, the root of the width.
EmbeddingScale embedding_scale_of(const CTranslate2File& file, const std::string& stack, int64_t width) {
  const ArchiveTensor* scale = file.tensors.find(stack + "scale_embeddings");
  if (scale == nullptr) {
    scale = file.tensors.find(stack + "embeddings/multiply_by_sqrt_depth");
  }
  if (scale == nullptr) {
    return EmbeddingScale::sqrt_model;
  }
  const double factor = file.find_number(scale->name).value_or(1.0);
  const double root = std::sqrt(static_cast<double>(width));
  if (scale->type == ForeignType::i8) {
    return factor != 0 ? EmbeddingScale::sqrt_model : EmbeddingScale::none;
  }
  require<FormatError>(factor == 1.0 || std::abs(factor - root) < 1e-3 * root, file.tensors.where(),
                       "'{}' is {}, but heed's embeddings are multiplied by {} or not at all", scale->name, factor,
                       root);
  return factor == 1.0 ? EmbeddingScale::none : EmbeddingScale::sqrt_model;
}

const ArchiveTensor& matrix_named(const CTranslate2File& file, const std::string& name) {
  const ArchiveTensor& tensor = file.tensors.at(name);
  require<FormatError>(tensor.shape.size() == 2, file.tensors.where(), "{}, expected a matrix", tensor.text());
  return tensor;
}

std::string source_table(const CTranslate2File& file) {
  require<FormatError>(file.tensors.find("encoder/embeddings_1/weight") == nullptr, file.tensors.where(),
                       "'encoder/embeddings_1': sources of several parts, which heed lacks");
  return file.tensors.find("encoder/embeddings_0/weight") != nullptr ? "encoder/embeddings_0/weight"
                                                                     : "encoder/embeddings/weight";
}

bool are_same(const CTranslate2File& file, std::string_view a, std::string_view b) {
  const ArchiveTensor *const first = file.tensors.find(a), *const second = file.tensors.find(b);
  return first == second ||
         (first != nullptr && second != nullptr && first->type == second->type && first->shape == second->shape &&
          std::ranges::equal(first->bytes, second->bytes) && std::ranges::equal(first->divisors, second->divisors));
}

void require_absent(const CTranslate2File& file, std::initializer_list<std::string_view> endings) {
  for (const ArchiveTensor& tensor : file.tensors.tensors()) {
    for (const std::string_view ending : endings) {
      require<FormatError>(!tensor.name.ends_with(ending), file.tensors.where(), "'{}', which heed's form lacks",
                           tensor.name);
    }
  }
}

void read_sizes(const CTranslate2File& file, StackSettings& settings, ModelConfig& config) {
  const ArchiveTensor &source = matrix_named(file, source_table(file)),
                      &target = matrix_named(file, std::string(kCTranslate2Target));
  config.model = target.shape[1];
  config.source_vocabulary = source.shape[0];
  config.target_vocabulary = target.shape[0];
  config.encoder_layers = settings.layers("encoder/");
  config.decoder_layers = settings.layers("decoder/");
  require<FormatError>(config.encoder_layers > 0 && config.decoder_layers > 0, file.tensors.where(),
                       "has {} layers of an encoder and {} of a decoder", config.encoder_layers, config.decoder_layers);
  config.inner = matrix_named(file, "encoder/layer_0/ffn/linear_1/weight").shape[1];
  // Before revision 3 the description's name told the heads.
  const double heads_by_name = file.spec == "TransformerBig" && file.revision < 3 ? 16 : 8;
  config.heads = static_cast<int64_t>(settings.number("num_heads", heads_by_name));
}

void read_kind(const CTranslate2File& file, StackSettings& settings, ModelConfig& config) {
  const bool is_before = settings.number("pre_norm", 1) != 0;
  config.placement = is_before ? NormPlacement::pre : NormPlacement::post;
  config.final_norm = settings.has_in_both("layer_norm/gamma") ? FinalNorm::present : FinalNorm::none;
  config.embedding_norm =
      settings.has_in_both("layernorm_embedding/gamma") ? EmbeddingNorm::present : EmbeddingNorm::none;
  config.norm = settings.has_in_both("layer_0/self_attention/layer_norm/beta") ? NormKind::layer : NormKind::rms;
  config.activation = activation_of(settings.number("activation", 0), file.tensors.where());
  config.gating = settings.has_in_both("layer_0/ffn/linear_0_noact/weight") ? Gating::gated : Gating::plain;
  config.bias = settings.has_in_both("layer_0/ffn/linear_1/bias") ? Bias::present : Bias::none;
  config.output_bias = file.tensors.find(kCTranslate2Bias) != nullptr ? Bias::present : Bias::none;
  config.embedding_scale = embedding_scale_of(file, "encoder/", config.model);
  require<FormatError>(config.embedding_scale == embedding_scale_of(file, "decoder/", config.model),
                       file.tensors.where(), "'scale_embeddings' differs between the stacks");
  require<FormatError>(file.find_number("decoder/scale_outputs").value_or(0) == 0, file.tensors.where(),
                       "'decoder/scale_outputs', which heed's form lacks");
  require<FormatError>(file.find_number("decoder/alibi").value_or(0) == 0, file.tensors.where(),
                       "'decoder/alibi', which heed's form lacks");
  if (settings.has_in_both("position_encodings/encodings")) {
    config.positions = Positions::learned;
    config.max_length = matrix_named(file, "decoder/position_encodings/encodings").shape[0];
  } else {
    constexpr int64_t kFirstPosition = 1;
    config.positions = Positions::sinusoidal;
    config.sinusoid = SinusoidLayout::halves_inclusive;
    config.position_offset = kFirstPosition;
  }
}

// One table for both stacks, or the projection's for the target alone.
Tying tying_in(const CTranslate2File& file) {
  if (!are_same(file, kCTranslate2Target, kCTranslate2Projection)) {
    return Tying::none;
  }
  return are_same(file, kCTranslate2Target, source_table(file)) ? Tying::all : Tying::output;
}

// What the decoder begins with; none if callers have to say it.
std::vector<int32_t> target_start(const CTranslate2Model& read) {
  if (read.zero_token) {
    return {static_cast<int32_t>(*read.zero_token)};
  }
  if (!read.config.decoder_start) {
    return {};
  }
  const std::vector<std::string>& tokens = read.vocabularies.target;
  const auto found = std::ranges::find(tokens, *read.config.decoder_start);
  require<FormatError>(found != tokens.end(), read.vocabularies.target_file.string(),
                       "there is no '{}', which the decoder begins with", shown(*read.config.decoder_start));
  return {static_cast<int32_t>(found - tokens.begin())};
}

void require_rows(const std::filesystem::path& file, size_t tokens, int64_t rows) {
  require<FormatError>(static_cast<int64_t>(tokens) == rows, file.string(),
                       "has {} tokens, but the table of embeddings {} rows", tokens, rows);
}

}  // namespace

CTranslate2Model read_ctranslate2_model(const std::filesystem::path& directory) {
  const std::filesystem::path restriction = directory / "vmap.txt";
  require<FormatError>(!std::filesystem::exists(restriction), restriction.string(),
                       "restricts translations to some words, which heed does not read: remove it to do without");
  CTranslate2File file = open_ctranslate2_file(directory / "model.bin");
  const std::string where = file.tensors.where();
  constexpr std::array<std::string_view, 3> kSpecs{"TransformerSpec", "TransformerBase", "TransformerBig"};
  require<FormatError>(std::ranges::find(kSpecs, file.spec) != kSpecs.end(), where,
                       "is a {}, which heed does not read: it reads encoder-decoders (TransformerSpec)",
                       shown(file.spec));
  require_absent(file, {"relative_position_keys", "relative_attention_bias", "rotary_dim", "queries_scale",
                        "merged_encoder_attention", "sliding_window"});
  // One after the other: where an initializer throws, GCC 12 destroys twice what an earlier `{}` made.
  CTranslate2Model read{};
  read.config = read_ctranslate2_config(directory, file);
  read.vocabularies = read_ctranslate2_vocabularies(directory, read.config.unknown);
  ModelConfig& config = read.model.config;
  config.embedding_dropout = config.attention_dropout = config.inner_dropout = config.branch_dropout =
      Probability(0.0F);
  StackSettings settings(file, read.model.origins);
  read_sizes(file, settings, config);
  read_kind(file, settings, config);
  config.epsilon = read.config.epsilon.value_or(config.norm == NormKind::layer ? 1e-5 : 1e-6);
  config.tying = tying_in(file);
  require_rows(read.vocabularies.source_file, read.vocabularies.source.size(), config.source_vocabulary);
  require_rows(read.vocabularies.target_file, read.vocabularies.target.size(), config.target_vocabulary);
  if (file.find_number("decoder/start_from_zero_embedding").value_or(0) != 0) {
    require<FormatError>(
        config.tying != Tying::all || file.tensors.find(source_table(file)) == file.tensors.find(kCTranslate2Target),
        where, "'decoder/start_from_zero_embedding' with two tables that are the same");
    const bool is_one = file.tensors.find(kCTranslate2Target) == file.tensors.find(kCTranslate2Projection);
    read.zero_token = add_zero_token(file.tensors, {std::string(kCTranslate2Target), std::string(kCTranslate2Bias),
                                                    is_one ? "" : std::string(kCTranslate2Projection)});
    ++config.target_vocabulary;
    config.source_vocabulary += config.tying == Tying::all ? 1 : 0;
    config.output_bias = Bias::present;
  }
  read.model.type = "ctranslate2";
  read.model.family = "CTranslate2's Transformer";
  read.model.marks.target_start = target_start(read);
  read.model.names = ctranslate2_names(config, source_table(file));
  read.model.archive = std::make_shared<const TensorArchive>(std::move(file.tensors));
  return read;
}

}  // namespace heed
