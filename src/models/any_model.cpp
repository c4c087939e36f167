#include "models/any_model.h"

#include <algorithm>

namespace heed {

std::string_view in_words(Architecture architecture) {
  switch (architecture) {
    case Architecture::seq2seq:
      return "an encoder-decoder";
    case Architecture::causal_lm:
      return "a decoder-only language model";
    case Architecture::encoder:
      return "an encoder";
  }
  return "";
}

AnyModel::Model AnyModel::make(const Scope& scope, const ModelConfig& config, const StageRanges& layers) {
  require_divisible(config, scope.parts().count());
  switch (config.architecture) {
    case Architecture::causal_lm:
      return Model(std::in_place_type<CausalLM>, scope, config, layers);
    case Architecture::encoder:
      return Model(std::in_place_type<EncoderOnly>, scope, config, layers);
    case Architecture::seq2seq:
      break;
  }
  return Model(std::in_place_type<Seq2Seq>, scope, config, layers);
}

AnyModel::AnyModel(const Scope& scope, const ModelConfig& config, Stage stage)
    : config_(config),
      stage_(stage),
      plan_(config, stage.count),
      model_(make(scope, config, plan_.layers_of(stage.index))) {}

Var AnyModel::embed(Pass& pass, Crossing what, const Sequences& tokens) const {
  const Seq2Seq* const pairs = std::get_if<Seq2Seq>(&model_);
  if (pairs != nullptr) {
    return pairs->embed(pass, what, tokens);
  }
  return std::visit(
      [&](const auto& model) -> Var {
        if constexpr (std::is_base_of_v<TokenModel, std::decay_t<decltype(model)>>) {
          return model.embed(pass, tokens);
        } else {
          return {};
        }
      },
      model_);
}

std::vector<Inference> Inference::members() const {
  std::vector<Inference> found{{model, backend, storage, cached}};
  for (const AnyModel* const other : others) {
    found.push_back({*other, backend, storage, cached});
  }
  return found;
}

int64_t Inference::max_length() const {
  int64_t least = model.config().max_length;
  for (const AnyModel* const other : others) {
    least = std::min(least, other->config().max_length);
  }
  return least;
}

}  // namespace heed
