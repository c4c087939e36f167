// The files of web/, built into the program: scripts and styles of the pages that heed writes.
#pragma once

#include <span>
#include <string_view>

namespace heed {

struct WebAsset {
  std::string_view path, text;  // path: within web/, such as "report/charts.js"
};

// All of them, in the order of their paths.
std::span<const WebAsset> web_assets();

// The text of one; InternalError when web/ has no such file.
std::string_view web_asset(std::string_view path);

}  // namespace heed
