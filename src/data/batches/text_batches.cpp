#include "data/batches/text_batches.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "base/errors.h"
#include "base/text/plural.h"
#include "data/batches/permutation.h"
#include "data/lines/origins.h"

namespace heed {

// Each document has one row less than it has tokens.
int64_t TextRows::first_row(int64_t document) const { return corpus_.store().begin(document) - document; }

int64_t TextRows::size() const {
  const int64_t missing = borders_ == DocumentBorders::kept ? corpus_.documents() : 1;
  return corpus_.tokens() - missing;
}

int64_t TextRows::row_of(int64_t token) const {
  return borders_ == DocumentBorders::kept ? token - corpus_.document_of(token) : token;
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
  require<ConfigError>(growth.empty() || order == TextOrder::windows, "batches",
                       "only windows can grow: a packed text is cut into sequences of one length");
  int64_t begin = 0;
  for (const auto& [until, size] : growth) {
    require<ConfigError>(until > begin, "batches",
                         "growth has a size until update {}, but the one before it lasts until {}: name later updates",
                         until, begin);
    require<ConfigError>(size.context >= 1 && size.context <= context, "batches",
                         "growth has a context of {}, expected 1 to the last one of {}", size.context, context);
    require<ConfigError>(size.sequences >= 1 && size.sequences <= INT32_MAX, "batches",
                         "growth has {} sequences, expected 1 to {}", size.sequences, INT32_MAX);
    require<ConfigError>(size.sequences * size.context <= sequences * context, "batches",
                         "growth has {} windows of {} tokens, which are more tokens than the last {} of {}",
                         size.sequences, size.context, sequences, context);
    begin = until;
  }
}

TextBatchSize TextBatchRules::size_at(int64_t update) const {
  const auto stage = std::ranges::upper_bound(growth, update, {}, &TextBatchGrowth::until);
  return stage == growth.end() ? TextBatchSize{sequences, context} : stage->size;
}

TextBatches::TextBatches(int64_t rows, const TextBatchRules& rules, uint64_t seed, uint64_t data,
                         const std::vector<WeightedRows>& sources)
    : rows_(rows), rules_(rules), key_(RandomKey{seed}.derive("text batches")) {
  rules.validate();
  require<ConfigError>(rows >= rules.context, "the training text",
                       "{} tokens to be predicted, fewer than the context of {}", rows, rules.context);
  sequences_ = (rows - 1) / rules.context + 1;
  divide(sources);
  batches_ = (sequences_ - 1) / rules.sequences + 1;
  RandomKey stream = key_.derive(data);
  for (const int64_t number : {rows, rules.context, rules.sequences, static_cast<int64_t>(rules.order)}) {
    stream = stream.derive(static_cast<uint64_t>(number));
  }
  for (const auto& [until, size] : rules.growth) {
    for (const int64_t number : {until, size.sequences, size.context}) {
      stream = stream.derive(static_cast<uint64_t>(number));
    }
  }
  for (const WeightedRows& source : sources) {
    stream = stream.derive(static_cast<uint64_t>(source.end)).derive(std::bit_cast<uint64_t>(source.weight));
  }
  position_.stream = stream.bits;
}

void TextBatches::divide(const std::vector<WeightedRows>& sources) {
  double weights = 0.0, before = 0.0;
  int64_t all = 0;
  for (const WeightedRows& rows : sources) {
    if (rows.weight > 0.0) {
      const int64_t least = rules_.order == TextOrder::windows ? rules_.context : 1, count = rows.end - rows.begin;
      require<ConfigError>(count >= least, rows.name,
                           "{} token{} to be predicted, but with a weight (data.weights) at least {} must be there",
                           count, plural(count), least);
      sources_.push_back({.rows = rows, .sequences = (count - 1) / rules_.context + 1});
      weights += rows.weight;
      all += sources_.back().sequences;
    }
  }
  int64_t turn = 0;
  for (Source& source : sources_) {
    before += source.rows.weight;
    source.first_turn = turn;
    turn = &source == &sources_.back() ? all : std::llround(static_cast<double>(all) * (before / weights));
    source.end_turn = turn;
    require<ConfigError>(
        source.end_turn > source.first_turn, source.rows.name,
        "with the weight {} (data.weights) it gets none of an epoch's {} sequences: give it more, or 0",
        source.rows.weight, all);
  }
  sequences_ = sources_.empty() ? sequences_ : all;
}

const TextBatches::Source& TextBatches::source_at(int64_t turn) const {
  return *std::ranges::upper_bound(sources_, turn, {}, &Source::end_turn);
}

// Epochs go on counting a source's sequences, and each pass over them has an order of its own.
RowRange TextBatches::sequence_at(int64_t turn) const {
  const Source& source = source_at(turn);
  const int64_t number = position_.epoch * (source.end_turn - source.first_turn) + turn - source.first_turn;
  const RandomKey pass = key_.derive("source")
                             .derive(static_cast<uint64_t>(source.rows.begin))
                             .derive(static_cast<uint64_t>(number / source.sequences));
  const int64_t begin =
      source.rows.begin + Permutation(pass, source.sequences)(number % source.sequences) * rules_.context;
  return {begin, std::min(begin + rules_.context, source.rows.end)};
}

std::vector<RowRange> TextBatches::next(int64_t update) {
  std::vector<RowRange> batch = rules_.order == TextOrder::packed ? packed() : windows(rules_.size_at(update));
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
    batch.push_back(sources_.empty() ? RowRange{begin, std::min(begin + rules_.context, rows_)}
                                     : sequence_at(permuted(turn)));
  }
  return batch;
}

std::vector<RowRange> TextBatches::windows(const TextBatchSize& size) const {
  const RandomKey key = key_.derive("windows")
                            .derive(static_cast<uint64_t>(position_.epoch))
                            .derive(static_cast<uint64_t>(position_.batch));
  const RandomKey choice = key.derive("source");
  const WeightedRows whole{.begin = 0, .end = rows_};
  std::vector<RowRange> batch;
  for (int64_t i = 0; i < size.sequences; ++i) {
    const double turn = uniform_draw(choice, static_cast<uint64_t>(i)) * static_cast<double>(sequences_);
    const WeightedRows& rows = sources_.empty() ? whole : source_at(static_cast<int64_t>(turn)).rows;
    const int64_t starts = rows.end - rows.begin - size.context + 1;
    const double draw = uniform_draw(key, static_cast<uint64_t>(i));
    const auto begin = rows.begin + static_cast<int64_t>(draw * static_cast<double>(starts));
    batch.push_back({begin, begin + size.context});
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
