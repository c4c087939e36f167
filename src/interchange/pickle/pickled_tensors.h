// The tensors that a pickle describes.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "interchange/archive/foreign_type.h"
#include "interchange/pickle/unpickler.h"

namespace heed {

struct PickledStorage {
  std::string_view key;  // what the file calls it
  ForeignType type;
  int64_t elements;
};

// A view of a storage.
struct PickledTensor {
  std::string name;
  PickledStorage storage;
  int64_t first;  // element
  std::vector<int64_t> shape, strides;

  bool is_row_major() const;
  int64_t elements() const;
};

// All tensors in the dictionaries and lists of a pickle, in its order. FormatError, naming `where`, for a tensor with an
// element outside its storage, or one that has more elements than its storage.
std::vector<PickledTensor> pickled_tensors(const Pickle& pickle, const std::string& where);

// A storage by its identity: ('storage', type, key, device, elements).
PickledStorage storage_of(const Pickle& pickle, const PickleValue& persistent, const std::string& where);

}  // namespace heed
