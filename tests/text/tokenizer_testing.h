// Helpers for the tests of tokenizers.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/errors.h"
#include "source_root.h"
#include "text/tokenizer_training.h"

namespace heed::test {

inline LineSource lines_of(std::vector<std::string> lines) {
  return [lines = std::move(lines), next = size_t{0}](std::string& line) mutable {
    if (next == lines.size()) {
      return false;
    }
    line = lines[next++];
    return true;
  };
}

// A few hundred lines of simple sentences with punctuation, capitals, umlauts and numbers.
inline std::vector<std::string> corpus() {
  const std::vector<std::string> who{"A man", "Two women", "The old dog", "Ein Mädchen", "Some children"};
  const std::vector<std::string> what{"walking", "playing", "sleeping", "reading", "standing", "laughing"};
  const std::vector<std::string> where{"in the park.", "on 42 stairs!", "near a (small) house;", "über die Straße?",
                                       "with his mother's hat, \"again\"."};
  std::vector<std::string> lines;
  for (const auto& a : who) {
    for (const auto& b : what) {
      for (const auto& c : where) {
        lines.push_back(a + " is " + b + " " + c);
      }
    }
  }
  return lines;
}

inline constexpr TokenizerKind kAllKinds[] = {TokenizerKind::bpe,  TokenizerKind::unigram,   TokenizerKind::wordpiece,
                                              TokenizerKind::word, TokenizerKind::character, TokenizerKind::byte};

inline TokenizerTraining training_of(TokenizerKind kind) {
  const bool pieces = kind == TokenizerKind::bpe || kind == TokenizerKind::unigram || kind == TokenizerKind::wordpiece;
  return {.kind = kind, .vocabulary = pieces ? 400 : 0};
}

// One training of each kind serves many tests.
inline const Tokenizer& trained(TokenizerKind kind) {
  static std::map<TokenizerKind, std::unique_ptr<Tokenizer>> all;
  auto& tokenizer = all[kind];
  if (!tokenizer) {
    tokenizer = train_tokenizer(training_of(kind), lines_of(corpus()));
  }
  return *tokenizer;
}

inline std::string without_spaces(std::string text) {
  std::erase_if(text, [](char c) { return c == ' ' || c == '\t' || c == '\n'; });
  return text;
}

template <class Kind, class Run>
void expect_error(Run&& run, const std::vector<std::string>& parts) {
  try {
    run();
    ADD_FAILURE() << "nothing was thrown; expected " << testing::PrintToString(parts);
  } catch (const Kind& error) {
    for (const std::string& part : parts) {
      EXPECT_THAT(error.what(), testing::HasSubstr(part));
    }
  }
}

// Lines of a file of the optional data; nothing if it does not exist.
inline std::optional<std::vector<std::string>> data_lines(const std::string& name) {
  const char* const folder = std::getenv("HEED_DATA");
  const std::filesystem::path root = folder != nullptr ? folder : source_root() / ".." / "shared" / "data";
  std::ifstream file(root / name);
  if (!file) {
    return std::nullopt;
  }
  std::vector<std::string> lines;
  for (std::string line; std::getline(file, line);) {
    lines.push_back(line);
  }
  return lines;
}

}  // namespace heed::test
