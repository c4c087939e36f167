// Reads Python pickles as data: nothing that they name is ever run.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "interchange/archive/byte_reader.h"

namespace heed {

enum class PickleKind : uint8_t {
  none,
  boolean,
  integer,
  large_integer,  // beyond 63 bits: the text has its bytes
  real,
  text,
  tuple,
  list,
  dictionary,
  global,      // a name: the text has the module, `second_text` the name
  persistent,  // what the file keeps elsewhere: items[0] is its identity
  tensor,      // items: a storage (persistent), its offset, the sizes, the strides
};

// A value, and by their numbers those that it contains: of a dictionary keys and values in turn. Values may contain each
// other in circles, and be contained many times.
struct PickleValue {
  PickleKind kind = PickleKind::none;
  int64_t integer = 0;
  double real = 0.0;
  std::string_view text = {}, second_text = {};  // in the file
  std::vector<uint32_t> items = {};
};

struct Pickle {
  std::vector<PickleValue> values;
  uint32_t root = 0;

  const PickleValue& operator[](uint32_t value) const { return values[value]; }
};

// One pickle, from the reader's place to its end. It may build dictionaries (also ordered ones), lists, tuples, numbers
// and texts, and tensors by torch._utils._rebuild_tensor_v2 and _rebuild_parameter, from names of torch's storages.
// FormatError, naming what is asked for, for all else: other names, calls and opcodes; and for more than kMaxPickleValues
// values.
Pickle read_pickle(ByteReader& file);

constexpr size_t kMaxPickleValues = 2'000'000;

}  // namespace heed
