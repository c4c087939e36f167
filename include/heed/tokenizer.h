// Tokenizers: learning one from text, and text to tokens and back.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "heed/types/tokenizer.h"

namespace heed {

// Where a tokenizer is learned from, and where it goes.
struct TokenizerFiles {
  std::vector<std::string> inputs;  // in UTF-8, one sentence per line
  std::string output;
};

// Learns a tokenizer and writes it. The same text gives the same file, to the byte. Errors name the file and line of
// text that is not UTF-8.
TokenizerSummary train_tokenizer(const TokenizerTraining& training, const TokenizerFiles& files);

// A tokenizer from its file. Immutable, and safe to use from several threads at once.
class LoadedTokenizer {
 public:
  explicit LoadedTokenizer(const std::string& path);
  ~LoadedTokenizer();
  LoadedTokenizer(LoadedTokenizer&& other) noexcept;
  LoadedTokenizer& operator=(LoadedTokenizer&& other) noexcept;

  TokenizerSummary summary() const;

  // nullopt when the options drop the text. `where` names the text in errors.
  std::optional<std::vector<int32_t>> encode(std::string_view text, const EncodingOptions& options = {},
                                             std::string_view where = "text") const;
  std::string decode(std::span<const int32_t> tokens, std::string_view where = "tokens") const;

  // The characters of the text that each token of encode(text) came from: spaces that belong to tokens included, and of
  // a byte the character that it is in. FormatError where the text is not UTF-8.
  std::vector<TokenOffsets> offsets(std::string_view text) const;

  // ConfigError for kinds that have no steps: word, char and byte. FormatError where the text is not UTF-8, and for a
  // model from elsewhere whose own merges give other tokens.
  TokenizerTrace trace(std::string_view text) const;

  // A token in readable form, without white space, and back. Errors name what is not in the vocabulary.
  std::string piece(int32_t token) const;
  int32_t token(std::string_view piece, std::string_view where = "tokens") const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heed
