#include "api/writing/loaded_ensemble.h"

#include "api/writing/same_vocabulary.h"
#include "base/system/memory.h"

namespace heed {
namespace {

// What a further model needs of the context that the first one is run with.
ContextOptions context_of_other(const ModelFolder& folder, const ContextOptions& wanted) {
  const ModelConfig config = load_description(folder).config;
  if (wanted.max_length <= config.max_length) {
    return {};
  }
  const bool rotary = config.positions == Positions::rotary;
  return {wanted.max_length, rotary ? wanted.rotary_scaling : RotaryScaling::none};
}

// Models of one stream of text have never read the mark that documents begin with.
void require_same_documents(const NamedModel& other, const NamedModel& first) {
  const std::optional<Documents> its = other.model.documents(), of_first = first.model.documents();
  const bool differ = its && of_first && (*its == Documents::none) != (*of_first == Documents::none);
  require<FormatError>(!differ, other.folder.path.string(),
                       "cannot form an ensemble with {}: one was trained on documents, the other on one stream of text",
                       first.folder.path.string());
}

}  // namespace

LoadedEnsemble::LoadedEnsemble(const ModelFolder& folder, Architecture architecture,
                               const std::vector<std::string>& ensemble, Backend& backend, DType storage,
                               const ContextOptions& context)
    : folder_(folder) {
  require_architecture(folder, architecture);
  models_.emplace_back(folder, backend, storage, std::filesystem::path(), context);
  for (const std::string& directory : ensemble) {
    const ModelFolder of_other{directory};
    require_architecture(of_other, architecture);
    const StoredModel& other =
        models_.emplace_back(of_other, backend, storage, std::filesystem::path(), context_of_other(of_other, context));
    require_same_vocabularies({other, of_other}, "form an ensemble with", {first(), folder_});
    require_same_documents({other, of_other}, {first(), folder_});
    others_.push_back(&other.model());
  }
  return_freed_memory();
}

Inference LoadedEnsemble::inference(Backend& backend, DType storage, DType cached) const {
  return {first().model(), backend, storage, cached, others_};
}

int64_t LoadedEnsemble::sum_over_models(int64_t (StoredModel::*figure)() const) const {
  int64_t sum = 0;
  for (const StoredModel& model : models_) {
    sum += (model.*figure)();
  }
  return sum;
}

}  // namespace heed
