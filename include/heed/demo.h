// The built-in corpus as files, with a recipe that learns it in a minute.
#pragma once

#include <cstdint>
#include <string>

#include "heed/train.h"

namespace heed {

struct DemoOptions {
  std::string folder;      // a new one, or an empty one
  int64_t updates = 1200;  // fewer make a quicker and worse translator
  int threads = 0;         // 0: one per processor
};

struct Demo {
  TrainOptions training;
  std::string test_source, test_target;  // sentences with combinations that training has not seen
};

// Writes German and English text for training, validation and test, and a recipe, into the folder. Throws, and writes
// nothing, where the folder holds something already.
Demo write_demo(const DemoOptions& options);

}  // namespace heed
