// The settings of one model of a server.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "heed/types/inference.h"
#include "heed/types/writing/drafting.h"

namespace heed::serve {

// Bytes of keys and values kept for the beginnings that prompts share, unless the settings say otherwise.
constexpr int64_t kPrefixBytes = int64_t{1} << 27;

struct ModelSettings {
  std::string name, directory;
  InferenceOptions inference{.prefix_bytes = kPrefixBytes};
  DraftOptions drafts;
  std::string shortlist;
  // The languages of a translator that knows one pair, for interfaces that name languages: "de", "en".
  std::string source_language, target_language;
  // The languages of a translator that knows several: "de=deu_Latn", a code and what the model calls the language, or a
  // code alone.
  std::vector<std::string> languages = {};
  int64_t beam = 0;  // for interfaces that do not say how to search; 0: the model's own
};

}  // namespace heed::serve
