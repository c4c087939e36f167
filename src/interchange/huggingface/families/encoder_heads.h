// The heads of text encoders: what is between the encoder and its labels, or the scores of its tokens.
#pragma once

#include <array>
#include <optional>
#include <string_view>

#include "interchange/huggingface/families/family.h"

namespace heed {

// What a family calls the layers of its heads, and which activation they have where the settings don't say.
struct HeadNames {
  std::string_view text_layer = {};  // before labels of texts; empty: there is none
  Activation text_activation = Activation::tanh;
  std::string_view labels;
  std::string_view token_layer, token_norm, token_bias;  // of a masked language model
  std::optional<Activation> token_activation = {};       // of its layer; none: the encoder's
  std::array<std::string_view, 3> copies = {};           // of the output projection, which is the table of embeddings
  std::array<std::string_view, 3> bias_copies = {};
  // The layers of a discriminator, which tells tokens that were replaced; empty: the family has none.
  std::string_view replaced_layer = {}, replaced = {};
};

// The labels of a discriminator. It has one score for each token, z, and the second label's probability is
// sigmoid(z) = exp(z) / (exp(0) + exp(z)): the first label's score is 0.
inline constexpr std::array<std::string_view, 2> kReplacedLabels{"original", "replaced"};
// Whether the head is that of a discriminator.
bool tells_replaced(const ModelConfig& config);

inline constexpr HeadNames kBertHead{.text_layer = "{prefix}pooler.dense.{term}",
                                     .labels = "classifier.{term}",
                                     .token_layer = "cls.predictions.transform.dense.{term}",
                                     .token_norm = "cls.predictions.transform.LayerNorm.{term}",
                                     .token_bias = "cls.predictions.bias",
                                     .copies = {"cls.predictions.decoder.weight"},
                                     .bias_copies = {"cls.predictions.decoder.bias"}};
inline constexpr HeadNames kRobertaHead{.text_layer = "classifier.dense.{term}",
                                        .labels = "classifier.out_proj.{term}",
                                        .token_layer = "lm_head.dense.{term}",
                                        .token_norm = "lm_head.layer_norm.{term}",
                                        .token_bias = "lm_head.bias",
                                        .token_activation = Activation::gelu,
                                        .copies = {"lm_head.decoder.weight"},
                                        .bias_copies = {"lm_head.decoder.bias"}};
inline constexpr HeadNames kDistilBertHead{.text_layer = "pre_classifier.{term}",
                                           .text_activation = Activation::relu,
                                           .labels = "classifier.{term}",
                                           .token_layer = "vocab_transform.{term}",
                                           .token_norm = "vocab_layer_norm.{term}",
                                           .token_bias = "vocab_projector.bias",
                                           .copies = {"vocab_projector.weight"}};
inline constexpr HeadNames kElectraHead{.text_layer = "classifier.dense.{term}",
                                        .text_activation = Activation::gelu,
                                        .labels = "classifier.out_proj.{term}",
                                        .token_layer = "generator_predictions.dense.{term}",
                                        .token_norm = "generator_predictions.LayerNorm.{term}",
                                        .token_bias = "generator_lm_head.bias",
                                        .token_activation = Activation::gelu,
                                        .copies = {"generator_lm_head.weight"},
                                        .replaced_layer = "discriminator_predictions.dense.{term}",
                                        .replaced = "discriminator_predictions.dense_prediction.{term}"};
inline constexpr HeadNames kAlbertHead{.text_layer = "{prefix}pooler.{term}",
                                       .labels = "classifier.{term}",
                                       .token_layer = "predictions.dense.{term}",
                                       .token_norm = "predictions.LayerNorm.{term}",
                                       .token_bias = "predictions.bias",
                                       .copies = {"predictions.decoder.weight"},
                                       .bias_copies = {"predictions.decoder.bias"}};

// The head's settings, whose tensors are added to the names.
void exchange_head(FamilySource& source, const HeadNames& head, ModelConfig& config, ForeignNames& names);

}  // namespace heed
