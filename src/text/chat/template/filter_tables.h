// The filters' tables: those over one value, and those over lists.
#pragma once

#include <span>
#include <string_view>

#include "text/chat/template/operations.h"

namespace heed::chat {

struct Filter {
  std::string_view name;
  Value (*apply)(Run&, const Value& input, const Arguments&);
};

std::span<const Filter> value_filters();
std::span<const Filter> list_filters();

}  // namespace heed::chat
