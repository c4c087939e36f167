#include "interchange/gguf/gguf.h"

#include <cstring>
#include <numeric>
#include <type_traits>

#include "base/errors.h"
#include "base/rounding.h"
#include "base/system/files.h"

namespace heed {
namespace {

constexpr uint32_t kVersion = 3;
constexpr int64_t kAlignment = 32;  // of each tensor's values, where metadata says nothing else

enum class ValueType : uint32_t { u32 = 4, i32 = 5, f32 = 6, boolean = 7, string = 8, array = 9 };

int64_t aligned(int64_t bytes) { return round_up(bytes, kAlignment); }

uint32_t number_of(GgufType type) {
  switch (type) {
    case GgufType::f32:
      return 0;
    case GgufType::f16:
      return 1;
    case GgufType::bf16:
      return 30;
    case GgufType::q4_0:
      return 2;
    case GgufType::q8_0:
      return 8;
  }
  return 0;
}

template <class T>
constexpr ValueType value_type() {
  return std::is_same_v<T, bool>       ? ValueType::boolean
         : std::is_same_v<T, uint32_t> ? ValueType::u32
         : std::is_same_v<T, int32_t>  ? ValueType::i32
         : std::is_same_v<T, float>    ? ValueType::f32
                                       : ValueType::string;
}

// What precedes the tensors' values: little-endian numbers, and texts after their lengths.
class Header {
 public:
  template <class T>
  requires std::is_arithmetic_v<T>
  void add(T value) { bytes_.append(reinterpret_cast<const char*>(&value), sizeof(T)); }
  void add(ValueType type) { add(static_cast<uint32_t>(type)); }
  void add(const std::string& text) {
    add<uint64_t>(text.size());
    bytes_ += text;
  }
  void add(const GgufEntry& entry) {
    add(entry.key);
    std::visit([this](const auto& value) { add_typed(value); }, entry.value);
  }
  void add(const GgufTensor& tensor, int64_t offset) {
    add(tensor.name);
    add(static_cast<uint32_t>(tensor.shape.size()));
    for (size_t axis = tensor.shape.size(); axis-- > 0;) {  // the axis whose elements are neighbours comes first
      add(static_cast<uint64_t>(tensor.shape[axis]));
    }
    add(number_of(tensor.type));
    add(static_cast<uint64_t>(offset));
  }
  const std::string& bytes() const { return bytes_; }

 private:
  template <class T>
  void add_typed(const T& value) {
    add(value_type<T>());
    add(value);
  }
  template <class T>
  void add_typed(const std::vector<T>& values) {
    add(ValueType::array);
    add(value_type<T>());
    add<uint64_t>(values.size());
    for (const T& value : values) {
      add(value);
    }
  }

  std::string bytes_ = "GGUF";
};

std::vector<std::byte> bytes_of(const GgufTensor& tensor) {
  if (tensor.blocks) {
    return tensor.blocks();
  }
  const std::vector<float> values = tensor.values();
  require(static_cast<int64_t>(values.size()) == tensor.elements(), tensor.name, "{} values, expected {}",
          values.size(), tensor.elements());
  return gguf_blocks(tensor.type, values, tensor.name);
}

void pad(AtomicFile& file, int64_t bytes) {
  file.write(std::string(static_cast<size_t>(aligned(bytes) - bytes), '\0'));
}

}  // namespace

int64_t GgufTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies());
}

int64_t write_gguf(const std::filesystem::path& target, std::span<const GgufEntry> entries,
                   std::span<const GgufTensor> tensors, const Interruption& interruption) {
  Header header;
  header.add(kVersion);
  header.add<uint64_t>(tensors.size());
  header.add<uint64_t>(entries.size());
  for (const GgufEntry& entry : entries) {
    header.add(entry);
  }
  int64_t data = 0;
  for (const GgufTensor& tensor : tensors) {
    header.add(tensor, data);
    data += aligned(bytes_of_gguf(tensor.type, tensor.elements()));
  }
  AtomicFile file(target);
  file.write(header.bytes());
  const auto begin = static_cast<int64_t>(header.bytes().size());
  pad(file, begin);
  for (const GgufTensor& tensor : tensors) {
    require_uninterrupted(state_of(interruption), target.string());
    const std::vector<std::byte> bytes = bytes_of(tensor);
    file.write(bytes.data(), bytes.size());
    pad(file, static_cast<int64_t>(bytes.size()));
  }
  file.commit();
  return aligned(begin) + data;
}

}  // namespace heed
