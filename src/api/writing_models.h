// A model that writes text, loaded, with the others of its ensemble.
#pragma once

#include <deque>
#include <vector>

#include "checkpoint/stored_model.h"
#include "heed/inference.h"

namespace heed {

class WritingModels {
 public:
  // ConfigError for a folder with a model of another architecture; FormatError, naming both folders, for one of another
  // vocabulary.
  WritingModels(const ModelFolder& folder, Architecture architecture, const std::vector<std::string>& ensemble,
                Backend& backend, DType storage, const ContextOptions& context = {});

  const StoredModel& first() const { return models_.front(); }
  const ModelFolder& folder() const { return folder_; }  // of the first
  Inference inference(Backend& backend, DType storage, DType cached) const;
  int64_t parameters() const;  // of all
  int64_t step_bytes() const;  // of all: see StoredModel

 private:
  ModelFolder folder_;
  std::deque<StoredModel> models_;
  std::vector<const AnyModel*> others_;
};

}  // namespace heed
