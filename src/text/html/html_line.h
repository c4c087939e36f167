// A text of an HTML fragment with what stands in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "text/html/html_text.h"

namespace heed {

enum class HtmlNodeKind : uint8_t {
  element,  // a start tag, what is in it, and its end tag
  kept,     // stays as it is, in place of its words
  mark      // stays as it is, and has no words: pictures, comments, tags without partner
};

// What stands around a mark that is seen.
struct SpacesAround {
  bool before = false, after = false;
};

struct HtmlNode {
  HtmlNodeKind kind;
  TextSpan words;          // of the text
  std::string begin, end;  // what is written; end: of an element
  std::string shown = {};  // the words of what is kept
  SpacesAround spaces = {};
  std::vector<size_t> children = {};
};

struct HtmlLine {
  std::string text;
  std::string before, after;  // white space around it
  // The first is the line itself; each comes before its children, which are in order.
  std::vector<HtmlNode> nodes;
  int depth = 0;  // of the deepest
  bool keeps_order = false;
  // How the fragment writes characters as references.
  std::map<char32_t, std::string> references;
};

// The text with the tags in place. With more than kDeepestHtml levels, or more than kMostHtmlWork nodes times bytes,
// tags are placed in proportion and in order, in linear time.
constexpr int kDeepestHtml = 100;
constexpr size_t kMostHtmlWork = 50'000'000;
std::string with_tags(const HtmlLine& line, const TranslatedText& translation);

}  // namespace heed
