// Token sequences, stored compactly, with random access.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/strong.h"
#include "data/corpus/spill.h"
#include "data/corpus/stored_fields.h"

namespace heed {

// Sequences are appended once, then read. Ids take two bytes each where the vocabulary allows, else four. The rules
// apply to tokens and offsets separately.
class TokenStore {
 public:
  explicit TokenStore(int64_t vocabulary, const SpillRules& rules = {});

  // The sequences that store() put among these fields, to be read; none of them is empty.
  TokenStore(const StoredFields& fields, const std::string& name, int64_t vocabulary);
  // Sealed, as NAME.tokens and NAME.ends; this must outlive the fields.
  void store(FieldsToStore& fields, const std::string& name) const;

  // ShapeError for an id outside the vocabulary.
  void append(std::span<const TokenId> sequence);
  // The same, piece by piece.
  void extend(std::span<const TokenId> tokens);
  void end_sequence();
  // Ends appending; only then can sequences be read.
  void seal();

  int64_t vocabulary() const { return vocabulary_; }
  int64_t size() const { return ends_.size(); }
  int64_t tokens() const { return tokens_; }
  int64_t length(int64_t s) const { return end(s) - begin(s); }
  // The range of sequence s when all sequences are end to end.
  int64_t begin(int64_t s) const { return s == 0 ? 0 : ends_[s - 1]; }
  int64_t end(int64_t s) const { return ends_[s]; }
  // Appends sequence s to `ids`.
  void read(int64_t s, std::vector<int32_t>& ids) const;
  // Appends tokens [begin, end), counted over all sequences end to end.
  void read_between(int64_t begin, int64_t end, std::vector<int32_t>& ids) const;
  bool spilled() const { return narrow_.spilled() || wide_.spilled(); }

 private:
  bool is_narrow() const { return vocabulary_ <= 1 << 16; }

  int64_t vocabulary_, tokens_ = 0;
  SpillArray<uint16_t> narrow_;
  SpillArray<int32_t> wide_;
  SpillArray<int64_t> ends_;
};

}  // namespace heed
