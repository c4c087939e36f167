// The texts of an HTML fragment, to be translated with its tags kept in place.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/sentences/text_span.h"

namespace heed {

// Parts of a text and of its translation that say the same.
struct AlignedSpans {
  TextSpan source, target;
};

struct TranslatedText {
  std::string text;
  // In any order, words or parts of words; empty: not known, and tags are placed in proportion.
  std::vector<AlignedSpans> alignment = {};
};

// A text is what stands between tags of blocks (<p>, <li>, <td>, <br> ...): plain, without references, with single
// spaces. Tags within a line (<b>, <a>, unknown ones) do not divide it, and the words of short <code> and of elements
// with translate="no" are part of it. Attributes, comments, and what is not translated (script, style, pre, code,
// translate="no", the class notranslate, texts without a letter) stay as they are, byte for byte.
class HtmlText {
 public:
  // FormatError unless the fragment is UTF-8. What is not well-formed is kept.
  explicit HtmlText(std::string html);
  ~HtmlText();
  HtmlText(HtmlText&& other) noexcept;
  HtmlText& operator=(HtmlText&& other) noexcept;

  const std::vector<std::string>& texts() const;

  // The fragment with its texts replaced, one for each. Each element stands around the words that are aligned with its
  // own, and within the element that it stood in; two elements beside each other change places where their words do.
  // Elements without such words become empty. The tags are those of the fragment, with the same nesting, whatever the
  // translations; in a text with tags that have no partner, also in the same order.
  std::string with(std::span<const TranslatedText> translations) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace heed
