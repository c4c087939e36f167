#include "models/any_model.h"

#include <algorithm>

namespace heed {

std::string_view describe(Architecture architecture) {
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

AnyModel::Model AnyModel::make(const Scope& scope, const ModelConfig& config) {
  require_divisible(config, scope.parts().count());
  switch (config.architecture) {
    case Architecture::causal_lm:
      return Model(std::in_place_type<CausalLM>, scope, config);
    case Architecture::encoder:
      return Model(std::in_place_type<EncoderOnly>, scope, config);
    case Architecture::seq2seq:
      break;
  }
  return Model(std::in_place_type<Seq2Seq>, scope, config);
}

AnyModel::AnyModel(const Scope& scope, const ModelConfig& config) : config_(config), model_(make(scope, config)) {}

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
