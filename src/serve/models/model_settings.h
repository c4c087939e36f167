// What the settings of a server say of one model.
#pragma once

#include <string>
#include <string_view>

#include "heed/types/drafting.h"
#include "heed/types/inference.h"

namespace heed::serve {

struct ModelSettings {
  std::string name, directory;
  InferenceOptions inference;
  DraftOptions drafts;
  std::string shortlist;
  // The languages of a translator that knows one pair, for interfaces that name languages: "de", "en".
  std::string source_language, target_language;
};

}  // namespace heed::serve
