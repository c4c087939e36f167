// Lists of numbers in the fields of a prepared corpus: end to end, and where each ends.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "data/corpus/stored_fields.h"

namespace heed {

// As NAME and NAME.ends.
struct FlatLists {
  std::vector<int32_t> values;
  std::vector<int64_t> ends;

  void add(const std::vector<int32_t>& list) {
    values.insert(values.end(), list.begin(), list.end());
    ends.push_back(static_cast<int64_t>(values.size()));
  }
  void store(FieldsToStore& fields, const std::string& name) && {
    fields.add(name, std::move(values));
    fields.add(name + ".ends", std::move(ends));
  }
};

// Reads one list after the other, of values below the limit.
class ListReader {
 public:
  ListReader(const StoredFields& fields, const std::string& name, int64_t limit)
      : values_(fields.array_below<int32_t>(name, limit)),
        ends_(fields.ends(name + ".ends", values_.size(), StoredFields::Sequences::maybe_empty)) {}

  int64_t size() const { return ends_.size(); }
  std::vector<int32_t> next() {
    const int64_t end = ends_[at_++];
    const auto slice = values_.slice(begin_, end);
    begin_ = end;
    return {slice.begin(), slice.end()};
  }

 private:
  SpillArray<int32_t> values_;
  SpillArray<int64_t> ends_;
  int64_t at_ = 0, begin_ = 0;
};

}  // namespace heed
