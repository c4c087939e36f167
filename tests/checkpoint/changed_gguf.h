// Golden GGUF files with other metadata.
#pragma once

#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>

#include "base/errors.h"
#include "base/system/files.h"
#include "source_root.h"
#include "test_folder.h"

namespace heed::test {

constexpr uint32_t kGgufU32 = 4, kGgufF32 = 6, kGgufFlag = 7, kGgufText = 8;

class ChangedGguf {
 public:
  explicit ChangedGguf(const std::string& golden)
      : bytes_(read_file(source_root() / "tests/interchange/golden/gguf" / golden / "model.gguf")) {}
  ~ChangedGguf() { std::filesystem::remove(path_); }
  ChangedGguf(const ChangedGguf&) = delete;
  ChangedGguf& operator=(const ChangedGguf&) = delete;

  template <class T>
  ChangedGguf& set(std::string_view key, T value) {
    std::memcpy(bytes_.data() + value_at(key), &value, sizeof value);
    return *this;
  }
  template <class T>
  T value(std::string_view key) const {
    T value{};
    std::memcpy(&value, bytes_.data() + value_at(key), sizeof value);
    return value;
  }
  uint32_t type(std::string_view key) const {
    uint32_t type = 0;
    std::memcpy(&type, bytes_.data() + value_at(key) - sizeof type, sizeof type);
    return type;
  }
  // A text by another of the same length.
  ChangedGguf& replace(std::string_view from, std::string_view to) {
    const size_t at = bytes_.find(from);
    ensure(at != std::string::npos && from.size() == to.size(), "test", "'{}' is not there", from);
    bytes_.replace(at, from.size(), to);
    return *this;
  }
  template <class T>
  ChangedGguf& add(std::string_view key, uint32_t type, T value) {
    return insert(text(key) + number(type) + number(value));
  }
  ChangedGguf& add(std::string_view key, std::string_view value) {
    return insert(text(key) + number(kGgufText) + text(value));
  }
  ChangedGguf& cut(size_t size) {
    bytes_.resize(size);
    return *this;
  }

  const std::string& bytes() const { return bytes_; }
  const std::filesystem::path& path() const {
    std::ofstream(path_, std::ios::binary) << bytes_;
    return path_;
  }

 private:
  static constexpr size_t kPairCount = 16, kFirstPair = 24, kAlignment = 32;

  template <class T>
  static std::string number(T value) {
    return {reinterpret_cast<const char*>(&value), sizeof value};
  }
  static std::string text(std::string_view text) { return number<uint64_t>(text.size()) + std::string(text); }

  size_t value_at(std::string_view key) const {
    const size_t at = bytes_.find(text(key));
    ensure(at != std::string::npos, "test", "there is no '{}'", key);
    return at + sizeof(uint64_t) + key.size() + sizeof(uint32_t);
  }
  // With a text behind it that keeps the tensors aligned.
  ChangedGguf& insert(std::string pair) {
    std::string filler = text("general.filler" + std::to_string(fillers_++)) + number(kGgufText);
    const size_t size = pair.size() + filler.size() + sizeof(uint64_t);
    filler += text(std::string((kAlignment - size % kAlignment) % kAlignment, ' '));
    bytes_.insert(kFirstPair, pair + filler);
    uint64_t count = 0;
    std::memcpy(&count, bytes_.data() + kPairCount, sizeof count);
    count += 2;
    std::memcpy(bytes_.data() + kPairCount, &count, sizeof count);
    return *this;
  }

  std::string bytes_;
  int fillers_ = 0;
  std::filesystem::path path_ = folder_of_test().string() + ".gguf";
};

}  // namespace heed::test
