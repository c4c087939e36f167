#include "train/corpus/prepare.h"

#include <optional>
#include <system_error>

#include "base/system/files.h"
#include "base/system/new_folder.h"
#include "parallel/rank_checks.h"
#include "text/vocabulary/vocabulary.h"
#include "train/corpus/prepared_corpus.h"
#include "train/learner/starting_model.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

// A folder beside its target, locked, empty, and removed unless it is put in the target's place.
class PartialFolder {
 public:
  explicit PartialFolder(const fs::path& target)
      : target_(target), path_(target.string() + ".partial"), created_(path_) {
    lock_.emplace(path_, "another process prepares this corpus: wait for it, or choose another folder");
    for (const fs::directory_entry& entry : fs::directory_iterator(path_)) {
      fs::remove_all(entry.path());
    }
  }
  ~PartialFolder() {
    if (!moved_) {
      std::error_code ignored;
      fs::remove_all(path_, ignored);
    }
  }
  PartialFolder(const PartialFolder&) = delete;
  PartialFolder& operator=(const PartialFolder&) = delete;

  const fs::path& path() const { return path_; }
  void move_into_place() {
    replace_folder(path_, target_);
    created_.keep();
    moved_ = true;
  }

 private:
  fs::path target_, path_;
  NewFolder created_;
  std::optional<FolderLock> lock_;
  bool moved_ = false;
};

void require_new(const fs::path& folder) {
  require<ConfigError>(!fs::exists(fs::symlink_status(folder)), folder.string(),
                       "exists already: choose another folder, or remove it");
}

// "corpus/" is the folder "corpus".
fs::path without_separator(const fs::path& folder) {
  return folder.has_filename() || !folder.has_relative_path() ? folder : folder.parent_path();
}

void require_same_text(const Ranks& ranks, const Recipe& recipe, const PreparedSource& source) {
  std::string files;
  for (const PreparedSource::File& file : source.files) {
    files += file.checksum + " ";
  }
  require_same_on_all_ranks(ranks, {{"recipe", checksum_of(to_toml(recipe))}, {"training text", checksum_of(files)}});
}

}  // namespace

std::string prepare_corpus(const Recipe& recipe, const fs::path& output, int threads, const Ranks& ranks) {
  recipe.validate_for_new_run();
  require<ConfigError>(recipe.prepared.empty(), "data.prepared", "names a corpus that is prepared already: {}",
                       recipe.prepared);
  const fs::path folder = without_separator(output);
  if (ranks.is_first()) {
    require_new(folder);
  }
  const PreparedSource source = source_of(recipe);
  require_same_text(ranks, recipe, source);
  Tokenizers tokenizers;
  ModelMarks marks;
  if (takes_tokenizers(recipe)) {
    const StartingModel from(ModelFolder{recipe.training.from}, starting_weights(recipe.adapter));
    tokenizers = from.tokenizers_for(recipe.model.architecture);
    marks = from.marks_for(recipe.model.architecture);
  }
  std::optional<PartialFolder> partial;
  if (ranks.is_first()) {
    partial.emplace(folder);
  }
  const std::unique_ptr<Task> task =
      recipe.task->make_task(recipe, {.tokenizers = tokenizers.empty() ? nullptr : &tokenizers,
                                      .marks = marks,
                                      .folder = {recipe.training.from},
                                      .threads = threads,
                                      .ranks = ranks,
                                      .spill_folder = nearest_folder(partial ? partial->path() : folder)});
  if (partial) {
    require_unchanged(source);
    FieldsToStore fields;
    task->store(fields);
    write_prepared_corpus(partial->path(), source, task->tokenizers(), fields);
    require_new(folder);
    partial->move_into_place();
  }
  return task->describe_text();
}

}  // namespace heed
