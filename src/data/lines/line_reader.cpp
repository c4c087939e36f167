#include "data/lines/line_reader.h"

#include <algorithm>
#include <cstring>
#include <iterator>
#include <utility>

#include "base/errors.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr size_t kReadBytes = 1 << 16;
constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

}  // namespace

LineReader::LineReader(const std::filesystem::path& path, LineRules rules)
    : bytes_(path), rules_(rules), buffer_(kReadBytes) {
  require<ConfigError>(rules_.max_bytes > 0, "lines", "the longest line is 0 bytes, expected at least 1");
}

std::string LineReader::where() const { return fmt::format("{}:{}", name(), line_number_); }

// Collects bytes up to the next \n, or as far as possible without waiting. Returns whether the line is complete. Of a
// line that is too long, only as much is stored as it takes to know that; if such lines are refused, it is not read to
// its end.
bool LineReader::gather(Waiting waiting) {
  const size_t max_gathered = rules_.max_bytes + kByteOrderMark.size() + 1;  // 1 for a \r
  while (!gathered_to_) {
    if (begin_ == end_) {
      if (waiting == Waiting::no && !bytes_.is_ready()) {
        return false;
      }
      begin_ = 0;
      end_ = bytes_.read(buffer_.data(), buffer_.size());
      if (end_ == 0) {
        gathered_to_ = End::file;
        break;
      }
    }
    const char* const from = buffer_.data() + begin_;
    const auto* const newline = static_cast<const char*>(std::memchr(from, '\n', end_ - begin_));
    const size_t size = newline == nullptr ? end_ - begin_ : static_cast<size_t>(newline - from);
    gathered_.append(from, std::min(size, max_gathered + 1 - gathered_.size()));
    begin_ += size + (newline == nullptr ? 0 : 1);
    const bool refused = gathered_.size() > max_gathered && rules_.long_lines == LongLines::refuse;
    if (newline != nullptr || refused) {
      gathered_to_ = End::newline;
    }
  }
  return true;
}

bool LineReader::next(std::string& line) {
  gather(Waiting::yes);
  const End end = *gathered_to_;
  line.swap(gathered_);
  gathered_.clear();
  if (end == End::newline) {
    gathered_to_.reset();
  }
  if (line_number_ == 0 && line.starts_with(kByteOrderMark)) {
    line.erase(0, kByteOrderMark.size());
  }
  if (end == End::file && line.empty()) {
    return false;
  }
  ++line_number_;
  broken_ = end == End::newline;
  if (rules_.carriage_returns == CarriageReturns::drop && line.ends_with('\r')) {
    line.pop_back();
  }
  marked_ = line.size() > rules_.max_bytes;
  if (marked_) {
    require<FormatError>(rules_.long_lines == LongLines::mark, where(), "the line is longer than {} bytes",
                         rules_.max_bytes);
    line.clear();
  }
  require_text(line, where());
  return true;
}

LinesOfFiles::LinesOfFiles(std::vector<std::filesystem::path> files, LineRules rules)
    : files_(std::move(files)), rules_(rules) {}

bool LinesOfFiles::next(std::string& line) {
  while (!reader_ || !reader_->next(line)) {
    if (opened_ == files_.size()) {
      return false;
    }
    reader_.emplace(files_[opened_++], rules_);
  }
  return true;
}

std::string names_of(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> names;
  std::ranges::transform(files, std::back_inserter(names), [](const auto& file) { return file.string(); });
  return fmt::format("{}", fmt::join(names, ", "));
}

std::vector<std::string> read_lines(const std::vector<std::filesystem::path>& files) {
  std::vector<std::string> lines;
  LinesOfFiles reader(files);
  for (std::string line; reader.next(line);) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace heed
