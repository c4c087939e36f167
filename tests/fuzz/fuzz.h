// Helpers of the fuzzers. Each *_fuzzer.cpp feeds one reader of untrusted input: whatever the bytes, it returns a
// result or throws a user's error. Anything else, including a broken invariant of ours, stops the fuzzer.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/errors.h"

namespace heed::fuzz {

inline std::string_view text_of(const uint8_t* bytes, size_t size) {
  return {reinterpret_cast<const char*>(bytes), size};
}

template <class Body>
void allow_refusal(Body&& body) {
  try {
    body();
  } catch (const InternalError&) {
    throw;
  } catch (const Error&) {
  }
}

// A file in memory, for readers that take a path.
class MemoryFile {
 public:
  explicit MemoryFile(std::string_view content) : descriptor_(::memfd_create("fuzz", MFD_CLOEXEC)) {
    ensure(::write(descriptor_, content.data(), content.size()) == static_cast<ssize_t>(content.size()), "fuzz",
           "no room for {} bytes", content.size());
  }
  ~MemoryFile() { ::close(descriptor_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::filesystem::path path() const { return fmt::format("/proc/self/fd/{}", descriptor_); }

 private:
  int descriptor_;
};

// A folder that disappears with the process, for readers of several files.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "heed-fuzz-XXXXXX").string();
    ensure(::mkdtemp(pattern.data()) != nullptr, "fuzz", "cannot make {}", pattern);
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  // Not by write_file(), which waits for the disk.
  void write(const std::filesystem::path& name, std::string_view content) const {
    std::ofstream(path_ / name, std::ios::binary) << content;
  }

 private:
  std::filesystem::path path_;
};

}  // namespace heed::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size);
