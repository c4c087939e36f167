// Tokenizers: learning one from text, and text to tokens and back.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

struct TokenizerTrainingOptions {
  std::string kind;                   // bpe, unigram, wordpiece, word, char or byte
  std::vector<std::string> inputs;    // files, a sentence a line, in UTF-8
  int64_t vocabulary = 0;             // at most; 0: as many as there are (word, char and byte)
  std::string normalization = "nfc";  // none, nfc or nfkc, and " lowercase" behind it
  std::vector<std::string> user_symbols;
  int64_t minimum_count = 0;         // 0: the kind's default, as for coverage
  int64_t sample_lines = 5'000'000;  // that bpe and unigram learn from
  double coverage = 0.0;
  std::string pad = "<pad>", unk = "<unk>", bos = "<s>", eos = "</s>", sep = "<sep>";
};

struct TokenizerSummary {
  struct Special {
    std::string role, text;  // text is empty and id -1 where the tokenizer has none
    int32_t id = -1;
  };

  std::string kind, normalization;
  int64_t vocabulary = 0;
  std::vector<Special> special;  // pad, unk, bos, eos, sep
};

// Learns a tokenizer and writes it to `output`. The same text gives the same file, to the byte. Errors name the file
// and line of text that is not UTF-8.
TokenizerSummary train_tokenizer(const TokenizerTrainingOptions& options, const std::string& output);

// What encode() puts around a text's tokens and what it does when they are too many.
struct EncodingOptions {
  enum class Edge : uint8_t { bare, marked };

  Edge begin = Edge::bare, end = Edge::bare;  // marked: with bos, with eos
  std::optional<int64_t> longest;             // tokens, bos and eos among them
  std::string too_long = "refuse";            // drop, truncate (bos and eos stay) or refuse
};

// A tokenizer from its file. Immutable, and safe to use from several threads at once.
class LoadedTokenizer {
 public:
  explicit LoadedTokenizer(const std::string& path);
  ~LoadedTokenizer();
  LoadedTokenizer(LoadedTokenizer&& other) noexcept;
  LoadedTokenizer& operator=(LoadedTokenizer&& other) noexcept;

  TokenizerSummary summary() const;

  // Nothing when the text is to be dropped. `where` names the text in errors.
  std::optional<std::vector<int32_t>> encode(std::string_view text, const EncodingOptions& options = {},
                                             std::string_view where = "text") const;
  std::string decode(std::span<const int32_t> tokens, std::string_view where = "tokens") const;

  // A token as people read it, without white space, and back. Errors name what is not in the vocabulary.
  std::string piece(int32_t token) const;
  int32_t token(std::string_view piece, std::string_view where = "tokens") const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace heed
