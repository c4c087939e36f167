// Token sequences stored end to end, as a model takes them.
#pragma once

#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "tensor/segments.h"

namespace heed {

// Input token ids, one per row.
class Tokens {
 public:
  Tokens() = default;
  explicit Tokens(std::vector<int32_t> ids) : ids_(std::move(ids)) {}
  std::span<const int32_t> ids() const { return ids_; }
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }

 private:
  std::vector<int32_t> ids_;
};

// Target token ids, one per row; kIgnored rows have no loss and no gradient.
class Targets {
 public:
  static constexpr int32_t kIgnored = -1;

  Targets() = default;
  explicit Targets(std::vector<int32_t> ids) : ids_(std::move(ids)) {}
  std::span<const int32_t> ids() const { return ids_; }
  int64_t size() const { return static_cast<int64_t>(ids_.size()); }
  int64_t counted() const;  // rows that are not ignored

 private:
  std::vector<int32_t> ids_;
};

// The next tokens of a sequence, after `before` earlier ones.
struct Continuation {
  std::span<const int32_t> tokens;
  int64_t before = 0;
};

// The tokens of several sequences, where each begins, and each token's position in its sequence.
class Sequences {
 public:
  Sequences() = default;
  // `first_row` is the index of the first token in the whole batch, when this is one shard of it.
  explicit Sequences(const std::vector<std::vector<int32_t>>& sequences, uint64_t first_row = 0);
  // From tokens that are end to end already.
  Sequences(std::vector<int32_t> ids, Segments segments);
  // New tokens of sequences whose first tokens went through the model earlier: positions continue from there.
  static Sequences continuing(std::span<const Continuation> continuations);
  // From a rectangular batch; only the first lengths[s] tokens of row s are real, and the padding is left out.
  static Sequences without_padding(const std::vector<int32_t>& padded, int64_t row_length,
                                   const std::vector<int64_t>& lengths);

  const Tokens& tokens() const { return tokens_; }
  std::span<const int32_t> sequence(int64_t s) const;
  // Others in the same places.
  void set_tokens(std::vector<int32_t> ids);
  const Segments& segments() const { return segments_; }
  const std::vector<int32_t>& positions() const { return positions_; }
  // The token before each, or kNothingBefore: before the first of a sequence, unless it is said what is there.
  static constexpr int32_t kNothingBefore = -1;
  std::vector<int32_t> previous_tokens() const;
  void set_before_first(std::vector<int32_t> of_sequences);
  // What kind of token each is, for models that tell kinds apart: 0 and 1 for the two texts of a pair.
  const std::vector<int32_t>& types() const { return types_; }
  void set_types(std::vector<int32_t> types);
  int64_t rows() const { return tokens_.size(); }

 private:
  Tokens tokens_;
  Segments segments_;
  std::vector<int32_t> positions_;
  std::vector<int32_t> types_;         // empty: all 0
  std::vector<int32_t> before_first_;  // of each sequence; empty: nothing before any
};

// The two sides of an encoder-decoder, as types that can't be swapped.
class SourceSequences : public Sequences {
 public:
  using Sequences::Sequences;
  explicit SourceSequences(Sequences sequences) : Sequences(std::move(sequences)) {}
};
class TargetSequences : public Sequences {
 public:
  using Sequences::Sequences;
  explicit TargetSequences(Sequences sequences) : Sequences(std::move(sequences)) {}
};

}  // namespace heed
