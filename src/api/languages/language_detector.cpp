#include "heed/language_detector.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "api/languages/built_in_model.h"
#include "base/errors.h"
#include "base/system/files.h"
#include "heed/encoder.h"
#include "text/unicode/letters.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr size_t kPart = 200;          // bytes, and so tokens at most, that are read together
constexpr size_t kMostParts = 8;       // of a text
constexpr size_t kMostRead = 100'000;  // bytes that are looked at

// A folder that is removed at the end. IoError where it can't be made.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::error_code error;
    std::string pattern = (std::filesystem::temp_directory_path(error) / "heed-languages-XXXXXX").string();
    require<IoError>(!error && ::mkdtemp(pattern.data()) != nullptr, pattern,
                     "cannot make a folder there: set TMPDIR to one that can be written");
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

Encoder load_language_model() {
  const TemporaryFolder folder;
  for (const BuiltInFile& file : language_model_files()) {
    write_file(folder.path() / file.name, file.bytes);
  }
  return Encoder(folder.path().string(), {.precision = Precision::f32, .threads = 1});
}

// A beginning of the text that ends with a character.
std::string_view beginning(std::string_view text, size_t most) {
  if (text.size() <= most) {
    return text;
  }
  while (most > 0 && (static_cast<unsigned char>(text[most]) & 0xC0U) == 0x80) {
    --most;
  }
  return text.substr(0, most);
}

// Parts of a text, evenly spread, that end with a word where there is one.
std::vector<std::string> sampled_parts(std::string_view text) {
  std::vector<std::string> parts;
  for (size_t at = 0; at < text.size();) {
    std::string_view part = beginning(text.substr(at), kPart);
    const size_t space = part.rfind(' ');
    if (part.size() < text.size() - at && space != std::string_view::npos && space > 0) {
      part = part.substr(0, space);
    }
    parts.emplace_back(part);
    at += part.size();
    at += at < text.size() && text[at] == ' ' ? 1 : 0;
  }
  if (parts.size() > kMostParts) {
    std::vector<std::string> some;
    for (size_t i = 0; i < kMostParts; ++i) {
      some.push_back(std::move(parts[i * parts.size() / kMostParts]));
    }
    return some;
  }
  return parts;
}

}  // namespace

struct LanguageDetector::State {
  Encoder encoder = load_language_model();
};

LanguageDetector::LanguageDetector() : state_(std::make_unique<const State>()) {}
LanguageDetector::~LanguageDetector() = default;
LanguageDetector::LanguageDetector(LanguageDetector&& other) noexcept = default;
LanguageDetector& LanguageDetector::operator=(LanguageDetector&& other) noexcept = default;

std::vector<std::string> LanguageDetector::languages() const { return state_->encoder.labels(); }

std::vector<LanguageGuess> LanguageDetector::detect(std::string_view text) const {
  require_text_lines(text, "text");
  const std::string letters = letters_of(beginning(text, kMostRead));
  const std::vector<std::string> parts = sampled_parts(letters);
  std::vector<LanguageGuess> guesses;
  for (const TextLabels& part : state_->encoder.classify(parts)) {
    guesses.resize(part.scores.size());
    for (size_t i = 0; i < guesses.size(); ++i) {
      guesses[i].language = part.scores[i].label;
      guesses[i].confidence += 100.0 * part.scores[i].probability / static_cast<double>(parts.size());
    }
  }
  std::ranges::stable_sort(guesses, std::greater(), &LanguageGuess::confidence);
  return guesses;
}

}  // namespace heed
