// The sentences of a long text, so that each can be translated and put in its place.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "text/sentences/text_span.h"

namespace heed {

// How long a sentence may be.
struct SentenceLimit {
  int64_t most = 0;                                           // tokens; 0: no limit
  std::function<int64_t(std::string_view text)> tokens = {};  // of a text
};

// Splits by ICU's rules for a language, beyond them by its abbreviations. Safe to use from several threads at once.
class SentenceSplitter {
 public:
  // A language's code, as "de" or "pt-BR"; the rules for an unknown one are those of no language.
  explicit SentenceSplitter(std::string_view language);
  ~SentenceSplitter();
  SentenceSplitter(const SentenceSplitter&) = delete;
  SentenceSplitter& operator=(const SentenceSplitter&) = delete;

  // The sentences of a text, in order. They have letters, no line breaks and no white space at their ends. What lies
  // between them stays as it is: white space, the marks that list items and quoted lines begin with, and what has no
  // letter. A sentence above the limit is split where it hurts least: after a semicolon or colon, a comma, a word, or
  // at last between two characters; a single character may be above it. FormatError unless the text is UTF-8.
  std::vector<TextSpan> split(std::string_view text, const SentenceLimit& limit = {}) const;

 private:
  struct Iterators;
  std::unique_ptr<const Iterators> iterators_;
};

// The text with each span replaced; as many replacements as spans, which are in order.
std::string with_spans_replaced(std::string_view text, std::span<const TextSpan> spans,
                                std::span<const std::string> replacements);

}  // namespace heed
