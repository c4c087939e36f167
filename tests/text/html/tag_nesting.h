// The tags of an HTML fragment, each with the tags around it: read by rules of their own, for tests and fuzzers.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "text/html/html_tokens.h"

namespace heed::testing_html {

enum class TagOrder { as_written, sorted };

inline std::vector<std::string> tag_nesting(std::string_view html, TagOrder order) {
  std::vector<std::string> all;
  std::vector<std::string> open;
  std::string path;
  std::vector<size_t> sizes;
  constexpr size_t kDeepest = 200;
  for (const HtmlToken& token : html_tokens(html)) {
    if (token.kind == HtmlTokenKind::text) {
      continue;
    }
    const std::string source(token.source.in(html));
    if (token.kind == HtmlTokenKind::end_tag) {
      const auto found = std::find(open.rbegin(), open.rend(), token.name);
      if (found != open.rend()) {
        open.erase(found.base() - 1, open.end());
        path.resize(sizes[open.size()]);
        sizes.resize(open.size());
      }
    }
    all.push_back(path + "|" + source);
    if (token.kind == HtmlTokenKind::start_tag && !is_void_element(token.name) && open.size() < kDeepest) {
      open.push_back(token.name);
      sizes.push_back(path.size());
      path += "|" + source;
    }
  }
  if (order == TagOrder::sorted) {
    std::sort(all.begin(), all.end());
  }
  return all;
}

}  // namespace heed::testing_html
