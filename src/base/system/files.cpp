#include "base/system/files.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

// Written at once, from a multiple of it: some systems keep such a piece in large pages, which makes a file that is
// mapped faster to read.
constexpr size_t kBufferBytes = 4 << 20;
constexpr size_t kMaxFileBytes = size_t{1} << 30;  // of a file that is read as a whole
constexpr int kMaxLinks = 40;                      // followed one after another; the system's own limit

[[noreturn]] void refuse(const std::filesystem::path& path, std::string_view action) {
  const int reason = errno;
  const std::string found = fmt::format("cannot {}: {}", action, std::strerror(reason));
  if (reason == ENOMEM) {
    fail<MemoryError>(path.string(), "{}", found);
  }
  fail<IoError>(path.string(), "{}", found);
}

// Closes its descriptor.
struct Descriptor {
  int value;
  ~Descriptor() {
    if (value >= 0) {
      ::close(value);
    }
  }
};

int open_for_reading(const std::filesystem::path& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) {
    refuse(path, "open");
  }
  return descriptor;
}

// A renamed file survives a crash only once its folder is on disk too.
void sync_folder(const std::filesystem::path& file) {
  const std::filesystem::path folder = file.has_parent_path() ? file.parent_path() : ".";
  const Descriptor descriptor{::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)};
  if (descriptor.value >= 0) {
    ::fsync(descriptor.value);
  }
}

// The name of a file while it is being written: "name.PROCESS.COUNT.partial".
std::filesystem::path beside(const std::filesystem::path& target) {
  static std::atomic<uint64_t> counter{0};
  std::filesystem::path temporary = target;
  temporary += fmt::format(".{}.{}.partial", ::getpid(), counter++);
  return temporary;
}

bool is_beside(const std::filesystem::path& file) {
  const auto ends_in_number = [](const std::filesystem::path& name) {
    const std::string number = name.extension().string();
    return number.size() > 1 && number.find_first_not_of("0123456789", 1) == std::string::npos;
  };
  const std::filesystem::path counted = file.stem();
  return file.extension() == ".partial" && ends_in_number(counted) && ends_in_number(counted.stem());
}

}  // namespace

bool is_plain_name(std::string_view name) {
  constexpr size_t kMost = 255;  // bytes, as file systems have it
  return !name.empty() && name != "." && name != ".." && name.size() <= kMost &&
         name.find_first_of(std::string_view("/\\\0", 3)) == std::string_view::npos;
}

std::string read_file(const std::filesystem::path& path) {
  const Descriptor file{open_for_reading(path)};
  std::string content;
  const auto require_size = [&](size_t bytes) {
    require<FormatError>(bytes <= kMaxFileBytes, path.string(), "is larger than 1 GiB");
  };
  struct stat status {};
  if (::fstat(file.value, &status) == 0 && status.st_size > 0) {
    require_size(static_cast<size_t>(status.st_size));
    content.reserve(static_cast<size_t>(status.st_size));
  }
  char block[1 << 16];
  while (true) {
    const ssize_t got = ::read(file.value, block, sizeof block);
    if (got < 0 && errno != EINTR) {
      refuse(path, "read");
    } else if (got == 0) {
      return content;
    } else if (got > 0) {
      require_size(content.size() + static_cast<size_t>(got));
      content.append(block, static_cast<size_t>(got));
    }
  }
}

AtomicFile::AtomicFile(std::filesystem::path target) : target_(std::move(target)) {
  std::error_code none;
  for (int links = 0; std::filesystem::is_symlink(target_, none); ++links) {
    if (links == kMaxLinks) {
      errno = ELOOP;
      fail_with_reason("create");
    }
    target_ = target_.parent_path() / std::filesystem::read_symlink(target_);
  }
  struct stat before {};
  const bool was_there = ::stat(target_.c_str(), &before) == 0;
  if (was_there && !S_ISREG(before.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
  } else {
    temporary_ = beside(target_);
    descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  }
  if (descriptor_ < 0) {
    fail_with_reason("create");
  }
  if (was_there && !in_place()) {
    ::fchmod(descriptor_, before.st_mode & 07777);
  }
  buffer_.reserve(kBufferBytes);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ >= 0) {
    ::close(descriptor_);
    if (!in_place()) {
      ::unlink(temporary_.c_str());
    }
  }
}

void AtomicFile::write(const void* bytes, size_t size) {
  const char* from = static_cast<const char*>(bytes);
  while (size > 0) {
    if (buffer_.empty() && size >= kBufferBytes) {
      write_now(from, size);
      return;
    }
    const size_t part = std::min(size, kBufferBytes - buffer_.size());
    buffer_.insert(buffer_.end(), from, from + part);
    from += part;
    size -= part;
    if (buffer_.size() == kBufferBytes) {
      flush();
    }
  }
}

void AtomicFile::flush() {
  write_now(buffer_.data(), buffer_.size());
  buffer_.clear();
}

void AtomicFile::write_now(const char* bytes, size_t size) {
  for (size_t written = 0; written < size;) {
    const ssize_t part = ::write(descriptor_, bytes + written, size - written);
    if (part < 0 && errno != EINTR) {
      fail_with_reason("write");
    }
    written += part > 0 ? static_cast<size_t>(part) : 0;
  }
}

void AtomicFile::replace_beginning(std::string_view text) {
  flush();
  if (::lseek(descriptor_, 0, SEEK_SET) != 0) {
    fail_with_reason("write");
  }
  write_now(text.data(), text.size());
  if (::lseek(descriptor_, 0, SEEK_END) < 0) {
    fail_with_reason("write");
  }
}

void AtomicFile::commit() {
  flush();
  if (in_place()) {
    if (::close(std::exchange(descriptor_, -1)) != 0) {
      fail_with_reason("write");
    }
    return;
  }
  while (::fsync(descriptor_) != 0) {
    if (errno != EINTR) {  // a signal that asks a run to save, on a file system of the network
      fail_with_reason("write");
    }
  }
  if (::close(std::exchange(descriptor_, -1)) != 0 || ::rename(temporary_.c_str(), target_.c_str()) != 0) {
    const int reason = errno;
    ::unlink(temporary_.c_str());
    errno = reason;
    fail_with_reason("write");
  }
  sync_folder(target_);
}

void AtomicFile::fail_with_reason(std::string_view action) const { refuse(target_, action); }

void write_file(const std::filesystem::path& target, std::string_view content) {
  AtomicFile file(target);
  file.write(content);
  file.commit();
}

void remove_unfinished_files(const std::filesystem::path& folder) {
  std::error_code problem;
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(folder, problem)) {
    if (entry.is_regular_file(problem) && is_beside(entry.path())) {
      std::filesystem::remove(entry.path(), problem);
    }
  }
}

void replace_folder(const std::filesystem::path& from, const std::filesystem::path& to) {
  if (::renameat2(AT_FDCWD, from.c_str(), AT_FDCWD, to.c_str(), RENAME_EXCHANGE) == 0) {
    sync_folder(to);
    std::filesystem::remove_all(from);
    return;
  }
  if (errno == EINVAL || errno == ENOSYS) {
    std::filesystem::remove_all(to);  // the file system cannot exchange names
  } else if (errno != ENOENT) {
    refuse(to, "write");
  }
  if (::rename(from.c_str(), to.c_str()) != 0) {
    refuse(to, "write");
  }
  sync_folder(to);
}

FolderLock::FolderLock(const std::filesystem::path& folder, std::string_view busy)
    : descriptor_(::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC)) {
  if (descriptor_ < 0) {
    refuse(folder, "open");
  }
  // A file system without locks fails with another error; then nobody's lock can be seen.
  if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    ::close(descriptor_);
    fail<IoError>(folder.string(), "{}", busy);
  }
}

FolderLock::~FolderLock() { ::close(descriptor_); }

void require_writable(const std::filesystem::path& folder) {
  std::filesystem::path nearest = std::filesystem::absolute(folder).lexically_normal();
  while (::access(nearest.c_str(), F_OK) != 0 && errno == ENOENT && nearest.has_relative_path()) {
    nearest = nearest.parent_path();
  }
  std::error_code none;
  if (!std::filesystem::is_directory(nearest, none)) {
    errno = ENOTDIR;
    refuse(nearest, "write there");
  }
  // Permissions do not tell everything: in /proc, nobody can create anything.
  std::string probe = nearest / ".heed-XXXXXX";
  if (::mkdtemp(probe.data()) == nullptr) {
    refuse(nearest, "write there");
  }
  ::rmdir(probe.c_str());
}

std::filesystem::path nearest_folder(const std::filesystem::path& folder) {
  std::filesystem::path nearest = std::filesystem::absolute(folder);
  while (!std::filesystem::exists(nearest) && nearest.has_relative_path()) {
    nearest = nearest.parent_path();
  }
  return nearest;
}

void require_other_file(const std::filesystem::path& output, const std::vector<std::string>& inputs) {
  for (const std::filesystem::path input : inputs) {
    std::error_code none;
    require<ConfigError>(
        !std::filesystem::is_regular_file(output, none) || !std::filesystem::equivalent(output, input, none),
        output.string(), "is read too, and would be overwritten: name another file to write");
  }
}

MappedFile::MappedFile(const std::filesystem::path& path) {
  const Descriptor file{open_for_reading(path)};
  struct stat status {};
  if (::fstat(file.value, &status) != 0) {
    refuse(path, "read");
  }
  require<IoError>(S_ISREG(status.st_mode), path.string(), "expected a regular file");
  size_ = static_cast<size_t>(status.st_size);
  if (size_ > 0) {
    void* const bytes = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file.value, 0);
    if (bytes == MAP_FAILED) {
      refuse(path, "map");
    }
    data_ = static_cast<const std::byte*>(bytes);
  }
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) {
    ::munmap(const_cast<std::byte*>(data_), size_);
  }
}

void MappedFile::give_back(std::span<const std::byte> part) const {
  if (part.empty()) {
    return;
  }
  const auto page = static_cast<size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<size_t>(part.data() - data_) / page * page;
  const size_t end = static_cast<size_t>(part.data() - data_) + part.size();
  ::madvise(const_cast<std::byte*>(data_) + begin, end - begin, MADV_DONTNEED);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

TemporaryFile::TemporaryFile(std::filesystem::path folder) : folder_(std::move(folder)) {
  if (folder_.empty()) {
    std::error_code error;
    folder_ = std::filesystem::temp_directory_path(error);
    require<IoError>(!error, "temporary files", "there is no folder for them: {}", error.message());
  }
  std::string name = (folder_ / "heed-XXXXXX").string();
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) {
    refuse(folder_, "create a temporary file");
  }
  ::unlink(name.c_str());
}

TemporaryFile::~TemporaryFile() {
  if (mapped_ != nullptr) {
    ::munmap(const_cast<std::byte*>(mapped_), size_);
  }
  if (descriptor_ >= 0) {
    ::close(descriptor_);
  }
}

TemporaryFile::TemporaryFile(TemporaryFile&& other) noexcept
    : folder_(std::move(other.folder_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(std::exchange(other.size_, 0)),
      mapped_(std::exchange(other.mapped_, nullptr)) {}

TemporaryFile& TemporaryFile::operator=(TemporaryFile&& other) noexcept {
  std::swap(folder_, other.folder_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(size_, other.size_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

void TemporaryFile::write(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) {
      refuse(folder_, "write a temporary file");
    }
    const auto part = static_cast<size_t>(std::max<ssize_t>(0, written));
    bytes = bytes.subspan(part);
    size_ += part;
  }
}

std::span<const std::byte> TemporaryFile::map() {
  if (size_ > 0) {
    void* const mapped = ::mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, descriptor_, 0);
    if (mapped == MAP_FAILED) {
      refuse(folder_, "map a temporary file");
    }
    mapped_ = static_cast<const std::byte*>(mapped);
  }
  return {mapped_, size_};
}

}  // namespace heed
