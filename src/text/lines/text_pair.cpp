#include "text/lines/text_pair.h"

#include <algorithm>

#include "base/errors.h"
#include "base/text/plural.h"

namespace heed {

TextPair split_pair(const std::string& line, const std::string& where) {
  const int64_t columns = std::ranges::count(line, '\t') + 1;
  require<FormatError>(columns == 2, where, "{} column{}, expected 2: two texts with a tab between them", columns,
                       plural(columns));
  const size_t tab = line.find('\t');
  return {line.substr(0, tab), line.substr(tab + 1)};
}

}  // namespace heed
