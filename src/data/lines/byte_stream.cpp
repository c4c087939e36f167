#include "data/lines/byte_stream.h"

#include <poll.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

constexpr size_t kInputBytes = 1 << 16;
constexpr std::string_view kGzipMark = "\x1f\x8b";
// How long a program that writes to us may pause inside one piece of text.
constexpr int kPauseMilliseconds = 1;
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

void ByteStream::Close::operator()(std::FILE* file) const {
  if (file != stdin) {
    std::fclose(file);
  }
}

ByteStream::ByteStream(const std::filesystem::path& path)
    : name_(path == "-" ? "stdin" : path.string()),
      file_(path == "-" ? stdin : std::fopen(path.c_str(), "rbe")),
      input_(kInputBytes) {
  require<IoError>(file_ != nullptr, name_, "cannot open: {}", std::strerror(errno));
  fill();
  if (end_ == 1 && input_[0] == kGzipMark[0]) {
    end_ += read_some(input_.data() + 1, input_.size() - 1);
  }
  // No UTF-8 text begins like this.
  if (std::string_view(input_.data(), end_).starts_with(kGzipMark)) {
    inflater_ = std::make_unique<Inflater>(name_);
  }
}

ByteStream::~ByteStream() = default;
ByteStream::ByteStream(ByteStream&&) noexcept = default;
ByteStream& ByteStream::operator=(ByteStream&&) noexcept = default;

// Bypasses stdio, which would wait for a full buffer when a person types.
size_t ByteStream::read_some(char* to, size_t size) {
  ssize_t got = -1;
  do {
    got = ::read(fileno(file_.get()), to, size);
  } while (got < 0 && errno == EINTR);
  require<IoError>(got >= 0, name_, "cannot read: {}", std::strerror(errno));
  return static_cast<size_t>(got);
}

void ByteStream::fill() {
  begin_ = 0;
  end_ = read_some(input_.data(), input_.size());
}

bool ByteStream::is_ready() const {
  pollfd input{.fd = fileno(file_.get()), .events = POLLIN, .revents = 0};
  return begin_ < end_ || poll(&input, 1, kPauseMilliseconds) > 0;
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
      require<FormatError>(inflater_->at == At::end, name_, "the compressed data end early");
      return 0;
    }
    if (std::exchange(inflater_->at, At::inside) == At::end) {
      inflateReset(&stream);
    }
    stream.next_in = reinterpret_cast<Bytef*>(input_.data() + begin_);
    stream.avail_in = static_cast<uInt>(end_ - begin_);
    const int result = inflate(&stream, Z_NO_FLUSH);
    begin_ = end_ - stream.avail_in;
    require<FormatError>(result == Z_OK || result == Z_STREAM_END || result == Z_BUF_ERROR, name_,
                         "the compressed data are damaged: {}",
                         stream.msg == nullptr ? "of an unknown kind" : stream.msg);
    if (result == Z_STREAM_END) {
      inflater_->at = At::end;
    }
  }
  return wanted - stream.avail_out;
}

}  // namespace heed
