#include "base/system/new_folder.h"

#include <algorithm>
#include <ranges>
#include <system_error>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

std::set<fs::path> entries_in(const fs::path& folder) {
  std::error_code none;
  std::set<fs::path> entries;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, none)) {
    entries.insert(entry.path());
  }
  return entries;
}

// The folder and its parents, as far as they do not exist, the outermost first.
MadeFolders missing_folders(const fs::path& folder) {
  MadeFolders missing;
  std::error_code none;
  for (fs::path at = fs::absolute(folder).lexically_normal(); !fs::exists(at, none) && at.has_relative_path();
       at = at.parent_path()) {
    if (at.has_filename()) {
      missing.push_back(at);
    }
  }
  std::ranges::reverse(missing);
  return missing;
}

// A folder into which another program has put something meanwhile stays.
void remove_empty(const MadeFolders& folders) {
  for (auto folder = folders.rbegin(); folder != folders.rend(); ++folder) {
    std::error_code ignored;
    fs::remove(*folder, ignored);
  }
}

}  // namespace

MadeFolders make_folders(const fs::path& path) {
  MadeFolders made;
  for (const fs::path& folder : missing_folders(path)) {
    std::error_code problem;
    if (fs::create_directory(folder, problem)) {
      made.push_back(folder);
    }
    if (problem) {
      remove_empty(made);
      fail<IoError>(path.string(), "cannot create the folder: {}", problem.message());
    }
  }
  require<IoError>(fs::is_directory(path), path.string(), "is a file, expected a folder");
  return made;
}

NewFolder::NewFolder(fs::path path, MadeFolders made)
    : path_(std::move(path)), made_(std::move(made)), before_(entries_in(path_)) {}

NewFolder::~NewFolder() {
  if (kept_) {
    return;
  }
  std::error_code ignored;
  for (const fs::path& entry : entries_in(path_)) {
    if (!before_.contains(entry)) {
      fs::remove_all(entry, ignored);
    }
  }
  remove_empty(made_);
}

}  // namespace heed
