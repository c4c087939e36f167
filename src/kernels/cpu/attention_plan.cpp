#include "kernels/cpu/attention_plan.h"

#include <limits>
#include <numeric>

namespace heed::cpu {
namespace {

// In multiply-adds: tens of microseconds, and a few microseconds.
constexpr int64_t kTaskWork = int64_t{1} << 21;
constexpr int64_t kSmallestTask = int64_t{1} << 18;
// Packing a key costs as much as multiplying it with this many queries.
constexpr int64_t kQueriesPerPackedKey = 8;

int64_t pieces_of(int64_t queries, int64_t max_queries) {
  return max_queries == 0 ? 1 : (queries + max_queries - 1) / max_queries;
}

}  // namespace

Shares::Shares(Context& context, const AttentionSettings& settings, const Segments& queries, const Segments& keys,
               int64_t head_width, int64_t max_queries)
    : key_value_heads_(settings.key_value_heads), threads_(context.pool.threads()) {
  int64_t count = 0, products = 0;
  const int64_t group = settings.heads / settings.key_value_heads;
  for (int64_t s = 0; s < queries.count(); ++s) {
    const int64_t parts = pieces_of(queries.length(s), max_queries);
    count += parts;
    products += (queries.length(s) * group + parts * kQueriesPerPackedKey) * keys.length(s);
  }
  Piece* const pieces = context.shared_scratch.reserve<Piece>(count);
  Piece* next = pieces;
  int64_t weights = 0;
  for (int64_t s = 0; s < queries.count(); ++s) {
    const int64_t length = queries.length(s), parts = pieces_of(length, max_queries);
    for (int64_t part = parts - 1; part >= 0; --part) {
      const int64_t first = part * max_queries;
      *next++ = {s, first, max_queries == 0 ? length : std::min(max_queries, length - first), weights};
    }
    weights += length * keys.length(s) * settings.heads;
  }
  pieces_ = pieces;
  count_ = count * key_value_heads_;
  // Several tasks per thread, unless there is hardly anything to do.
  const int64_t work = std::max<int64_t>(1, 2 * head_width * products / std::max<int64_t>(1, count));
  const int64_t for_balance = count_ / (4 * context.pool.threads());
  per_task_ = std::max({int64_t{1}, kSmallestTask / work, std::min(kTaskWork / work, for_balance)});
  if (per_task_ > key_value_heads_) {
    per_task_ -= per_task_ % key_value_heads_;  // whole pieces, whose rows one core then reads
  }
}

bool Shares::pool_begins_with(int64_t task) const {
  const int64_t worker = ((task + 1) * threads_ - 1) / tasks();  // of whose share it is
  return task == ThreadPool::first_task(tasks(), worker, threads_);
}

void list_rows(const KeyValueView& memory, const TokenRange& tokens, int64_t* rows) {
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

void PieceRows::list(const AttentionSettings& settings, const Segments& queries, const Segments& keys,
                     const Piece& piece) {
  const int64_t s = piece.sequence;
  heads_ = settings.heads / settings.key_value_heads;
  query_count_ = piece.queries;
  first_query_row_ = queries.begin(s) + piece.first_query;
  key_count_ = keys.length(s);
  first_position_ = key_count_ - queries.length(s) + piece.first_query;
  for (int64_t i = 0; i < query_count_; ++i) {
    const int64_t query = piece.first_query + i;
    const int64_t position = first_position_ + i;
    queries_[i] = {settings.visibility.range(position, position, key_count_),
                   settings.mask == nullptr ? nullptr : settings.mask->row(s, query)};
  }
  sum_up();
}

void PieceRows::sum_up() {
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
