// A folder that a command fills.
#pragma once

#include <filesystem>
#include <set>
#include <vector>

namespace heed {

// Those on the way to a folder that did not exist and were made, from the outermost to the innermost.
using MadeFolders = std::vector<std::filesystem::path>;

// Makes the folder, with the parents that are missing. IoError, and none of them is left, when one cannot be made.
MadeFolders make_folders(const std::filesystem::path& path);

// Unless keep() is called, its end removes what was added to the folder in its time, and then the folders that were
// made and are empty.
class NewFolder {
 public:
  // Makes the folder.
  explicit NewFolder(const std::filesystem::path& path) : NewFolder(path, make_folders(path)) {}
  // Takes a folder that was made before, as by a process that then locks it.
  NewFolder(std::filesystem::path path, MadeFolders made);
  ~NewFolder();
  NewFolder(const NewFolder&) = delete;
  NewFolder& operator=(const NewFolder&) = delete;

  void keep() { kept_ = true; }

 private:
  std::filesystem::path path_;
  MadeFolders made_;
  std::set<std::filesystem::path> before_;  // what the folder held
  bool kept_ = false;
};

}  // namespace heed
