#include "kernels/cpu/attention/attention_plan.h"

#include <limits>
#include <numeric>

#include "base/rounding.h"

namespace heed::cpu {
namespace {

// In multiply-adds: tens of microseconds, and a few microseconds.
constexpr int64_t kTaskWork = int64_t{1} << 21;
constexpr int64_t kSmallestTaskWork = int64_t{1} << 18;
// Packing a key costs as much as multiplying it with this many queries.
constexpr int64_t kQueriesPerPackedKey = 8;

int64_t query_ranges_of(int64_t queries, int64_t max_queries) {
  return max_queries == 0 ? 1 : ceil_div(queries, max_queries);
}

enum class Classes : uint8_t { with_queries, all };

// Calls body(class) for the classes of a sequence: those with queries, or all with queries or keys. A few queries are
// in at most as many classes as there are queries.
template <class Body>
void for_each_class(const AttentionSettings& settings, const Segments& queries, const Segments& keys, int64_t sequence,
                    Classes which, const Body& body) {
  const bool all = which == Classes::all;
  const int64_t stride = settings.visibility.stride;
  const int64_t first = all ? 0 : keys.length(sequence) - queries.length(sequence);
  const int64_t count = all ? stride : std::max<int64_t>(1, std::min(stride, queries.length(sequence)));
  for (int64_t i = 0; i < count; ++i) {
    const int64_t residue = ((first + i) % stride + stride) % stride;
    const ResidueClass tokens = class_of(settings, queries, keys, sequence, residue);
    if (tokens.queries > 0 || (all && (tokens.keys > 0 || stride == 1))) {
      body(tokens);
    }
  }
}

}  // namespace

Shares::Shares(Context& context, const AttentionSettings& settings, const Segments& queries, const Segments& keys,
               int64_t head_width, int64_t max_queries)
    : key_value_heads_(settings.key_value_heads), threads_(context.pool.threads()) {
  int64_t count = 0, products = 0;
  const int64_t group = settings.heads / settings.key_value_heads;
  const auto visit = [&](const auto& body) {
    for (int64_t s = 0; s < queries.count(); ++s) {
      for_each_class(settings, queries, keys, s, max_queries == 0 ? Classes::all : Classes::with_queries,
                     [&](const ResidueClass& tokens) { body(s, tokens); });
    }
  };
  visit([&](int64_t, const ResidueClass& tokens) {
    const int64_t parts = query_ranges_of(tokens.queries, max_queries);
    count += parts;
    products += (tokens.queries * group + parts * kQueriesPerPackedKey) * tokens.keys;
  });
  QueryRange* const query_ranges = context.shared_scratch.reserve<QueryRange>(count);
  QueryRange* next = query_ranges;
  int64_t weights = 0, sequence = 0;
  visit([&](int64_t s, const ResidueClass& tokens) {
    for (; sequence < s; ++sequence) {
      weights += queries.length(sequence) * keys.length(sequence) * settings.heads;
    }
    for (int64_t part = query_ranges_of(tokens.queries, max_queries) - 1; part >= 0; --part) {
      const int64_t first = part * max_queries;
      const int64_t size = max_queries == 0 ? tokens.queries : std::min(max_queries, tokens.queries - first);
      *next++ = {s, tokens.residue, first, size, weights};
    }
  });
  query_ranges_ = query_ranges;
  count_ = count * key_value_heads_;
  per_task_ = shares_of_task(std::max<int64_t>(1, 2 * head_width * products / std::max<int64_t>(1, count)),
                             max_queries > 0 && max_queries * group <= kFewRows ? RowCount::few : RowCount::many);
}

// `work`: of one key-value head of a range of queries. Several tasks per thread, unless there is hardly anything to do.
// With few rows the heads stay together where that leaves enough tasks, since whole rows of keys and values are read
// fastest.
int64_t Shares::shares_of_task(int64_t work, RowCount rows) const {
  const int64_t for_balance = count_ / (4 * threads_), query_ranges = count_ / key_value_heads_;
  int64_t shares = std::max({int64_t{1}, kSmallestTaskWork / work, std::min(kTaskWork / work, for_balance)});
  if (rows == RowCount::few) {
    const bool whole = query_ranges % threads_ == 0 || query_ranges >= 4 * threads_;
    shares = std::max(shares, whole ? key_value_heads_ : ceil_div(key_value_heads_, 2 * threads_));
  }
  return shares > key_value_heads_ ? shares - shares % key_value_heads_
                                   : shares;  // whole ranges of queries, which one core reads
}

bool Shares::pool_begins_with(int64_t task) const {
  const int64_t worker = ((task + 1) * threads_ - 1) / tasks();  // of whose share it is
  return task == ThreadPool::first_task(tasks(), worker, threads_);
}

void list_rows(const ConstKeyValueView& memory, const TokenRange& tokens, int64_t* rows) {
  if (tokens.step > 1) {
    for (int64_t i = 0; i < tokens.count; ++i) {
      rows[i] = memory.row(tokens.sequence, tokens.first + i * tokens.step);
    }
    return;
  }
  if (!memory.paged()) {
    std::iota(rows, rows + tokens.count, memory.segments->begin(tokens.sequence) + tokens.first);
    return;
  }
  const int32_t* const pages = host<int32_t>(memory.table.pages).row(tokens.sequence);
  const int64_t page_tokens = memory.table.page_tokens;
  for (int64_t token = tokens.first, end = tokens.first + tokens.count; token < end;) {
    const int64_t page = token / page_tokens;
    const int64_t page_end = std::min(end, (page + 1) * page_tokens);
    for (int64_t row = pages[page] * page_tokens + token % page_tokens; token < page_end; ++token, ++row) {
      *rows++ = row;
    }
  }
}

void QueryRows::list(const AttentionSettings& settings, const Segments& queries, const Segments& keys,
                     const QueryRange& query_range) {
  const int64_t s = query_range.sequence;
  const ResidueClass tokens = class_of(settings, queries, keys, s, query_range.residue);
  const Visibility visibility = settings.visibility.within_class();
  heads_ = settings.heads / settings.key_value_heads;
  query_count_ = query_range.queries;
  stride_ = tokens.stride;
  first_query_row_ = queries.begin(s) + tokens.first_query + query_range.first_query * stride_;
  first_position_ = tokens.first_position + query_range.first_query;
  key_count_ = tokens.keys;
  for (int64_t i = 0; i < query_count_; ++i) {
    const int64_t query = query_range.first_query + i, position = first_position_ + i;
    const uint64_t* const mask =
        settings.mask == nullptr ? nullptr : settings.mask->row(s, tokens.first_query + query * stride_);
    queries_[i] = {visibility.range(position, position, key_count_), mask, tokens.residue, stride_};
  }
  sum_up();
}

void QueryRows::sum_up() {
  constexpr int64_t kNever = std::numeric_limits<int64_t>::max();
  seen_ = {kNever, 0};
  for (int64_t first = 0; first < rows(); first += kRowGroup) {
    Sight sight{{kNever, 0}, {0, kNever}};
    for (int64_t r = first; r < std::min(rows(), first + kRowGroup); ++r) {
      const Query& query = query_of(r);
      sight.any = {std::min(sight.any.begin, query.seen.begin), std::max(sight.any.end, query.seen.end)};
      sight.all = {std::max(sight.all.begin, query.seen.begin), std::min(sight.all.end, query.seen.end)};
      if (query.mask_words != nullptr) {
        sight.all = {0, 0};
      }
    }
    sights_[first / kRowGroup] = sight;
    seen_ = {std::min(seen_.begin, sight.any.begin), std::max(seen_.end, sight.any.end)};
  }
  seen_.begin = std::min(seen_.begin, seen_.end);
}

}  // namespace heed::cpu
