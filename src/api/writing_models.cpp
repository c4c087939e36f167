#include "api/writing_models.h"

#include "api/same_vocabulary.h"

namespace heed {

WritingModels::WritingModels(const ModelFolder& folder, Architecture architecture,
                             const std::vector<std::string>& ensemble, Backend& backend, DType storage,
                             const ContextOptions& context)
    : folder_(folder) {
  require_architecture(folder, architecture);
  models_.emplace_back(folder, backend, storage, std::filesystem::path(), context);
  for (const std::string& directory : ensemble) {
    const ModelFolder of_other{directory};
    require_architecture(of_other, architecture);
    const StoredModel& other = models_.emplace_back(of_other, backend, storage, std::filesystem::path(), context);
    require_same_vocabularies({other, of_other}, {first(), folder_}, "form an ensemble with");
    others_.push_back(&other.model());
  }
}

Inference WritingModels::inference(Backend& backend, DType storage, DType cached) const {
  return {first().model(), backend, storage, cached, others_};
}

int64_t WritingModels::parameters() const {
  int64_t sum = 0;
  for (const StoredModel& model : models_) {
    sum += model.parameters();
  }
  return sum;
}

int64_t WritingModels::step_bytes() const {
  int64_t sum = 0;
  for (const StoredModel& model : models_) {
    sum += model.step_bytes();
  }
  return sum;
}

}  // namespace heed
