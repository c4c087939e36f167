#include "interchange/pickle/pickled_tensors.h"

#include <algorithm>
#include <array>
#include <functional>
#include <numeric>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"

namespace heed {
namespace {

constexpr size_t kDeepestDictionary = 16, kMaxPickledAxes = 64;
constexpr size_t kMaxVisits = 4'000'000;

struct StorageName {
  std::string_view name;
  ForeignType type;
};

constexpr std::array<StorageName, 10> kStorages{{{"FloatStorage", ForeignType::f32},
                                                 {"HalfStorage", ForeignType::f16},
                                                 {"BFloat16Storage", ForeignType::bf16},
                                                 {"DoubleStorage", ForeignType::f64},
                                                 {"LongStorage", ForeignType::i64},
                                                 {"IntStorage", ForeignType::i32},
                                                 {"ShortStorage", ForeignType::i16},
                                                 {"CharStorage", ForeignType::i8},
                                                 {"ByteStorage", ForeignType::u8},
                                                 {"BoolStorage", ForeignType::boolean}}};

std::vector<int64_t> integers_of(const Pickle& pickle, uint32_t list, const std::string& where,
                                 std::string_view tensor) {
  const PickleValue& values = pickle[list];
  require<FormatError>(
      (values.kind == PickleKind::tuple || values.kind == PickleKind::list) && values.items.size() <= kMaxPickledAxes,
      where, "tensor '{}': its sizes are not a list of up to {}", tensor, kMaxPickledAxes);
  std::vector<int64_t> integers;
  for (const uint32_t item : values.items) {
    require<FormatError>(pickle[item].kind == PickleKind::integer && pickle[item].integer >= 0, where,
                         "tensor '{}': a size or stride that is not an integer of at least 0", tensor);
    integers.push_back(pickle[item].integer);
  }
  return integers;
}

// The last element that a view has, or none where it overflows.
std::optional<int64_t> last_element(const PickledTensor& tensor) {
  int64_t last = tensor.first;
  for (size_t axis = 0; axis < tensor.shape.size(); ++axis) {
    int64_t along = 0;
    if (__builtin_mul_overflow(tensor.shape[axis] - 1, tensor.strides[axis], &along) ||
        __builtin_add_overflow(last, along, &last)) {
      return std::nullopt;
    }
  }
  return last;
}

PickledTensor tensor_from(const Pickle& pickle, const PickleValue& value, std::string name, const std::string& where) {
  const std::string said = shown(name);
  PickledTensor tensor{std::move(name), {}, 0, {}, {}};
  const PickleValue &storage = pickle[value.items[0]], &offset = pickle[value.items[1]];
  require<FormatError>(storage.kind == PickleKind::persistent, where, "tensor '{}' has no storage", said);
  tensor.storage = storage_of(pickle, storage, where);
  require<FormatError>(offset.kind == PickleKind::integer && offset.integer >= 0, where,
                       "tensor '{}': its offset is not an integer of at least 0", said);
  tensor.first = offset.integer;
  tensor.shape = integers_of(pickle, value.items[2], where, said);
  tensor.strides = integers_of(pickle, value.items[3], where, said);
  require<FormatError>(tensor.shape.size() == tensor.strides.size(), where, "tensor '{}' has {} sizes and {} strides",
                       said, tensor.shape.size(), tensor.strides.size());
  const bool is_empty = std::ranges::find(tensor.shape, 0) != tensor.shape.end();
  const auto last = is_empty ? std::optional(tensor.first - 1) : last_element(tensor);
  require<FormatError>(last.has_value() && *last < tensor.storage.elements, where,
                       "tensor '{}': [{}] of strides [{}] from {} reaches beyond its storage of {} elements", said,
                       fmt::join(tensor.shape, ", "), fmt::join(tensor.strides, ", "), tensor.first,
                       tensor.storage.elements);
  const auto bytes = bytes_of(tensor.storage.type, tensor.shape);
  require<FormatError>(bytes.has_value() && *bytes / block_of(tensor.storage.type).bytes <= tensor.storage.elements,
                       where, "tensor '{}' is [{}], more elements than its storage has, {}", said,
                       fmt::join(tensor.shape, ", "), tensor.storage.elements);
  return tensor;
}

class TensorFinder {
 public:
  TensorFinder(const Pickle& pickle, const std::string& where) : pickle_(pickle), where_(where) {}

  // Values that occur in many places are gone through in each, but not without end.
  void visit(uint32_t number, const std::string& name, size_t depth) {
    require<FormatError>(depth <= kDeepestDictionary, where_, "its pickle: nested deeper than {} levels",
                         kDeepestDictionary);
    require<FormatError>(++visits_ <= kMaxVisits, where_, "its pickle has more than {} values", kMaxVisits);
    const PickleValue& value = pickle_[number];
    const std::string prefix = name.empty() ? "" : name + ".";
    if (value.kind == PickleKind::tensor) {
      found.push_back(tensor_from(pickle_, value, name, where_));
    } else if (value.kind == PickleKind::dictionary) {
      for (size_t i = 0; i < value.items.size(); i += 2) {
        visit(value.items[i + 1], prefix + key_of(value.items[i]), depth + 1);
      }
    } else if (value.kind == PickleKind::list || value.kind == PickleKind::tuple) {
      for (size_t i = 0; i < value.items.size(); ++i) {
        visit(value.items[i], prefix + std::to_string(i), depth + 1);
      }
    }
  }

  std::vector<PickledTensor> found;

 private:
  std::string key_of(uint32_t number) const {
    const PickleValue& key = pickle_[number];
    require<FormatError>(key.kind == PickleKind::text || key.kind == PickleKind::integer, where_,
                         "its pickle: a dictionary's key is neither a text nor an integer");
    return key.kind == PickleKind::text ? std::string(key.text) : std::to_string(key.integer);
  }

  const Pickle& pickle_;
  const std::string& where_;
  size_t visits_ = 0;
};

}  // namespace

bool PickledTensor::is_row_major() const {
  int64_t expected = 1;
  for (size_t axis = shape.size(); axis-- > 0;) {
    if (shape[axis] != 1 && strides[axis] != expected) {
      return elements() == 0;
    }
    expected *= shape[axis];
  }
  return true;
}

int64_t PickledTensor::elements() const {
  return std::accumulate(shape.begin(), shape.end(), int64_t{1}, std::multiplies());
}

PickledStorage storage_of(const Pickle& pickle, const PickleValue& persistent, const std::string& where) {
  const PickleValue& identity = pickle[persistent.items[0]];
  const bool complete =
      identity.kind == PickleKind::tuple && identity.items.size() >= 5 && pickle[identity.items[0]].text == "storage" &&
      pickle[identity.items[1]].kind == PickleKind::global && pickle[identity.items[2]].kind == PickleKind::text &&
      pickle[identity.items[4]].kind == PickleKind::integer;
  require<FormatError>(complete, where, "its pickle refers to what is not a storage");
  // Before torch 1.6 a storage could be a part of another.
  require<FormatError>(identity.items.size() == 5 || pickle[identity.items[5]].kind == PickleKind::none, where,
                       "its pickle has a view of a storage, which heed does not read");
  const std::string_view name = pickle[identity.items[1]].second_text;
  const auto* const row = std::ranges::find(kStorages, name, &StorageName::name);
  require<FormatError>(row != kStorages.end(), where, "its pickle has tensors in {}, which heed does not read",
                       shown(name));
  const int64_t elements = pickle[identity.items[4]].integer;
  require<FormatError>(elements >= 0, where, "its pickle has a storage of {} elements", elements);
  return {pickle[identity.items[2]].text, row->type, elements};
}

std::vector<PickledTensor> pickled_tensors(const Pickle& pickle, const std::string& where) {
  TensorFinder finder(pickle, where);
  finder.visit(pickle.root, "", 0);
  return std::move(finder.found);
}

}  // namespace heed
