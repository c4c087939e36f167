// Texts for an encoder: as tokens, in batches of similar lengths; and what its head, or its rows, give for each.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "heed/types/labeled_files.h"
#include "heed/types/tokenizer.h"
#include "kernels/lanes.h"
#include "models/any_model.h"
#include "text/tokenizer.h"

namespace heed {

// One text a is `begin a end`, two texts a and b are `begin a separator b end`, with types 0 up to the separator and 1
// after it. begin is bos (or eos, where there is none), end is eos, separator is sep (or eos).
struct EncodedText {
  std::vector<int32_t> ids, types;
  std::vector<int32_t> first_of_words;  // the row of each word's first token, where labels are of words
};

// A text, or two that are read together.
struct TextOrPair {
  const std::string& first;
  const std::string* second = nullptr;
};

// FormatError, naming `where`, for text that is not UTF-8 or, unless it is to be truncated, is too long. Of two texts
// that are truncated, the longer one loses tokens at its end until both fit.
EncodedText encode_text_or_pair(const Tokenizer& tokenizer, const TextOrPair& text, int64_t max_length,
                                TooLong too_long, const std::string& where);
// The text of a line, or the two that it holds.
EncodedText encode_line(const Tokenizer& tokenizer, const std::string& line, TextColumns columns, int64_t max_length,
                        TooLong too_long, const std::string& where);
// FormatError also for an empty list of words.
EncodedText encode_words(const Tokenizer& tokenizer, std::span<const std::string> words, int64_t max_length,
                         const std::string& where);

// A batch for a model, with rows numbered from first_row on. Types are given where the model has them.
Sequences sequences_of(std::span<const EncodedText* const> texts, int64_t token_types, uint64_t first_row = 0);

struct TextReader {
  const AnyModel& model;
  DType storage;
  Lanes& lanes;
};

// The head's scores of each text: one for each label, or for each label of each word, word by word. What a text gets
// does not depend on the others.
std::vector<std::vector<float>> head_scores(const TextReader& reader, std::span<const EncodedText> texts);
// The embedding of each text, by this pooling or the model's own, and its text layer where it has one.
std::vector<std::vector<float>> embeddings(const TextReader& reader, std::span<const EncodedText> texts,
                                           std::optional<Pooling> pooling);

}  // namespace heed
