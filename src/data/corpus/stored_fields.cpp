#include "data/corpus/stored_fields.h"

#include <cstring>

namespace heed {

size_t size_of(FieldType type) {
  switch (type) {
    case FieldType::u8:
      return 1;
    case FieldType::u16:
      return 2;
    case FieldType::i32:
      return 4;
    case FieldType::i64:
    case FieldType::f64:
      break;
  }
  return 8;
}

void FieldsToStore::add_texts(const std::string& name, std::span<const std::string> texts) {
  std::vector<char> bytes;
  std::vector<int64_t> ends;
  ends.reserve(texts.size());
  for (const std::string& text : texts) {
    bytes.insert(bytes.end(), text.begin(), text.end());
    ends.push_back(static_cast<int64_t>(bytes.size()));
  }
  add(name + ".bytes", std::move(bytes));
  add(name + ".ends", std::move(ends));
}

int64_t StoredFields::number(const std::string& name) const {
  const auto it = numbers_.find(name);
  require<FormatError>(it != numbers_.end(), where_, "has no number '{}'", name);
  return it->second;
}

int64_t StoredFields::count(const std::string& name, int64_t least) const {
  const int64_t found = number(name);
  require<FormatError>(found >= least && found <= kMostCounted, where_, "'{}' is {}, expected {} to {}", name, found,
                       least, kMostCounted);
  return found;
}

const std::string& StoredFields::text(const std::string& name) const {
  const auto it = texts_.find(name);
  require<FormatError>(it != texts_.end(), where_, "has no text '{}'", name);
  return it->second;
}

std::shared_ptr<CheckedBytes> StoredFields::bytes(const std::string& name, FieldType type, size_t value_size) const {
  const auto it = arrays_.find(name);
  require<FormatError>(it != arrays_.end(), where_, "has no array '{}'", name);
  require<FormatError>(it->second.type == type && it->second.bytes->size() % value_size == 0, where_,
                       "the array '{}' has another type than expected", name);
  return it->second.bytes;
}

SpillArray<int64_t> StoredFields::ends(const std::string& name, int64_t total, Sequences sequences) const {
  const auto found = bytes(name, FieldType::i64, sizeof(int64_t));
  const int64_t step = sequences == Sequences::filled ? 1 : 0;
  const auto at = [](const std::byte* from) {
    int64_t value = 0;
    std::memcpy(&value, from, sizeof value);
    return value;
  };
  require<FormatError>(found->size() > 0 || total == 0, found->where(), "holds nothing, expected an end of {}", total);
  require<FormatError>(found->size() == 0 || at(found->data() + found->size() - sizeof total) == total, found->where(),
                       "does not end with {}", total);
  // The block before this one may not be checked yet: whatever its last number is, that block's own check refuses a
  // wrong one.
  found->set_check([=, bytes = found.get()](size_t begin, std::span<const std::byte> block) {
    int64_t before = begin == 0 ? 0 : at(bytes->data() + begin - sizeof before);
    for (size_t i = 0; i < block.size(); i += sizeof before) {
      const int64_t end = at(block.data() + i);
      require<FormatError>(before >= 0 && before <= end && end <= total && end - before >= step, bytes->where(),
                           "holds {} after {}, expected to rise up to {}", end, before, total);
      before = end;
    }
  });
  return SpillArray<int64_t>(found);
}

std::vector<std::string> StoredFields::texts_of(const std::string& name) const {
  const SpillArray<char> bytes = array<char>(name + ".bytes");
  const SpillArray<int64_t> text_ends = ends(name + ".ends", bytes.size(), Sequences::maybe_empty);
  std::vector<std::string> texts;
  texts.reserve(static_cast<size_t>(text_ends.size()));
  for (int64_t i = 0, begin = 0; i < text_ends.size(); ++i) {
    const int64_t end = text_ends[i];
    const auto slice = bytes.slice(begin, end);
    texts.emplace_back(slice.begin(), slice.end());
    begin = end;
  }
  return texts;
}

}  // namespace heed
