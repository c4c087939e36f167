// What is done to text before it is cut into tokens: chosen once, stored with the tokenizer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace heed {

enum class NormalForm : uint8_t { none, nfc, nfkc };
enum class LetterCase : uint8_t { kept, lower };

struct Normalization {
  NormalForm form = NormalForm::nfc;
  LetterCase letter_case = LetterCase::kept;

  bool operator==(const Normalization&) const = default;
};

// The text in its normal form. Normalizing it again changes nothing. FormatError where the text is not UTF-8.
std::string normalize(std::string_view text, Normalization normalization);

// "nfc", "nfkc lowercase", and back. ConfigError for anything else.
std::string name_of(Normalization normalization);
Normalization parse_normalization(std::string_view name);

}  // namespace heed
