#include "data/batches/text_batches.h"

#include <algorithm>

#include "base/errors.h"
#include "data/batches/permutation.h"
#include "data/lines/origins.h"

namespace heed {

// Each document has one row less than it has tokens.
int64_t TextRows::first_row(int64_t document) const { return corpus_.store().begin(document) - document; }

int64_t TextRows::size() const {
  const int64_t missing = borders_ == DocumentBorders::kept ? corpus_.documents() : 1;
  return corpus_.tokens() - missing;
}

// The last document that begins at the row or before it. A document of one token has no row, and is never the result.
int64_t TextRows::document_at(int64_t row) const {
  int64_t low = 0, high = corpus_.documents() - 1;
  while (low < high) {
    const int64_t middle = low + (high - low + 1) / 2;
    if (first_row(middle) <= row) {
      low = middle;
    } else {
      high = middle - 1;
    }
  }
  return low;
}

TokenBatch TextRows::read(std::span<const RowRange> ranges, uint64_t first_row) const {
  std::vector<int32_t> ids, expected;
  std::vector<int64_t> lengths;
  // Tokens [begin, end), and the expected ones, shifted by one.
  const auto append = [&](int64_t begin, int64_t end) {
    corpus_.store().read_between(begin, end, ids);
    corpus_.store().read_between(begin + 1, end + 1, expected);
    lengths.push_back(end - begin);
  };
  for (const RowRange& range : ranges) {
    ensure(0 <= range.begin && range.begin < range.end && range.end <= size(), "text", "rows {} to {} of {}",
           range.begin, range.end, size());
    if (borders_ == DocumentBorders::crossed) {
      append(range.begin, range.end);
      const auto first = std::ssize(expected) - (range.end - range.begin);
      for (int64_t d = corpus_.document_of(range.begin); corpus_.store().end(d) <= range.end; ++d) {
        expected[static_cast<size_t>(first + corpus_.store().end(d) - 1 - range.begin)] = Targets::kIgnored;
      }
      continue;
    }
    int64_t document = document_at(range.begin);
    for (int64_t row = range.begin; row < range.end; ++document) {
      const int64_t end = std::min(range.end, corpus_.store().end(document) - 1 - document);
      if (end > row) {
        append(row + document, end + document);
        row = end;
      }
    }
  }
  return {Sequences(std::move(ids), Segments(lengths, first_row)), Targets(std::move(expected))};
}

std::string TextRows::where(RowRange range) const {
  const auto token = [&](int64_t row) { return borders_ == DocumentBorders::crossed ? row : row + document_at(row); };
  std::string first = corpus_.where(token(range.begin)), last = corpus_.where(token(range.end - 1));
  if (first == last) {
    return first;
  }
  // Does not repeat the file.
  const size_t colon = first.rfind(':') + 1;
  const bool same = colon == last.rfind(':') + 1 && first.compare(0, colon, last, 0, colon) == 0;
  return fmt::format("{} to {}", first, same ? last.substr(colon) : last);
}

std::string TextRows::describe(std::span<const RowRange> ranges) const {
  return first_origins(ranges, [&](const RowRange& range) { return where(range); });
}

std::string TextRows::list(std::span<const RowRange> ranges) const {
  return all_origins(ranges, [&](const RowRange& range) { return where(range); });
}

void TextBatchRules::validate() const {
  require<ConfigError>(context >= 1 && context <= INT32_MAX, "batches", "a context of {} tokens, expected 1 to {}",
                       context, INT32_MAX);
  require<ConfigError>(sequences >= 1 && sequences <= INT32_MAX, "batches", "of {} sequences, expected 1 to {}",
                       sequences, INT32_MAX);
}

TextBatches::TextBatches(int64_t rows, const TextBatchRules& rules, uint64_t seed, uint64_t data)
    : rows_(rows), rules_(rules), key_(RandomKey{seed}.derive("text batches")) {
  rules.validate();
  require<ConfigError>(rows >= rules.context, "the training text",
                       "{} tokens to be predicted, fewer than the context of {}", rows, rules.context);
  sequences_ = (rows - 1) / rules.context + 1;
  batches_ = (sequences_ - 1) / rules.sequences + 1;
  RandomKey stream = key_.derive(data);
  for (const int64_t number : {rows, rules.context, rules.sequences, static_cast<int64_t>(rules.order)}) {
    stream = stream.derive(static_cast<uint64_t>(number));
  }
  position_.stream = stream.bits;
}

std::vector<RowRange> TextBatches::next() {
  std::vector<RowRange> batch = rules_.order == TextOrder::packed ? packed() : windows();
  if (++position_.batch == batches_) {
    position_.batch = 0;
    ++position_.epoch;
  }
  return batch;
}

std::vector<RowRange> TextBatches::packed() const {
  const Permutation permuted(key_.derive("order").derive(static_cast<uint64_t>(position_.epoch)), sequences_);
  std::vector<RowRange> batch;
  const int64_t first = position_.batch * rules_.sequences;
  for (int64_t turn = first; turn < std::min(first + rules_.sequences, sequences_); ++turn) {
    const int64_t begin = permuted(turn) * rules_.context;
    batch.push_back({begin, std::min(begin + rules_.context, rows_)});
  }
  return batch;
}

std::vector<RowRange> TextBatches::windows() const {
  const RandomKey key = key_.derive("windows")
                            .derive(static_cast<uint64_t>(position_.epoch))
                            .derive(static_cast<uint64_t>(position_.batch));
  const int64_t starts = rows_ - rules_.context + 1;
  std::vector<RowRange> batch;
  for (int64_t i = 0; i < rules_.sequences; ++i) {
    const double draw = uniform_draw(key, static_cast<uint64_t>(i));
    const auto begin = static_cast<int64_t>(draw * static_cast<double>(starts));
    batch.push_back({begin, begin + rules_.context});
  }
  return batch;
}

void TextBatches::seek(const BatchPosition& position) {
  require<ConfigError>(position.stream == position_.stream, "batches",
                       "the position belongs to another text, seed or batch size");
  const bool inside = position.epoch >= 0 && position.pool == 0 && position.batch >= 0 && position.batch < batches_;
  require<ConfigError>(inside, "batches", "there is no epoch {}, pool {}, batch {}", position.epoch, position.pool,
                       position.batch);
  position_ = position;
}

}  // namespace heed
