#include "tensor_files/safetensors_header.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"

namespace heed {
namespace {

using Json = nlohmann::json;

// Reads the header event by event: refuses what the format does not allow before it takes memory, however deeply it is
// nested, and notices duplicate keys.
class HeaderReader final : public nlohmann::json_sax<Json> {
 public:
  explicit HeaderReader(const std::string& where) : where_(where) {}

  SafeTensorsHeader take() { return std::move(header_); }

  bool null() override { unexpected("null"); }
  bool boolean(bool) override { unexpected("a boolean"); }
  bool number_integer(number_integer_t) override { unexpected("a negative number"); }
  bool number_float(number_float_t, const string_t&) override { unexpected("a number that is not a 63-bit integer"); }
  bool binary(binary_t&) override { unexpected("binary data"); }

  bool number_unsigned(number_unsigned_t value) override {
    if (level_ == Level::shape) {
      require_tensor(value <= INT64_MAX, "an extent of {}, which is beyond 63 bits", value);
      require_tensor(entry_.tensor.shape.size() < kMaxAxes, "more than {} axes", kMaxAxes);
      entry_.tensor.shape.push_back(static_cast<int64_t>(value));
    } else if (level_ == Level::offsets && offsets_ < 2) {
      (offsets_++ == 0 ? entry_.begin : entry_.end) = value;
    } else {
      unexpected(level_ == Level::offsets ? "a third number" : "a number");
    }
    return true;
  }

  bool string(string_t& value) override {
    if (level_ == Level::metadata) {
      header_.metadata[key_] = std::move(value);
    } else if (level_ == Level::tensor && key_ == "dtype") {
      const auto type = find_stored_type(value);
      require_tensor(type.has_value(), "dtype is '{}', expected one of {}", shown(value), stored_type_names());
      entry_.tensor.type = *type;
    } else {
      unexpected("a text");
    }
    return true;
  }

  bool start_object(std::size_t) override {
    if (level_ == Level::outside) {
      level_ = Level::top;
    } else if (level_ == Level::top) {
      level_ = key_ == kMetadataName ? Level::metadata : Level::tensor;
    } else {
      unexpected("an object");
    }
    keys_.clear();
    return true;
  }

  bool key(string_t& key) override {
    if (level_ == Level::top) {
      require<FormatError>(names_.insert(key).second, where_, "'{}' occurs twice in the header", shown(key));
      if (key != kMetadataName) {
        entry_ = {};
        entry_.tensor.name = key;
      }
    } else {
      require_here(keys_.insert(key).second, "the key '{}' occurs twice", shown(key));
      require_here(level_ == Level::metadata || key == "dtype" || key == "shape" || key == "data_offsets",
                   "an unknown key '{}', expected dtype, shape, data_offsets", shown(key));
    }
    key_ = std::move(key);
    return true;
  }

  bool end_object() override {
    if (level_ == Level::tensor) {
      for (const char* const wanted : {"dtype", "shape", "data_offsets"}) {
        require_tensor(keys_.contains(wanted), "no {}", wanted);
      }
      header_.entries.push_back(std::move(entry_));
    }
    level_ = level_ == Level::top ? Level::outside : Level::top;
    return true;
  }

  bool start_array(std::size_t) override {
    if (level_ == Level::tensor && key_ == "shape") {
      level_ = Level::shape;
    } else if (level_ == Level::tensor && key_ == "data_offsets") {
      level_ = Level::offsets;
      offsets_ = 0;
    } else {
      unexpected("an array");
    }
    return true;
  }

  bool end_array() override {
    require_tensor(level_ == Level::shape || offsets_ == 2, "{} data_offsets, expected two", offsets_);
    level_ = Level::tensor;
    return true;
  }

  bool parse_error(std::size_t position, const std::string&, const nlohmann::detail::exception&) override {
    fail<FormatError>(where_, "the header is not JSON at byte {}", kLengthBytes + std::max<size_t>(position, 1) - 1);
  }

 private:
  enum class Level : uint8_t { outside, top, metadata, tensor, shape, offsets };

  template <class... Args>
  void require_tensor(bool condition, fmt::format_string<Args...> message, Args&&... args) const {
    if (!condition) {
      fail<FormatError>(where_, "tensor '{}': {}", shown(entry_.tensor.name),
                        fmt::format(message, std::forward<Args>(args)...));
    }
  }

  template <class... Args>
  void require_here(bool condition, fmt::format_string<Args...> message, Args&&... args) const {
    if (!condition && level_ == Level::metadata) {
      fail<FormatError>(where_, "{}: {}", kMetadataName, fmt::format(message, std::forward<Args>(args)...));
    }
    require_tensor(condition, message, std::forward<Args>(args)...);
  }

  [[noreturn]] void unexpected(std::string_view found) const {
    switch (level_) {
      case Level::outside:
        fail<FormatError>(where_, "the header is {}, expected an object", found);
      case Level::top:
        fail<FormatError>(where_, "'{}' is {}, expected an object", shown(key_), found);
      case Level::metadata:
        fail<FormatError>(where_, "{}: '{}' is {}, expected a text", kMetadataName, shown(key_), found);
      default:
        fail<FormatError>(where_, "tensor '{}': {} holds {}, expected {}", shown(entry_.tensor.name), key_, found,
                          key_ == "dtype"   ? "a text"
                          : key_ == "shape" ? "an array of extents"
                                            : "an array of two offsets");
    }
  }

  const std::string& where_;
  SafeTensorsHeader header_;
  std::set<std::string> names_, keys_;
  HeaderEntry entry_;
  std::string key_;
  Level level_ = Level::outside;
  int offsets_ = 0;
};

void check_size(const HeaderEntry& entry, uint64_t data_bytes, const std::string& where) {
  const StoredTensor& tensor = entry.tensor;
  const auto size = bytes_of(tensor.type, tensor.shape);
  require<FormatError>(size.has_value(), where, "tensor '{}': {}[{}] is more than any file holds", shown(tensor.name),
                       name_of(tensor.type), fmt::join(tensor.shape, ", "));
  require<FormatError>(entry.begin <= entry.end && entry.end <= data_bytes, where,
                       "tensor '{}': its bytes [{}, {}) are not within the {} bytes of data{}", shown(tensor.name),
                       entry.begin, entry.end, data_bytes,
                       entry.begin <= entry.end ? ": the file was cut off, copy it again" : "");
  require<FormatError>(entry.end - entry.begin == *size, where, "tensor '{}': {}[{}] takes {} bytes, found {}",
                       shown(tensor.name), name_of(tensor.type), fmt::join(tensor.shape, ", "), *size,
                       entry.end - entry.begin);
}

// The format allows neither holes nor overlaps: each tensor begins where the one before it ends.
void check_cover(const std::vector<HeaderEntry>& entries, uint64_t data_bytes, const std::string& where) {
  uint64_t covered = 0;
  for (const HeaderEntry& entry : entries) {
    require<FormatError>(entry.begin == covered, where, "tensor '{}' begins at byte {} of the data, expected {}",
                         shown(entry.tensor.name), entry.begin, covered);
    covered = entry.end;
  }
  require<FormatError>(covered == data_bytes, where, "the tensors end at byte {} of the data, which has {}", covered,
                       data_bytes);
}

}  // namespace

SafeTensorsHeader parse_safetensors_header(std::string_view json, uint64_t data_bytes, const std::string& where) {
  require<FormatError>(json.starts_with('{'), where, "the header at byte {} does not begin with '{{'", kLengthBytes);
  HeaderReader reader(where);
  Json::sax_parse(json.begin(), json.end(), &reader);
  SafeTensorsHeader header = reader.take();
  for (const HeaderEntry& entry : header.entries) {
    check_size(entry, data_bytes, where);
  }
  std::ranges::sort(header.entries, {}, [](const HeaderEntry& entry) { return std::pair(entry.begin, entry.end); });
  check_cover(header.entries, data_bytes, where);
  return header;
}

std::optional<uint64_t> bytes_of(StoredType type, const std::vector<int64_t>& shape) {
  auto bytes = static_cast<uint64_t>(size_of(type));
  for (const int64_t extent : shape) {
    if (extent < 0 || __builtin_mul_overflow(bytes, static_cast<uint64_t>(extent), &bytes) || bytes > INT64_MAX) {
      return std::nullopt;
    }
  }
  return bytes;
}

}  // namespace heed
