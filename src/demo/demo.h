// The built-in corpus as files, with a recipe that learns it in a minute.
#pragma once

#include <cstdint>
#include <string>

namespace heed {

struct DemoOptions {
  std::string folder;      // a new one, or an empty one
  int64_t updates = 1200;  // with fewer, training is quicker and the translator worse
  int threads = 0;         // for the training, checked before anything is written; 0: one per processor
};

struct Demo {
  std::string recipe, model;             // a file, and the future model directory
  std::string test_source, test_target;  // files of sentences with combinations that training has not seen
};

// Writes German and English text for training, validation and test, and a recipe, into the folder. Throws, without
// writing anything, when the folder is not empty.
Demo write_demo(const DemoOptions& options);

}  // namespace heed
