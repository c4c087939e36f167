#include "serve/page/page_files.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <span>
#include <string>
#include <string_view>

#include "base/checksum.h"
#include "report/web_assets.h"

namespace heed::serve {
namespace {

// The page loads nothing from other servers, and no other page may embed it.
constexpr std::string_view kPolicy =
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; worker-src "
    "'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";
constexpr std::string_view kBelow = "/page/";

struct FileType {
  std::string_view ending, type;
};
constexpr std::array<FileType, 3> kTypes{{{".html", "text/html; charset=utf-8"},
                                          {".js", "text/javascript; charset=utf-8"},
                                          {".css", "text/css; charset=utf-8"}}};

const WebAsset* file_at(std::string_view path) {
  const bool is_below = path.starts_with(kBelow);
  if (!is_below && path != "/") {
    return nullptr;
  }
  const std::string_view name = is_below ? path.substr(kBelow.size()) : "serve/index.html";
  const auto found = std::ranges::find(web_assets(), name, &WebAsset::path);
  return found == web_assets().end() ? nullptr : &*found;
}

std::string tag_of(std::string_view text) {
  Checksum sum;
  sum.add(std::as_bytes(std::span(text)));
  return fmt::format("\"{}\"", sum.text());
}

}  // namespace

std::optional<HttpAnswer> page_file(const HttpRequest& request) {
  const WebAsset* const file = request.method == "GET" || request.method == "HEAD" ? file_at(request.path()) : nullptr;
  if (file == nullptr) {
    return std::nullopt;
  }
  const auto type = std::ranges::find_if(kTypes, [&](const FileType& one) { return file->path.ends_with(one.ending); });
  const std::string tag = tag_of(file->text);
  HttpAnswer answer{.type = std::string(type == kTypes.end() ? "text/plain" : type->type)};
  // Another version of the program may have other files at the same paths, so the browser asks each time.
  answer.headers = {{"ETag", tag},
                    {"Cache-Control", "no-cache"},
                    {"Content-Security-Policy", std::string(kPolicy)},
                    {"X-Content-Type-Options", "nosniff"},
                    {"Referrer-Policy", "no-referrer"}};
  if (request.header("If-None-Match").find(tag) != std::string_view::npos) {
    answer.status = 304;
    answer.type = "";
  } else {
    answer.body = file->text;
  }
  return answer;
}

}  // namespace heed::serve
