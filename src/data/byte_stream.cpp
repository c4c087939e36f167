#include "data/byte_stream.h"

#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

constexpr size_t kInputBytes = 1 << 16;
constexpr int kGzipWindow = 15 + 16;  // the largest window; 16 asks zlib for gzip's frame

}  // namespace

struct ByteStream::Inflater {
  z_stream stream{};
  enum class At : uint8_t { start, inside, end } at = At::start;  // of a member

  explicit Inflater(const std::string& where) {
    require<IoError>(inflateInit2(&stream, kGzipWindow) == Z_OK, where, "zlib cannot start");
  }
  ~Inflater() { inflateEnd(&stream); }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;
};

ByteStream::ByteStream(std::filesystem::path path)
    : path_(std::move(path)), file_(std::fopen(path_.c_str(), "rbe")), input_(kInputBytes) {
  require<IoError>(file_ != nullptr, path_.string(), "cannot open: {}", std::strerror(errno));
  std::setvbuf(file_.get(), nullptr, _IONBF, 0);
  fill();
  // No UTF-8 text begins like this.
  if (end_ >= 2 && input_[0] == '\x1f' && input_[1] == '\x8b') {
    inflater_ = std::make_unique<Inflater>(path_.string());
  }
}

ByteStream::~ByteStream() = default;
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;

void ByteStream::fill() {
  begin_ = 0;
  end_ = std::fread(input_.data(), 1, input_.size(), file_.get());
  require<IoError>(std::ferror(file_.get()) == 0, path_.string(), "cannot read: {}", std::strerror(errno));
}

size_t ByteStream::read(char* to, size_t size) { return inflater_ ? read_compressed(to, size) : read_plain(to, size); }

size_t ByteStream::read_plain(char* to, size_t size) {
  if (begin_ == end_) {
    fill();
  }
  const size_t part = std::min(size, end_ - begin_);
  std::memcpy(to, input_.data() + begin_, part);
  begin_ += part;
  return part;
}

size_t ByteStream::read_compressed(char* to, size_t size) {
  using At = Inflater::At;
  z_stream& stream = inflater_->stream;
  stream.next_out = reinterpret_cast<Bytef*>(to);
  stream.avail_out = static_cast<uInt>(std::min(size, kInputBytes));
  const uInt wanted = stream.avail_out;
  while (stream.avail_out == wanted) {
    if (begin_ == end_) {
      fill();
    }
    if (begin_ == end_) {
      require<FormatError>(inflater_->at == At::end, path_.string(), "the compressed data end early");
      return 0;
    }
    if (std::exchange(inflater_->at, At::inside) == At::end) {
      inflateReset(&stream);
    }
    stream.next_in = reinterpret_cast<Bytef*>(input_.data() + begin_);
    stream.avail_in = static_cast<uInt>(end_ - begin_);
    const int result = inflate(&stream, Z_NO_FLUSH);
    begin_ = end_ - stream.avail_in;
    require<FormatError>(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR, path_.string(),
                         "the compressed data are damaged: {}",
                         stream.msg == nullptr ? "of no kind known" : stream.msg);
    if (result == Z_STREAM_END) {
      inflater_->at = At::end;
    }
  }
  return wanted - stream.avail_out;
}

}  // namespace heed
