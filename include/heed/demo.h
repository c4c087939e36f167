// The built-in corpus as files, with a recipe that learns it in a minute.
#pragma once

#include <string>

namespace heed {

struct DemoFiles {
  std::string recipe;
  std::string test_source, test_target;  // sentences with combinations that training has not seen
};

// Writes German and English text for training, validation and test, and a recipe, into a folder, which it makes.
DemoFiles write_demo(const std::string& folder);

}  // namespace heed
