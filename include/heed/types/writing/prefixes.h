// What texts that begin alike have saved each other.
#pragma once

#include <cstdint>

namespace heed {

// See InferenceOptions::prefix_bytes. Counts begin when the model is loaded.
struct PrefixReport {
  int64_t prompts = 0;  // that were read
  int64_t hits = 0;     // of these, those that began like another text
  int64_t tokens = 0;   // of all prompts
  int64_t saved = 0;    // of these, those that did not have to be read again
};

}  // namespace heed
