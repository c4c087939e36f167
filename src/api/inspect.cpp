#include "heed/inspect.h"

#include "models/models.h"

namespace heed {

ModelSummary inspect_recipe(const std::string& path) {
  const ModelConfig config = read_model_config(path);
  ParameterStore store;
  const Scope scope(store);
  switch (config.architecture) {
    case Architecture::seq2seq:
      Seq2Seq(scope, config);
      break;
    case Architecture::causal_lm:
      CausalLM(scope, config);
      break;
    case Architecture::encoder:
      EncoderOnly(scope, config);
      break;
  }
  ModelSummary summary{.architecture = describe(config), .parameters = {}, .elements = store.elements()};
  for (const auto& parameter : store.all()) {
    summary.parameters.push_back({parameter->name(), parameter->shape().text(), parameter->shape().elements()});
  }
  return summary;
}

}  // namespace heed
