// The library's options as the fields of heed's own interface.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace heed::serve {

// "top_p: is 0, expected ..." for the library's "sampling: top-p is 0, expected ...". None where the message is not about
// an option that is a field.
struct NamedField {
  std::string field, message;
};
std::optional<NamedField> in_words_of_fields(std::string_view message);

}  // namespace heed::serve
