// Models that write a text together need the same vocabularies, in which each token has the same piece.
#pragma once

#include "checkpoint/stored_model.h"

namespace heed {

// A model with its folder, for messages.
struct NamedModel {
  const StoredModel& model;
  const ModelFolder& folder;
};

// FormatError unless the models, of one architecture, have the same vocabularies: "MODEL: cannot PURPOSE FIRST, which
// has another vocabulary", where a purpose is such as "draft for".
void require_same_vocabularies(const NamedModel& model, std::string_view purpose, const NamedModel& first);

}  // namespace heed
