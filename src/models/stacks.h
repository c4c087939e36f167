// Builds the layers of models from a ModelConfig.
#pragma once

#include <span>

#include "models/config.h"

namespace heed {

// An encoder's tokens see what comes after them, a decoder's do not.
inline Visibility::Reach reach_of(Stack stack) {
  return stack == Stack::encoder ? Visibility::Reach::full : Visibility::Reach::causal;
}
// What self-attention sees, layer by layer.
std::vector<VisibilityByHead> visibility_of_layers(const ModelConfig& config, Stack stack);
// `value_tables` has those that the layers' value_embeddings number.
std::vector<LayerOptions> options_of_layers(const ModelConfig& config, Stack stack,
                                            std::span<const Weight* const> value_tables);
// How the matrices of a stack of `layers` layers are initialized.
MatrixInitialization matrix_initialization(const ModelConfig& config, int64_t layers);
// A norm of the model's width.
NormShape norm_shape(const ModelConfig& config);
// Where a model's stack registers its weights.
inline Scope stack_scope(const Scope& model, Stack stack) {
  return (model / (stack == Stack::encoder ? "encoder" : "decoder")).in(stack);
}
// What the layers share is registered in the stack's scope.
StackShape stack_shape(const Scope& scope, const ModelConfig& config, Stack stack);

// `shared` is a table to use instead of an own one.
Embedding::Options embedding_options(const ModelConfig& config, int64_t vocabulary, WeightUse use,
                                     const Weight* shared = nullptr);
// Where one table serves all: is it the output projection too?
WeightUse use_of_only_table(const ModelConfig& config);

}  // namespace heed
