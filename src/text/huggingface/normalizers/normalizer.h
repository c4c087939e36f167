// The normalizers of a tokenizer.json.
#pragma once

#include <memory>
#include <vector>

#include "text/huggingface/aligned_text.h"
#include "text/huggingface/json.h"

namespace heed::huggingface {

class Normalizer {
 public:
  virtual ~Normalizer() = default;
  Normalizer(const Normalizer&) = delete;
  Normalizer& operator=(const Normalizer&) = delete;

  virtual void apply(AlignedText& text) const = 0;

 protected:
  Normalizer() = default;
};

using NormalizerPtr = std::unique_ptr<Normalizer>;

// From the value of "normalizer"; FormatError for types and settings that are unknown.
NormalizerPtr read_normalizer(const JsonValue& json);

// Normal forms of Unicode 9.0.
enum class Form : uint8_t { nfc, nfd, nfkc, nfkd };

// The kinds, each of which may have a constructor from its object.
NormalizerPtr make_form_normalizer(Form form);
NormalizerPtr make_bert_normalizer(const JsonValue& json);
NormalizerPtr make_precompiled_normalizer(const JsonValue& json);

// What the others are made of.
void to_form(AlignedText& text, Form form);
void to_lower_case(AlignedText& text);

}  // namespace heed::huggingface
