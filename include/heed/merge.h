// Making a plain model of an adapter and the model that it was trained on.
#pragma once

#include <string>

namespace heed {

struct MergeOptions {
  std::string adapter;  // its directory
  std::string model;    // the base's directory; empty: the one that the adapter names
  std::string output;   // the model directory to write
};

// FormatError when the base is not the one that the adapter was trained on.
void merge(const MergeOptions& options);

}  // namespace heed
