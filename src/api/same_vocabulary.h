// Models that work together on one text.
#pragma once

#include "checkpoint/stored_model.h"

namespace heed {

// A model with its folder, for messages.
struct NamedModel {
  const StoredModel& model;
  const ModelFolder& folder;
};

// FormatError, naming both folders, unless each token of the one is the same token of the other. "FOLDER: cannot `role`
// FOLDER, which has another vocabulary": both have one architecture.
void require_same_vocabularies(const NamedModel& one, const NamedModel& other, std::string_view role);

}  // namespace heed
