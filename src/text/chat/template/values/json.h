// JSON to values of templates and back.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "text/chat/template/values/value.h"

namespace heed::chat {

// Keys keep their order. FormatError, naming `where`, for what is not JSON, has a key twice in one object, an integer
// beyond 64 bits, or is nested deeper than kMaxValueDepth.
Value parse_json(std::string_view json, std::string_view where);

// As Python's json.dumps(ensure_ascii=False) writes it.
struct JsonLayout {
  std::optional<std::string> indent;  // of a level; without, all is one line
  std::string comma = ", ", colon = ": ";
  enum class Keys : uint8_t { as_given, sorted } keys = Keys::as_given;
};
std::string write_json(Run& run, const Value& value, const JsonLayout& layout = {});

}  // namespace heed::chat
