#include "interchange/marian/marian_names.h"

#include <array>
#include <span>
#include <vector>

#include "base/errors.h"

namespace heed {
namespace {

constexpr Sublayer kOwn = Sublayer::self_attention, kContext = Sublayer::cross_attention,
                   kFeedForwardPart = Sublayer::feed_forward;

constexpr ForeignTensor marian_tensor(std::string_view name, WeightRole role, Stack stack,
                                      std::optional<Sublayer> sublayer = {}) {
  return {name, {role}, sublayer, ForeignForm::same, stack};
}

constexpr Stack kSource = Stack::encoder, kTarget = Stack::decoder;

// "W" and "b" are in the middle of names.
constexpr std::array kMarianMatrices{
    marian_tensor("encoder_l{layer}_self_{term}q", WeightRole::query, kSource, kOwn),
    marian_tensor("encoder_l{layer}_self_{term}k", WeightRole::key, kSource, kOwn),
    marian_tensor("encoder_l{layer}_self_{term}v", WeightRole::value, kSource, kOwn),
    marian_tensor("encoder_l{layer}_self_{term}o", WeightRole::attention_output, kSource, kOwn),
    marian_tensor("encoder_l{layer}_ffn_{term}1", WeightRole::up, kSource, kFeedForwardPart),
    marian_tensor("encoder_l{layer}_ffn_{term}2", WeightRole::down, kSource, kFeedForwardPart),
    marian_tensor("decoder_l{layer}_self_{term}q", WeightRole::query, kTarget, kOwn),
    marian_tensor("decoder_l{layer}_self_{term}k", WeightRole::key, kTarget, kOwn),
    marian_tensor("decoder_l{layer}_self_{term}v", WeightRole::value, kTarget, kOwn),
    marian_tensor("decoder_l{layer}_self_{term}o", WeightRole::attention_output, kTarget, kOwn),
    marian_tensor("decoder_l{layer}_context_{term}q", WeightRole::query, kTarget, kContext),
    marian_tensor("decoder_l{layer}_context_{term}k", WeightRole::key, kTarget, kContext),
    marian_tensor("decoder_l{layer}_context_{term}v", WeightRole::value, kTarget, kContext),
    marian_tensor("decoder_l{layer}_context_{term}o", WeightRole::attention_output, kTarget, kContext),
    marian_tensor("decoder_l{layer}_ffn_{term}1", WeightRole::up, kTarget, kFeedForwardPart),
    marian_tensor("decoder_l{layer}_ffn_{term}2", WeightRole::down, kTarget, kFeedForwardPart),
};

constexpr std::array kNormsAfter{
    marian_tensor("encoder_l{layer}_self_Wo_ln_{term}", WeightRole::sublayer_norm, kSource, kOwn),
    marian_tensor("encoder_l{layer}_ffn_ffn_ln_{term}", WeightRole::sublayer_norm, kSource, kFeedForwardPart),
    marian_tensor("decoder_l{layer}_self_Wo_ln_{term}", WeightRole::sublayer_norm, kTarget, kOwn),
    marian_tensor("decoder_l{layer}_context_Wo_ln_{term}", WeightRole::sublayer_norm, kTarget, kContext),
    marian_tensor("decoder_l{layer}_ffn_ffn_ln_{term}", WeightRole::sublayer_norm, kTarget, kFeedForwardPart),
};

constexpr std::array kNormsBefore{
    marian_tensor("encoder_l{layer}_self_Wo_ln_{term}_pre", WeightRole::sublayer_norm, kSource, kOwn),
    marian_tensor("encoder_l{layer}_ffn_ffn_ln_{term}_pre", WeightRole::sublayer_norm, kSource, kFeedForwardPart),
    marian_tensor("decoder_l{layer}_self_Wo_ln_{term}_pre", WeightRole::sublayer_norm, kTarget, kOwn),
    marian_tensor("decoder_l{layer}_context_Wo_ln_{term}_pre", WeightRole::sublayer_norm, kTarget, kContext),
    marian_tensor("decoder_l{layer}_ffn_ffn_ln_{term}_pre", WeightRole::sublayer_norm, kTarget, kFeedForwardPart),
};

// In place of the decoder's self-attention.
constexpr std::array kRecurrentMatrices{
    marian_tensor("decoder_l{layer}_rnn_{term}f", WeightRole::forget_gate, kTarget, kOwn),
    marian_tensor("decoder_l{layer}_rnn_{term}", WeightRole::candidate, kTarget, kOwn),
};
constexpr std::array kRecurrentNormAfter{
    marian_tensor("decoder_l{layer}_rnn_ffn_ln_{term}", WeightRole::sublayer_norm, kTarget, kOwn),
};
constexpr std::array kRecurrentNormBefore{
    marian_tensor("decoder_l{layer}_rnn_ln_{term}_pre", WeightRole::sublayer_norm, kTarget, kOwn),
};

constexpr std::array kBesideLayers{
    marian_tensor("Wpos", WeightRole::position_embedding, kSource),
    marian_tensor("Wpos", WeightRole::position_embedding, kTarget),
    marian_tensor("encoder_emb_ln_{term}_pre", WeightRole::embedding_norm, kSource),
    marian_tensor("decoder_emb_ln_{term}_pre", WeightRole::embedding_norm, kTarget),
    marian_tensor("encoder_top_ln_{term}", WeightRole::final_norm, kSource),
    marian_tensor("decoder_top_ln_{term}", WeightRole::final_norm, kTarget),
};

void append_tensors(std::vector<ForeignTensor>& to, std::span<const ForeignTensor> more, ForeignForm form) {
  for (ForeignTensor tensor : more) {
    tensor.form = form;
    to.push_back(tensor);
  }
}

// Whether it belongs to the decoder's self-attention.
bool looks_back(const ForeignTensor& tensor) { return tensor.stack == kTarget && tensor.sublayer == kOwn; }

void append_layers(std::vector<ForeignTensor>& to, const ModelConfig& config, ForeignForm form) {
  const bool is_before = config.placement == NormPlacement::pre;
  append_tensors(to, kMarianMatrices, form);
  append_tensors(to, is_before ? kNormsBefore : kNormsAfter, ForeignForm::same);
  if (config.is_recurrent()) {
    std::erase_if(to, looks_back);
    append_tensors(to, kRecurrentMatrices, form);
    append_tensors(to, is_before ? kRecurrentNormBefore : kRecurrentNormAfter, ForeignForm::same);
  }
}

// A matrix of a layer: not a table of embeddings, nor a vector.
bool is_matrix_of_layer(const ArchiveTensor& tensor) {
  return tensor.name.find("_W") != std::string::npos && tensor.name.find("Wemb") == std::string::npos &&
         tensor.shape.size() == 2 && tensor.shape[0] > 1 && tensor.shape[1] > 1;
}

ForeignForm form_of_matrices(const MarianFile& file) {
  const ArchiveTensor* first = nullptr;
  for (const ArchiveTensor& tensor : file.tensors.tensors()) {
    if (!is_matrix_of_layer(tensor)) {
      continue;
    }
    first = first == nullptr ? &tensor : first;
    require<FormatError>(first->divisors.empty() == tensor.divisors.empty(), file.tensors.where(),
                         "{} and {}: some matrices are integers and others are not", first->text(), tensor.text());
  }
  return first != nullptr && !first->divisors.empty() ? ForeignForm::same : ForeignForm::transposed;
}

}  // namespace

ForeignNames marian_names(const MarianFile& file, const ModelConfig& config, const MarianTables& tables) {
  ForeignNames names{.tensors = {},
                     .matrices = {.factor = "W", .bias = "b"},
                     .norms = {.factor = "scale", .bias = "bias"},
                     .first_layer = 1,
                     .prefix = {},
                     .without_weight = {"QuantMultA"}};
  const ForeignForm form = form_of_matrices(file);
  append_tensors(names.tensors, kBesideLayers, ForeignForm::same);
  append_layers(names.tensors, config, form);
  names.tensors.push_back(marian_tensor(tables.source, WeightRole::token_embedding, kSource));
  names.tensors.push_back(marian_tensor(tables.target, WeightRole::token_embedding, kTarget));
  names.tensors.push_back({.name = kMarianLogitsBias, .roles = {WeightRole::logits}, .term = WeightTerm::bias});
  if (config.tying == Tying::none) {
    names.tensors.push_back(
        {.name = kMarianLogits, .roles = {WeightRole::logits}, .form = form, .term = WeightTerm::factor});
  }
  return names;
}

}  // namespace heed
