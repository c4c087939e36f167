// An HTML fragment as tags, texts and whatever stays as it is. Put together again, the tokens are the fragment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "text/sentences/text_span.h"

namespace heed {

enum class HtmlTokenKind : uint8_t {
  text,
  start_tag,
  end_tag,
  other  // comments, doctypes, what stands in scripts, tags that are not closed
};

struct HtmlToken {
  HtmlTokenKind kind;
  TextSpan source;                     // in the fragment
  std::string name = {};               // of a tag, in lower case
  bool is_kept = false;                // a start tag with translate="no" or the class notranslate
  bool takes_rest = false;             // is not closed: whatever follows would belong to it
  std::optional<size_t> partner = {};  // the token of the tag that ends or begins the element
};

// Partners are found with a stack of open tags for each name.
std::vector<HtmlToken> html_tokens(std::string_view html);

// How an element is laid out, as far as translation cares.
bool is_void_element(std::string_view name);    // has no end tag
bool is_inline_element(std::string_view name);  // part of a line of text; so are unknown elements
// Whose content is not translated: code, scripts, pictures ...
bool is_kept_element(std::string_view name);

struct CharacterReference {
  char32_t character;  // 0: one with a name that is not known here
  size_t size;         // bytes, from "&" to the semicolon
};
// The reference that a text begins with, or none.
std::optional<CharacterReference> character_reference(std::string_view text);

}  // namespace heed
