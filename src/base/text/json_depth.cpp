#include "base/text/json_depth.h"

#include "base/errors.h"

namespace heed {

void require_shallow_json(std::string_view json, std::string_view where) {
  constexpr int kDeepest = 64;
  int depth = 0;
  bool in_text = false;
  for (size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_text) {
      i += c == '\\' ? 1 : 0;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      require<FormatError>(++depth <= kDeepest, where, "byte {}: nested deeper than {} levels", i, kDeepest);
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

}  // namespace heed
