#include "heed/lines.h"

#include <exception>
#include <optional>
#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/system/threads.h"
#include "data/lines/byte_stream.h"
#include "data/lines/line_chunks.h"
#include "data/lines/line_reader.h"

namespace heed {
namespace {

struct TransformedLine {
  std::string text, where;
  std::exception_ptr failure;
};

// Lines until there are enough for a chunk. If reading fails, the last one holds the exception.
std::vector<TransformedLine> read_chunk(LineReader& reader) {
  std::vector<TransformedLine> chunk;
  try {
    std::string line;
    for (size_t bytes = 0; chunk.size() < kChunkLines && bytes < kChunkBytes && reader.next(line);) {
      bytes += line.size();
      chunk.push_back({line, reader.where(), nullptr});
    }
  } catch (...) {
    chunk.push_back({"", "", std::current_exception()});
  }
  return chunk;
}

}  // namespace

void transform_lines(const std::string& path, int threads,
                     const std::function<std::string(const std::string& line, const std::string& where)>& make,
                     const std::function<void(const std::string& made)>& write) {
  ThreadPool pool(thread_count(threads));
  LineReader reader(path);
  for (auto chunk = read_chunk(reader); !chunk.empty(); chunk = read_chunk(reader)) {
    for_each_of_chunk(pool, std::span(chunk), [&](TransformedLine& line) {
      try {
        line.text = line.failure ? "" : make(line.text, line.where);
      } catch (...) {
        line.failure = std::current_exception();
      }
    });
    for (const TransformedLine& line : chunk) {
      if (line.failure) {
        std::rethrow_exception(line.failure);
      }
      write(line.text);
    }
  }
}

void for_each_line(const std::string& path,
                   const std::function<void(const std::string& line, const std::string& where)>& use) {
  LineReader lines(path);
  for (std::string line; lines.next(line);) {
    use(line, lines.where());
  }
}

void for_each_pair(
    const std::string& source, const std::string& target,
    const std::function<void(const std::string& source, const std::string& target, int64_t number)>& use) {
  require<ConfigError>(source != "-" || target != "-", "standard input",
                       "is named for both sides, but can be read only once");
  LineReader sources(source), targets(target);
  const auto count_rest = [](LineReader& reader) {
    std::string line;
    while (reader.next(line)) {
    }
    return reader.line_number();
  };
  std::string left, right;
  while (true) {
    const bool more = sources.next(left);
    if (more != targets.next(right)) {
      const int64_t lines = count_rest(sources), expected = count_rest(targets);
      fail<FormatError>(source, "{} lines, but {} has {}: they must be parallel, line by line", lines, target,
                        expected);
    }
    if (!more) {
      return;
    }
    use(left, right, sources.line_number());
  }
}

struct AvailableLines::State {
  std::string path;
  std::optional<LineReader> reader;
  int64_t before_last = 0;  // lines taken before the last ones
};

AvailableLines::AvailableLines(std::string path) : state_(std::make_unique<State>(State{std::move(path), {}, 0})) {}
AvailableLines::~AvailableLines() = default;

std::vector<std::string> AvailableLines::next(size_t max_lines) {
  if (!state_->reader) {
    state_->reader.emplace(state_->path);
  }
  LineReader& reader = *state_->reader;
  state_->before_last = reader.line_number();
  std::vector<std::string> lines;
  for (std::string line; lines.size() < max_lines && (lines.empty() || reader.is_ready()) && reader.next(line);) {
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string AvailableLines::name(size_t line) const {
  return fmt::format("{}:{}", state_->reader->name(), state_->before_last + static_cast<int64_t>(line) + 1);
}

struct NewTextFile::State {
  explicit State(const std::string& path) : file(path) {}
  AtomicFile file;
};

NewTextFile::NewTextFile(const std::string& path, const std::vector<std::string>& inputs) {
  require_other_file(path, inputs);
  state_ = std::make_unique<State>(path);
}
NewTextFile::~NewTextFile() = default;
void NewTextFile::write(const std::string& text) { state_->file.write(text); }
void NewTextFile::commit() { state_->file.commit(); }

std::string read_text(const std::string& path) {
  constexpr size_t kAtOnce = 1 << 16;
  ByteStream bytes(path);
  std::string text;
  for (size_t got = kAtOnce; got > 0;) {
    const size_t size = text.size();
    text.resize(size + kAtOnce);
    got = bytes.read(text.data() + size, kAtOnce);
    text.resize(size + got);
  }
  return text;
}

}  // namespace heed
