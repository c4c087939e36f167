// What a corpus is made of when it is kept in files: arrays, numbers and texts, by name. How they are laid out in files
// is not known here.
#pragma once

#include <bit>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/errors.h"
#include "data/corpus/spill.h"

namespace heed {

enum class FieldType : uint8_t { u8, u16, i32, i64, f64 };
size_t size_of(FieldType type);

template <class T>
constexpr FieldType field_type_of() {
  if constexpr (std::is_same_v<T, uint16_t>) {
    return FieldType::u16;
  } else if constexpr (std::is_same_v<T, int32_t>) {
    return FieldType::i32;
  } else if constexpr (std::is_same_v<T, double>) {
    return FieldType::f64;
  } else if constexpr (sizeof(T) == 1) {
    return FieldType::u8;
  } else {
    static_assert(sizeof(T) % sizeof(int64_t) == 0 && alignof(T) == alignof(int64_t));
    return FieldType::i64;  // also structs of several
  }
}

// Collects the fields that are to be written. Arrays are not copied, except for vectors that are moved in: they must
// outlive this.
class FieldsToStore {
 public:
  struct Array {
    std::string name;
    FieldType type;
    std::span<const std::byte> bytes;
  };

  template <class T>
  void add(std::string name, std::span<const T> values) {
    arrays_.push_back({std::move(name), field_type_of<T>(), std::as_bytes(values)});
  }
  template <class T>
  void add(std::string name, const SpillArray<T>& values) {
    add(std::move(name), values.slice(0, values.size()));
  }
  template <class T>
  void add(std::string name, std::vector<T>&& values) {
    const auto kept = std::make_shared<const std::vector<T>>(std::move(values));
    kept_.push_back(kept);
    add(std::move(name), std::span<const T>(*kept));
  }
  // Texts of any content: their bytes as NAME.bytes, and where each ends as NAME.ends.
  void add_texts(const std::string& name, std::span<const std::string> texts);
  void add_number(std::string name, int64_t number) { numbers_[std::move(name)] = number; }
  void add_text(std::string name, std::string text) { texts_[std::move(name)] = std::move(text); }

  const std::vector<Array>& arrays() const { return arrays_; }
  const std::map<std::string, int64_t>& numbers() const { return numbers_; }
  const std::map<std::string, std::string>& texts() const { return texts_; }

 private:
  std::vector<Array> arrays_;
  std::list<std::shared_ptr<const void>> kept_;
  std::map<std::string, int64_t> numbers_;
  std::map<std::string, std::string> texts_;
};

// The fields as they were read. A field that is missing, or of another type, is a FormatError that names the file.
class StoredFields {
 public:
  static constexpr int64_t kMostCounted = int64_t{1} << 53;

  struct Array {
    FieldType type = FieldType::u8;
    std::shared_ptr<CheckedBytes> bytes;  // aligned to the type
  };

  explicit StoredFields(std::string where) : where_(std::move(where)) {}

  void put(const std::string& name, Array array) { arrays_[name] = std::move(array); }
  void put_number(const std::string& name, int64_t number) { numbers_[name] = number; }
  void put_text(const std::string& name, std::string text) { texts_[name] = std::move(text); }

  const std::string& where() const { return where_; }
  bool has_number(const std::string& name) const { return numbers_.contains(name); }
  int64_t number(const std::string& name) const;
  // A number of things that were counted: FormatError below `least` and above kMostCounted, so that counts can be added
  // up.
  int64_t count(const std::string& name, int64_t least) const;
  const std::string& text(const std::string& name) const;

  template <class T>
  SpillArray<T> array(const std::string& name) const {
    return SpillArray<T>(bytes(name, field_type_of<T>(), sizeof(T)));
  }
  // Ends of sequences that are laid end to end, none of them empty unless it may be: they rise, up to `total`.
  enum class Sequences : uint8_t { filled, maybe_empty };
  SpillArray<int64_t> ends(const std::string& name, int64_t total, Sequences sequences) const;
  // Values from 0 up to below a limit.
  template <class T>
  SpillArray<T> array_below(const std::string& name, int64_t limit) const {
    const auto found = bytes(name, field_type_of<T>(), sizeof(T));
    found->set_check([limit, where = found->where()](size_t, std::span<const std::byte> block) {
      for (const T value : std::span(reinterpret_cast<const T*>(block.data()), block.size() / sizeof(T))) {
        require<FormatError>(static_cast<int64_t>(value) >= 0 && static_cast<int64_t>(value) < limit, where,
                             "holds {}, expected 0 to {}", value, limit - 1);
      }
    });
    return SpillArray<T>(found);
  }
  std::vector<std::string> texts_of(const std::string& name) const;

  // FormatError when anything in an array, which must be there, is damaged.
  void verify(const std::string& name) const {
    const CheckedBytes& bytes = *arrays_.at(name).bytes;
    bytes.verify(0, bytes.size());
  }

 private:
  std::shared_ptr<CheckedBytes> bytes(const std::string& name, FieldType type, size_t value_size) const;

  std::string where_;
  std::map<std::string, Array> arrays_;
  std::map<std::string, int64_t> numbers_;
  std::map<std::string, std::string> texts_;
};

}  // namespace heed
