// Arrays that are appended to, then read with random access: in memory while they are small, else in an unnamed file.
// An array of a prepared corpus is a view of its mapped file instead.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/system/files.h"
#include "data/lines/checked_bytes.h"

namespace heed {

struct SpillRules {
  size_t memory_bytes = size_t{1} << 30;  // beyond this an array moves to disk
  std::filesystem::path folder = {};      // of the file; empty: the system's folder for temporary files
};

// Bytes. IoError when the disk is full.
class SpillBytes {
 public:
  explicit SpillBytes(SpillRules rules = {}) : rules_(std::move(rules)) {}

  void append(const void* bytes, size_t size);
  // Ends appending; only then can data() be read.
  void seal();

  const std::byte* data() const { return data_; }
  size_t size() const { return size_; }
  bool spilled() const { return file_.has_value(); }

 private:
  void flush();

  SpillRules rules_;
  std::vector<std::byte> buffer_;  // all bytes, or those that are not in the file yet
  std::optional<TemporaryFile> file_;
  const std::byte* data_ = nullptr;
  size_t size_ = 0;
};

template <class T>
class SpillArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit SpillArray(const SpillRules& rules = {}) : bytes_(rules) {}
  // A sealed array: bytes of a file, aligned to T and a whole number of values. Reading it is a FormatError where the
  // file is damaged.
  explicit SpillArray(std::shared_ptr<const CheckedBytes> stored) : stored_(std::move(stored)) {}

  void append(std::span<const T> values) { bytes_.append(values.data(), values.size_bytes()); }
  void append(T value) { append(std::span(&value, 1)); }
  void seal() { bytes_.seal(); }

  int64_t size() const { return static_cast<int64_t>((stored_ ? stored_->size() : bytes_.size()) / sizeof(T)); }
  // Only after seal().
  T operator[](int64_t i) const { return *data(i, i + 1); }
  std::span<const T> slice(int64_t begin, int64_t end) const {
    return {data(begin, end), static_cast<size_t>(end - begin)};
  }
  bool spilled() const { return bytes_.spilled(); }

 private:
  // Values [begin, end).
  const T* data(int64_t begin, int64_t end) const {
    if (stored_) {
      stored_->verify(static_cast<size_t>(begin) * sizeof(T), static_cast<size_t>(end) * sizeof(T));
      return reinterpret_cast<const T*>(stored_->data()) + begin;
    }
    return reinterpret_cast<const T*>(bytes_.data()) + begin;
  }

  SpillBytes bytes_;
  std::shared_ptr<const CheckedBytes> stored_;
};

}  // namespace heed
