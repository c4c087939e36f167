// The library's options as the fields of heed's own interface.
#pragma once

#include <optional>
#include <string>

#include "heed/errors.h"

namespace heed::serve {

// What the library says of an option, or of the value of a field: "top_p: is 0, expected ..." for its
// "sampling: top-p is 0, expected ...". None for other errors.
struct NamedField {
  std::string field, message;
};
std::optional<NamedField> in_words_of_fields(const Error& error);

}  // namespace heed::serve
