// A prepared corpus: a recipe's text as tokens, in a folder whose files are mapped, so that training starts at once and
// all processes of a machine share the memory. docs/models/formats.md describes the files.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "checkpoint/model_directory.h"
#include "data/corpus/stored_fields.h"
#include "train/corpus/prepared_source.h"

namespace heed {

// Writes the files into a folder, which exists. IoError names the file that the system refuses.
void write_prepared_corpus(const std::filesystem::path& folder, const PreparedSource& source,
                           const Tokenizers& tokenizers, const FieldsToStore& fields);

class PreparedCorpus {
 public:
  // IoError for a folder that is not there, FormatError, naming the file, for one that is incomplete, was damaged, or
  // is something else. Large arrays are only mapped: what is damaged in them is a FormatError when it is read.
  explicit PreparedCorpus(std::filesystem::path folder);

  // ConfigError, naming what differs, unless it was made of this recipe's text, by its rules.
  void require_recipe(const Recipe& recipe, const ModelMarks& marks = {}) const;
  // ConfigError unless its tokens are those of these tokenizers.
  void require_tokenizers(const Tokenizers& tokenizers) const;

  const Tokenizers& tokenizers() const { return tokenizers_; }
  const StoredFields& fields() const { return fields_; }

 private:
  void read_description();
  void map_arrays(const std::string& checksum);

  std::filesystem::path folder_;
  PreparedSource source_;
  Tokenizers tokenizers_;
  StoredFields fields_;
};

// Opens the prepared corpus that the recipe names and checks that it is this recipe's. Puts its fields into the setup,
// which must not outlive it, and its tokenizers if the setup has none. Null if the recipe names no corpus.
std::unique_ptr<const PreparedCorpus> open_prepared_corpus(const Recipe& recipe, TaskSetup& setup);

// If a run is resumed with a recipe that names no prepared corpus: takes the one that the run had before, if that is
// still there.
void take_prepared_corpus(const Recipe& before, Recipe& now, TrainListener& listener);

// Whether a folder holds one, of whatever recipe.
bool holds_prepared_corpus(const std::filesystem::path& folder);

}  // namespace heed
