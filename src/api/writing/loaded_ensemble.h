// A model that writes text, loaded, with the others of its ensemble.
#pragma once

#include <deque>
#include <vector>

#include "checkpoint/stored_model.h"
#include "heed/types/inference.h"

namespace heed {

class LoadedEnsemble {
 public:
  // FormatError for a folder with a model of another architecture and, naming both folders, for a member of the
  // ensemble with another vocabulary or other documents. A model that takes as many tokens as the context asks for
  // stays as it is.
  LoadedEnsemble(const ModelFolder& folder, Architecture architecture, const std::vector<std::string>& ensemble,
                 Backend& backend, DType storage, const ContextOptions& context = {});

  const StoredModel& first() const { return models_.front(); }
  const ModelFolder& folder() const { return folder_; }  // of the first
  Inference inference(Backend& backend, DType storage, DType cached) const;
  int64_t parameters() const { return sum_over_models(&StoredModel::parameters); }
  int64_t step_bytes() const { return sum_over_models(&StoredModel::step_bytes); }

 private:
  int64_t sum_over_models(int64_t (StoredModel::*figure)() const) const;

  ModelFolder folder_;
  std::deque<StoredModel> models_;
  std::vector<const AnyModel*> others_;
};

}  // namespace heed
