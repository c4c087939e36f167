#include "report/web_assets.h"

#include <algorithm>

#include "base/errors.h"

namespace heed {

std::string_view web_asset(std::string_view path) {
  const auto found = std::ranges::find(web_assets(), path, &WebAsset::path);
  ensure(found != web_assets().end(), "web", "{} is not built in", path);
  return found->text;
}

}  // namespace heed
