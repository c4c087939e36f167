#include "heed/lines.h"

#include "base/errors.h"
#include "data/line_reader.h"

namespace heed {

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
  require<ConfigError>(source != "-" || target != "-", "standard input", "is named for both sides, but read once");
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

}  // namespace heed
