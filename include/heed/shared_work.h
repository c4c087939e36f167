// Work that is done chunk by chunk, by whichever rank of a job is free.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace heed {

struct SharedWork {
  // On the first rank, one call at a time: the next chunk, until there is none.
  std::function<std::optional<std::vector<std::string>>()> next;
  // On any rank: a chunk's results.
  std::function<std::vector<std::string>(const std::vector<std::string>& chunk)> work;
  // On the first rank, one call at a time: the results, in the order of the chunks.
  std::function<void(const std::vector<std::string>& results)> take;
};

}  // namespace heed
