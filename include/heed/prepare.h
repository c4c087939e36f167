// Tokenizing a recipe's text once, for any number of trainings.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace heed {

struct PrepareOptions {
  std::string recipe;                  // a file, in TOML
  std::string output;                  // the folder to write, which must not exist
  std::vector<std::string> overrides;  // "table.key=value"
  int threads = 0;                     // 0: one per processor
};

struct PrepareResult {
  std::string text;   // what was read, in one line
  int64_t bytes = 0;  // of the folder's files
  double seconds = 0.0;
  int rank = 0;  // which one of several this process is; the first has all of this
};

// The ranks of a job tokenize the text together, and the first writes. The folder is complete or does not exist.
// train() uses it where the recipe's data.prepared or TrainOptions::prepared names it.
PrepareResult prepare(const PrepareOptions& options);

}  // namespace heed
