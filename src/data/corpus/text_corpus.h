// The tokens of a text for a language model, in documents or as one stream.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "data/corpus/token_store.h"
#include "data/lines/line_chunks.h"
#include "data/lines/text_source.h"
#include "text/tokenizer.h"

namespace heed {

// A document's tokens are between `begin` and `end`; lines are joined by `line_break`. A stream has neither begin nor
// end. `separator` is between the two texts of a pair.
struct TextMarks {
  std::optional<TokenId> begin, end, line_break, separator;
};

// The marks that these documents need. A document begins with bos or, where the tokenizer has none, with eos; sep, too,
// is eos where there is none. ConfigError when the tokenizer lacks one: no eos for documents, or no line break where
// line breaks are text.
TextMarks text_marks(const Tokenizer& tokenizer, Documents documents, TextColumns columns = TextColumns::one);

class TextCorpus {
 public:
  // Tokens are end to end, marks included: token 0 is the first document's begin.
  int64_t tokens() const { return store_.tokens(); }
  int64_t documents() const { return store_.size(); }
  const TokenStore& store() const { return store_; }  // a sequence for each document, or one for the stream
  int64_t document_of(int64_t token) const;

  // The size of the text, all line breaks and blank lines included.
  TextSize size() const { return size_; }
  std::string where(int64_t token) const;  // "input.txt:812", for messages
  std::string names() const;               // of its files, for messages
  const std::vector<std::filesystem::path>& files() const { return files_; }
  std::vector<int64_t> file_begins() const;  // the first token of each file, or of the next one that has one

  // For files, as NAME.tokens and so on, and back: with the rules and the tokenizer that it was read with. The fields
  // refer to the corpus.
  void store(FieldsToStore& fields, const std::string& name) const;
  static TextCorpus stored(const StoredFields& fields, const std::string& name, const TextRules& rules,
                           const Tokenizer& tokenizer);

  // A hash of all tokens, marks included: a position in this corpus means nothing in one with another fingerprint.
  uint64_t fingerprint() const { return fingerprint_; }

 private:
  friend class TextCorpusBuilder;
  // Where a line begins. The lines after it are found by counting line breaks.
  struct Mark {
    int64_t token = 0, line = 0, file = 0;
  };

  TextCorpus(TokenStore store, SpillArray<Mark> marks) : store_(std::move(store)), marks_(std::move(marks)) {}

  std::vector<std::filesystem::path> files_;
  std::optional<TokenId> line_break_;
  TokenStore store_;
  SpillArray<Mark> marks_;
  TextSize size_;
  uint64_t fingerprint_ = 0;
};

// The pool's threads encode the lines; the result does not depend on their number. Only a few megabytes of text are in
// memory at a time; tokens are stored as `spill` says. FormatError when no token is left.
TextCorpus read_text_corpus(const TextRules& rules, const Tokenizer& tokenizer, const LineWorkers& workers,
                            const SpillRules& spill = {});

}  // namespace heed
