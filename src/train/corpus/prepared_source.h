// What a prepared corpus is made of. It serves a recipe as long as both agree in this.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "train/recipe/recipe.h"

namespace heed {

struct PreparedSource {
  struct File {
    std::string key, name;  // of the recipe
    int64_t bytes = 0;      // its size
    int64_t modified = 0;   // when it was written last: nanoseconds of the file system's clock
    std::string checksum;   // of its bytes
  };

  std::map<std::string, std::string> settings;  // by the key in the recipe, as TOML
  std::vector<File> files;
};

// Reads the recipe's files for their checksums. ConfigError for a file that could not be recognized later: the standard
// input or a pipe.
PreparedSource source_of(const Recipe& recipe);

// ConfigError when one of the files is not what it was.
void require_unchanged(const PreparedSource& source);

// ConfigError, beginning with `where` and naming what differs. A file that was only copied or touched counts as the
// same; one that is gone is not looked for, since its text is not needed.
void require_same_source(const PreparedSource& prepared, const Recipe& recipe, const std::string& where);

}  // namespace heed
