#include "tensor/sequences.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"

namespace heed {

int64_t Targets::counted() const {
  return std::ranges::count_if(ids_, [](int32_t id) { return id >= 0; });
}

Sequences::Sequences(const std::vector<std::vector<int32_t>>& sequences, uint64_t first_row) {
  std::vector<int32_t> ids;
  std::vector<int64_t> lengths;
  for (const std::vector<int32_t>& sequence : sequences) {
    lengths.push_back(static_cast<int64_t>(sequence.size()));
    for (size_t position = 0; position < sequence.size(); ++position) {
      ids.push_back(sequence[position]);
      positions_.push_back(static_cast<int32_t>(position));
    }
  }
  tokens_ = Tokens(std::move(ids));
  segments_ = Segments(lengths, first_row);
}

Sequences::Sequences(std::vector<int32_t> ids, Segments segments)
    : tokens_(std::move(ids)), segments_(std::move(segments)) {
  require(tokens_.size() == segments_.rows(), "sequences", "{} tokens in segments of {}", tokens_.size(),
          segments_.rows());
  for (int64_t s = 0; s < segments_.count(); ++s) {
    for (int64_t position = 0; position < segments_.length(s); ++position) {
      positions_.push_back(static_cast<int32_t>(position));
    }
  }
}

Sequences Sequences::continuing(std::span<const Continuation> continuations) {
  Sequences sequences;
  std::vector<int32_t> ids;
  std::vector<int64_t> lengths;
  for (const auto& [tokens, before] : continuations) {
    ids.insert(ids.end(), tokens.begin(), tokens.end());
    lengths.push_back(static_cast<int64_t>(tokens.size()));
    for (size_t i = 0; i < tokens.size(); ++i) {
      sequences.positions_.push_back(static_cast<int32_t>(before + static_cast<int64_t>(i)));
    }
  }
  sequences.tokens_ = Tokens(std::move(ids));
  sequences.segments_ = Segments(lengths);
  return sequences;
}

Sequences Sequences::without_padding(const std::vector<int32_t>& padded, int64_t row_length,
                                     const std::vector<int64_t>& lengths) {
  require(static_cast<int64_t>(padded.size()) == row_length * static_cast<int64_t>(lengths.size()), "padded batch",
          "{} tokens for {} rows of {}", padded.size(), lengths.size(), row_length);
  std::vector<std::vector<int32_t>> sequences;
  for (size_t s = 0; s < lengths.size(); ++s) {
    require(lengths[s] >= 0 && lengths[s] <= row_length, "padded batch", "row {}: {} real tokens of {}", s, lengths[s],
            row_length);
    const auto begin = padded.begin() + static_cast<int64_t>(s) * row_length;
    sequences.emplace_back(begin, begin + lengths[s]);
  }
  return Sequences(sequences);
}

std::span<const int32_t> Sequences::sequence(int64_t s) const {
  return tokens_.ids().subspan(static_cast<size_t>(segments_.begin(s)), static_cast<size_t>(segments_.length(s)));
}

std::vector<int32_t> Sequences::previous_tokens() const {
  std::vector<int32_t> previous(static_cast<size_t>(rows()));
  for (int64_t s = 0; s < segments_.count(); ++s) {
    int32_t last = before_first_.empty() ? kNothingBefore : before_first_[static_cast<size_t>(s)];
    for (int64_t row = segments_.begin(s); row < segments_.end(s); ++row) {
      previous[static_cast<size_t>(row)] = std::exchange(last, tokens_.ids()[static_cast<size_t>(row)]);
    }
  }
  return previous;
}

void Sequences::set_before_first(std::vector<int32_t> of_sequences) {
  require(std::ssize(of_sequences) == segments_.count(), "sequences", "{} tokens before {} sequences",
          of_sequences.size(), segments_.count());
  before_first_ = std::move(of_sequences);
}

void Sequences::set_tokens(std::vector<int32_t> ids) {
  require(static_cast<int64_t>(ids.size()) == rows(), "sequences", "{} tokens in place of {}", ids.size(), rows());
  tokens_ = Tokens(std::move(ids));
}

void Sequences::set_types(std::vector<int32_t> types) {
  require(static_cast<int64_t>(types.size()) == rows(), "sequences", "{} types of {} tokens", types.size(), rows());
  types_ = std::move(types);
}

}  // namespace heed
