// Changes of a text that several normalizers and pre-tokenizers make.
#pragma once

#include <memory>
#include <string_view>

#include "text/huggingface/aligned_text.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/json.h"
#include "text/huggingface/regex/pattern.h"

namespace heed::huggingface {

// {"String": ...} or {"Regex": ...}.
std::unique_ptr<Pattern> read_pattern(const JsonValue& json);

// Puts a text before one that is not empty; it has the origin of the first character.
void prepend_text(AlignedText& text, std::string_view prefix);

// Each byte becomes its character of the byte-level alphabet.
void map_bytes(AlignedText& text);

template <class Test>
void remove_characters(AlignedText& text, Test&& test) {
  const std::string_view view = text.view();
  size_t first = 0;
  while (first < view.size()) {
    const auto [value, size] = decode_character(view.data() + first);
    if (test(value)) {
      break;
    }
    first += size;
  }
  if (first >= view.size()) {
    return;
  }
  TextRewriter rewriter(text);
  for (size_t at = first; at < view.size();) {
    const auto [value, size] = decode_character(view.data() + at);
    if (test(value)) {
      rewriter.keep(at);
      rewriter.skip(size);
    }
    at += size;
  }
  rewriter.keep(view.size());
  rewriter.finish();
}

// Each character becomes another.
template <class Map>
void map_characters(AlignedText& text, Map&& map) {
  const std::string_view view = text.view();
  bool changes = false, resizes = false;
  for (size_t at = 0; at < view.size();) {
    const auto [value, size] = decode_character(view.data() + at);
    const char32_t mapped = map(value);
    changes = changes || mapped != value;
    if (mapped != value && (mapped >= 0x80 || size > 1) && to_text(mapped).size() != size) {
      resizes = true;
      break;
    }
    at += size;
  }
  if (resizes) {
    TextRewriter rewriter(text);
    for (size_t at = 0; at < view.size();) {
      const auto [value, size] = decode_character(view.data() + at);
      rewriter.replace(map(value));
      at += size;
    }
    rewriter.finish();
  } else if (changes) {
    std::string mapped;
    mapped.reserve(view.size());
    for (size_t at = 0; at < view.size();) {
      const auto [value, size] = decode_character(view.data() + at);
      append_character(mapped, map(value));
      at += size;
    }
    text.editable() = std::move(mapped);
  }
}

}  // namespace heed::huggingface
