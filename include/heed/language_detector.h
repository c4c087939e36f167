// Which language a text is in.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

struct LanguageGuess {
  std::string language;     // its code, as "de"
  double confidence = 0.0;  // percent
};

// A small classifier that is built in: Arabic, Chinese, Czech, Danish, Dutch, English, French, German, Italian,
// Japanese, Polish, Portuguese, Romanian, Russian, Spanish, Swedish, Turkish and Ukrainian. It takes every text for
// one of these. Safe to call from several threads at once.
class LanguageDetector {
 public:
  // It is loaded from a temporary folder: IoError where that can't be written.
  LanguageDetector();
  ~LanguageDetector();
  LanguageDetector(LanguageDetector&& other) noexcept;
  LanguageDetector& operator=(LanguageDetector&& other) noexcept;

  std::vector<std::string> languages() const;

  // All languages, the likeliest first, with confidences that sum to 100; none for a text without letters. Of a long
  // text, only several parts are read. FormatError unless the text is UTF-8.
  std::vector<LanguageGuess> detect(std::string_view text) const;

 private:
  struct State;
  std::unique_ptr<const State> state_;
};

}  // namespace heed
