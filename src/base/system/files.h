// Files: reading them whole, and writing so that either the old content or the new remains, whatever happens.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// Whether a name is that of an entry of a folder, not a path. Names that a file gives for other files beside it must
// be.
bool is_plain_name(std::string_view name);

// The content of a file. IoError names the path and the system's reason; FormatError where it is larger than 1 GiB.
std::string read_file(const std::filesystem::path& path);

// A file that is written beside its target and replaces it in commit(): synced, then renamed, with the permissions of
// the file that it replaces. Links are followed. Destroyed without commit(), it leaves no trace. Devices and pipes,
// which cannot be replaced, are written to directly. Every failure (a full disk, an unwritable folder) throws IoError
// with the target's path.
class AtomicFile {
 public:
  explicit AtomicFile(std::filesystem::path target);
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  void write(const void* bytes, size_t size);
  void write(std::string_view text) { write(text.data(), text.size()); }
  // Other bytes in place of the first that were written; not where it is in_place().
  void replace_beginning(std::string_view text);
  void commit();
  // Whether the target is no regular file, such as a pipe: what is written goes there at once, and stays.
  bool in_place() const { return temporary_.empty(); }

 private:
  void flush();
  void write_now(const char* bytes, size_t size);
  [[noreturn]] void fail_with_reason(std::string_view action) const;

  std::filesystem::path target_, temporary_;
  std::vector<char> buffer_;
  int descriptor_ = -1;
};

void write_file(const std::filesystem::path& target, std::string_view content);

// Removes the temporary files that killed processes left in a folder. No AtomicFile may be open in it.
void remove_unfinished_files(const std::filesystem::path& folder);

// Moves a folder to a path, replacing the folder that may be there. Synced. One of the two is there at every moment, as
// long as the file system can exchange names.
void replace_folder(const std::filesystem::path& from, const std::filesystem::path& to);

// Locks a folder for one process at a time. Throws IoError with the message `busy` while another holds the lock; the
// system releases it when the process ends, however it ends.
class FolderLock {
 public:
  FolderLock(const std::filesystem::path& folder, std::string_view busy);
  ~FolderLock();
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;

 private:
  int descriptor_;
};

// Checks that files can be created in a folder, and the folder itself, before time is spent on their content. IoError
// with the reason.
void require_writable(const std::filesystem::path& folder);

// The folder itself, or the nearest one above it that exists: its disk is likely to be the one that a new folder is on.
std::filesystem::path nearest_folder(const std::filesystem::path& folder);

// ConfigError when a file that is to be written is also one of the files that are read.
void require_other_file(const std::filesystem::path& output, const std::vector<std::string>& inputs);

// A file's bytes, mapped for reading; pages are read when they are touched, and stay in memory until they are given
// back. An empty file maps to no bytes.
class MappedFile {
 public:
  explicit MappedFile(const std::filesystem::path& path);
  ~MappedFile();
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  // Takes the pages of a part out of the process's memory. They are read again when touched again.
  void give_back(std::span<const std::byte> part) const;

 private:
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

// A file without a name: it disappears with the process, however that ends. IoError, with the folder, when the disk is
// full.
class TemporaryFile {
 public:
  // Empty: in the system's folder for temporary files.
  explicit TemporaryFile(std::filesystem::path folder);
  ~TemporaryFile();
  TemporaryFile(TemporaryFile&& other) noexcept;
  TemporaryFile& operator=(TemporaryFile&& other) noexcept;

  void write(std::span<const std::byte> bytes);
  // All that was written, mapped for reading as long as this lives. To be called once, and nothing is written after it.
  std::span<const std::byte> map();

 private:
  std::filesystem::path folder_;
  int descriptor_ = -1;
  size_t size_ = 0;
  const std::byte* mapped_ = nullptr;
};

}  // namespace heed
