// Processing lines on all threads, a chunk at a time; and on several ranks, where all read the same text.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/rounding.h"
#include "base/system/threads.h"
#include "ranks/ranks.h"
#include "text/vocabulary/vocabulary.h"

namespace heed {

// Enough to keep the threads of a rank busy, and little enough for memory.
constexpr size_t kChunkLines = 16'384;
constexpr size_t kChunkBytes = 8 << 20;

// Calls use(line) for each line of a chunk, on all threads of the pool.
template <class Line, class Use>
void for_each_of_chunk(ThreadPool& pool, std::span<Line> chunk, Use&& use) {
  constexpr size_t kTaskLines = 64;
  const size_t tasks = ceil_div(chunk.size(), kTaskLines);
  pool.run(static_cast<int64_t>(tasks), [&](int64_t task, int) {
    const size_t begin = static_cast<size_t>(task) * kTaskLines;
    for (size_t i = begin; i < std::min(chunk.size(), begin + kTaskLines); ++i) {
      use(chunk[i]);
    }
  });
}

// The threads that encode lines: of this process, and of the other ranks that read the same text.
struct LineWorkers {
  LineWorkers(ThreadPool& threads, Ranks sharing = Ranks()) : pool(threads), ranks(std::move(sharing)) {}
  bool has_enough(size_t lines, size_t bytes) const {
    const auto count = static_cast<size_t>(ranks.count());
    return lines >= count * kChunkLines || bytes >= count * kChunkBytes;
  }

  ThreadPool& pool;
  Ranks ranks;  // all of them have the same chunks
};

// What one rank tells the others about its lines: lists of tokens, end to end.
std::string pack_tokens(std::span<const std::vector<TokenId>> lists);
// Takes as many lists from the front of `bytes`.
void unpack_tokens(std::string_view& bytes, std::span<std::vector<TokenId>> lists);

// Calls encode(line) once for each line, on all threads of all ranks. Afterwards every rank has the lists tokens(line)
// of every line.
template <class Line, class Encode, class Tokens>
void encode_chunk(const LineWorkers& workers, std::vector<Line>& chunk, Encode&& encode, Tokens&& tokens) {
  const auto count = static_cast<size_t>(workers.ranks.count());
  const auto part = [&](size_t rank) {
    const size_t begin = chunk.size() * rank / count;
    return std::span(chunk).subspan(begin, chunk.size() * (rank + 1) / count - begin);
  };
  const auto own = static_cast<size_t>(workers.ranks.rank());
  for_each_of_chunk(workers.pool, part(own), encode);
  if (workers.ranks.is_alone()) {
    return;
  }
  std::string message;
  for (Line& line : part(own)) {
    message += pack_tokens(tokens(line));
  }
  const std::vector<std::string> all = workers.ranks.all_texts(message);
  for (size_t rank = 0; rank < count; ++rank) {
    std::string_view rest = all[rank];
    for (size_t i = 0; rank != own && i < part(rank).size(); ++i) {
      unpack_tokens(rest, tokens(part(rank)[i]));
    }
  }
}

}  // namespace heed
