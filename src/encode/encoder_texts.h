// Texts as the tokens that a model reads.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/types/reading/labeled_files.h"
#include "heed/types/reading/reading.h"
#include "heed/types/tokenizer.h"
#include "models/config.h"
#include "tensor/sequences.h"
#include "text/lines/documents.h"
#include "text/text_prompts.h"
#include "text/tokenizer.h"

namespace heed {

struct EncodedText {
  std::vector<int32_t> ids, types;
  std::vector<int32_t> first_of_words;  // the row of each word's first token, where labels are of words
  std::vector<int32_t> masks;           // the rows of masks, where they are to be filled
  int64_t unpooled = 0;                 // rows at its beginning that its embedding leaves out
};

// A text, or two that are read together.
struct TextOrPair {
  const std::string& first;
  const std::string* second = nullptr;
};

// The tokens of a text, or of two.
struct TextIds {
  std::vector<int32_t> first, second;
};

// How many tokens the model takes, and what happens to a text that has more.
struct ReadingLimit {
  int64_t max_length;
  TooLong too_long = TooLong::refuse;
  CutAt cut_at = CutAt::end;
};

// TooLongError, naming `where`, for texts that are too long, unless they are to be truncated: the longer one then loses
// tokens at one of its sides until both fit.
EncodedText encode_framed(std::span<const FrameSlot> frame, TextIds texts, const ReadingLimit& limit,
                          const std::string& where);

// FormatError, naming `where`, for text that is not UTF-8 and, unless it is to be truncated, TooLongError.
EncodedText encode_text_or_pair(const Tokenizer& tokenizer, const TextOrPair& text, const ReadingLimit& limit,
                                const std::string& where);
// The text of a line, or the two that it holds.
EncodedText encode_line(const Tokenizer& tokenizer, const std::string& line, TextColumns columns, int64_t max_length,
                        TooLong too_long, const std::string& where);
// With the rows of masks. FormatError also for a text without one.
EncodedText encode_masked(const Tokenizer& tokenizer, const std::string& text, TokenId mask, int64_t max_length,
                          const std::string& where);

// How a model of any kind reads a text to embed it: after a prompt, if there is one.
struct PromptedReading {
  Architecture architecture;
  const Tokenizer& tokenizer;
  std::optional<Documents> documents;  // of a language model
  ReadingLimit limit;
  std::string prompt = {};
  PooledPrompt pooled = PooledPrompt::yes;
};
// ConfigError for a pair where the model is not an encoder; FormatError as above. An empty text consists of the tokens
// around it; where there are none, it is a FormatError.
EncodedText encode_prompted(const PromptedReading& reading, const TextOrPair& text, const std::string& where);

// FormatError also for an empty list of words.
EncodedText encode_words(const Tokenizer& tokenizer, std::span<const std::string> words, int64_t max_length,
                         const std::string& where);

// A batch for a model, with rows numbered from first_row on. Types are given where the model has them.
Sequences sequences_of(std::span<const EncodedText* const> texts, int64_t token_types, uint64_t first_row = 0);

}  // namespace heed
