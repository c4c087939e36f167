// A file's bytes in order, plain or decompressed from gzip; the path "-" is the standard input.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace heed {

// Compression is recognized by the first bytes, never by the name. Compressed members that follow each other are one
// text. IoError where the system refuses; FormatError, with the path, where compressed data are damaged or end early.
class ByteStream {
 public:
  explicit ByteStream(const std::filesystem::path& path);
  ~ByteStream();
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;

  // Up to `size` bytes; 0 only at the end. Returns what a pipe has, without waiting for more.
  size_t read(char* to, size_t size);

  // Whether there are more bytes, or the end; waits a millisecond for them at most. Of a compressed file, these are its
  // compressed bytes.
  bool is_ready() const;

  const std::string& name() const { return name_; }  // for messages

 private:
  struct Inflater;
  struct Close {
    void operator()(std::FILE* file) const;
  };

  size_t read_some(char* to, size_t size);
  void fill();
  size_t read_plain(char* to, size_t size);
  size_t read_compressed(char* to, size_t size);

  std::string name_;
  std::unique_ptr<std::FILE, Close> file_;
  std::vector<char> input_;
  size_t begin_ = 0, end_ = 0;          // the unread part of `input_`
  std::unique_ptr<Inflater> inflater_;  // of a compressed file
};

}  // namespace heed
