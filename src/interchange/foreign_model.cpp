#include "interchange/foreign_model.h"

#include <fmt/ranges.h>

#include <algorithm>

namespace heed {

std::vector<std::string> ForeignModel::notes() const {
  std::vector<std::string> notes;
  if (!unread.empty()) {
    notes.push_back(fmt::format("not read: {}", fmt::join(unread, ", ")));
  }
  std::vector<std::string> unused;
  for (const ArchiveTensor& tensor : archive->tensors()) {
    if (std::ranges::any_of(names.without_weight,
                            [&](std::string_view part) { return tensor.name.find(part) != std::string::npos; })) {
      unused.push_back(tensor.name);
    }
  }
  if (!unused.empty()) {
    notes.push_back(fmt::format("without a weight: {}", fmt::join(unused, ", ")));
  }
  return notes;
}

}  // namespace heed
