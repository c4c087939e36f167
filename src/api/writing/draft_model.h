// What drafts for a model, loaded.
#pragma once

#include <optional>

#include "api/writing/loaded_ensemble.h"
#include "decode/drafts/speculation.h"

namespace heed {

// Throws ConfigError where the options make no sense for the model, and FormatError, naming both folders, where a
// draft's model has another architecture or vocabulary.
class LoadedDraft {
 public:
  LoadedDraft(const DraftOptions& options, const LoadedEnsemble& targets, Backend& backend, DType storage);

  // Null without drafts.
  const Drafting* drafting() const { return drafting_ ? &*drafting_ : nullptr; }
  DraftReport report() const { return log_.report(); }

 private:
  std::optional<StoredModel> model_;
  DraftLog log_;
  std::optional<Drafting> drafting_;
};

}  // namespace heed
