#include "checkpoint/model_directory.h"
#include "heed/inspect.h"

namespace heed {

ModelKind kind_of_model(const std::string& directory) {
  switch (load_description({directory}).config.architecture) {
    case Architecture::seq2seq:
      return ModelKind::translator;
    case Architecture::causal_lm:
      return ModelKind::language_model;
    default:
      return ModelKind::encoder;
  }
}

}  // namespace heed
