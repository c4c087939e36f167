// A file's bytes in order, plain or out of gzip; the path "-" is the standard input.
#pragma once

#include <cstddef>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace heed {

// What a file holds is told from its first bytes, never from its name. Compressed members that follow each other are one
// text. IoError where the system refuses; FormatError, with the path, where compressed data are damaged or end early.
class ByteStream {
 public:
  explicit ByteStream(const std::filesystem::path& path);
  ~ByteStream();
  ByteStream(ByteStream&&) noexcept;
  ByteStream& operator=(ByteStream&&) noexcept;

  // Up to `size` bytes; none at the end, and only there. Does not wait for more than what a pipe holds.
  size_t read(char* to, size_t size);

  // Whether there are more bytes, or the end, without waiting longer than nobody notices. Of compressed data, whether more
  // of them are there.
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
  size_t begin_ = 0, end_ = 0;          // what of `input_` is still to be used
  std::unique_ptr<Inflater> inflater_;  // of a compressed file
};

}  // namespace heed
