#include "interchange/naming.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "interchange/forms/gpt2_form.h"
#include "interchange/forms/llama_form.h"
#include "models/any_model.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// "name = weight[first, count] + ...".
std::string text_of(const NamedTensor& tensor) {
  std::string text;
  for (const WeightRows& part : tensor.rows) {
    text += fmt::format("{}{}[{}, {}]", text.empty() ? "" : " + ", part.weight->name(), part.first, part.count);
  }
  return fmt::format("{} = {}", tensor.name, text);
}

std::vector<std::string> names_in(const ForeignNames& names, const ModelConfig& config) {
  Weights weights;
  const AnyModel model(Scope(weights), config);
  std::vector<std::string> found;
  for (const NamedTensor& tensor : named_tensors(names, weights)) {
    found.push_back(text_of(tensor));
  }
  return found;
}

ModelConfig one_layer(Architecture architecture) {
  return {.architecture = architecture,
          .model = 8,
          .inner = 12,
          .heads = 2,
          .encoder_layers = 1,
          .decoder_layers = 1,
          .source_vocabulary = 11,
          .target_vocabulary = 13,
          .max_length = 16};
}

TEST(Naming, FindsTheRowsOfEachRoleInStackedMatrices) {
  ModelConfig config = one_layer(Architecture::causal_lm);
  config.key_value_heads = 1;
  config.gating = Gating::gated;
  config.norm = NormKind::rms;
  config.bias = config.output_bias = Bias::none;
  EXPECT_THAT(names_in(llama_names(), config),
              ElementsAre("token_embd.weight = embedding.tokens[0, 13]", "output.weight = output.weight[0, 13]",
                          "output_norm.weight = decoder.norm.gain[0, 8]",
                          "blk.0.attn_norm.weight = decoder.layers.0.attention.norm.gain[0, 8]",
                          "blk.0.attn_q.weight = decoder.layers.0.attention.projection.weight[0, 8]",
                          "blk.0.attn_k.weight = decoder.layers.0.attention.projection.weight[8, 4]",
                          "blk.0.attn_v.weight = decoder.layers.0.attention.projection.weight[12, 4]",
                          "blk.0.attn_output.weight = decoder.layers.0.attention.output.weight[0, 8]",
                          "blk.0.ffn_norm.weight = decoder.layers.0.feed_forward.norm.gain[0, 8]",
                          "blk.0.ffn_gate.weight = decoder.layers.0.feed_forward.inner.weight[0, 12]",
                          "blk.0.ffn_up.weight = decoder.layers.0.feed_forward.inner.weight[12, 12]",
                          "blk.0.ffn_down.weight = decoder.layers.0.feed_forward.output.weight[0, 8]"));
}

TEST(Naming, RolesThatAreOneTensorThereAreListedOneAfterTheOther) {
  const ForeignNames together{
      .tensors = {{"vk.{layer}.{term}", {WeightRole::value, WeightRole::key}, Sublayer::self_attention}},
      .matrices = {"W", "b"},
      .first_layer = 1};
  EXPECT_THAT(names_in(together, one_layer(Architecture::causal_lm)),
              ElementsAre("vk.1.W = decoder.layers.0.attention.projection.weight[16, 8] + "
                          "decoder.layers.0.attention.projection.weight[8, 8]",
                          "vk.1.b = decoder.layers.0.attention.projection.bias[16, 8] + "
                          "decoder.layers.0.attention.projection.bias[8, 8]"));
}

TEST(Naming, StacksSublayersAndTermsHaveNamesOfTheirOwn) {
  const ForeignNames names{
      .tensors = {{"{term}emb_encoder", {WeightRole::token_embedding}, {}, ForeignForm::same, Stack::encoder},
                  {"encoder_l{layer}_{term}q",
                   {WeightRole::query},
                   Sublayer::self_attention,
                   ForeignForm::same,
                   Stack::encoder},
                  {"decoder_l{layer}_context_{term}q", {WeightRole::query}, Sublayer::cross_attention},
                  {"decoder_l{layer}_context_ln_{term}", {WeightRole::sublayer_norm}, Sublayer::cross_attention}},
      .matrices = {"W", "b"},
      .norms = {"scale", "bias"},
      .first_layer = 1};
  EXPECT_THAT(names_in(names, one_layer(Architecture::seq2seq)),
              ElementsAre("Wemb_encoder = source.tokens[0, 11]",
                          "encoder_l1_Wq = encoder.layers.0.attention.projection.weight[0, 8]",
                          "encoder_l1_bq = encoder.layers.0.attention.projection.bias[0, 8]",
                          "decoder_l1_context_Wq = decoder.layers.0.cross_attention.query.weight[0, 8]",
                          "decoder_l1_context_bq = decoder.layers.0.cross_attention.query.bias[0, 8]",
                          "decoder_l1_context_ln_scale = decoder.layers.0.cross_attention.norm.gain[0, 8]",
                          "decoder_l1_context_ln_bias = decoder.layers.0.cross_attention.norm.bias[0, 8]"));
}

// Every weight of a model of the form is in the file, once and whole.
TEST(Naming, ATableOfAFormNamesAllWeights) {
  ModelConfig config = one_layer(Architecture::causal_lm);
  config.decoder_layers = 2;
  config.positions = Positions::learned;
  config.output_bias = Bias::none;
  Weights weights;
  const AnyModel model(Scope(weights), config);
  std::map<std::string, int64_t> rows;
  for (const NamedTensor& tensor : named_tensors(gpt2_names(), weights)) {
    for (const WeightRows& part : tensor.rows) {
      rows[part.weight->name()] += part.count;
    }
  }
  for (const Weight& weight : weights.all()) {
    EXPECT_EQ(rows[weight.name()], weight.shape()[0]) << weight.name();
  }
}

TEST(Naming, ARoleThatTheModelLacksHasNoTensor) {
  const ForeignNames types{.tensors = {{"token_types.{term}", {WeightRole::type_embedding}}}};
  EXPECT_THAT(names_in(types, one_layer(Architecture::causal_lm)), IsEmpty());
}

}  // namespace
}  // namespace heed::test
