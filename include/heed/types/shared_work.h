// Work that is done chunk by chunk, by whichever rank of a job is free.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "heed/types/message.h"

namespace heed {

template <class Chunk, class Results>
struct SharedWork {
  // On the first rank, one call at a time: the next chunk, until there is none.
  std::function<std::optional<Chunk>()> next;
  // On any rank: a chunk's results.
  std::function<Results(const Chunk& chunk)> work;
  // On the first rank, one call at a time: the results, in the order of the chunks.
  std::function<void(const Results& results)> take;
};

// Chunks and results as they go between processes.
using MessageWork = SharedWork<std::string, std::string>;

// What a process does that is alone.
template <class Chunk, class Results>
void work_alone(const SharedWork<Chunk, Results>& work) {
  while (const std::optional<Chunk> chunk = work.next()) {
    work.take(work.work(*chunk));
  }
}

// `work`, whose chunks and results can be sent (heed/message.h), must outlive it.
template <class Chunk, class Results>
MessageWork as_messages(const SharedWork<Chunk, Results>& work) {
  return {.next = [&work]() -> std::optional<std::string> {
            const std::optional<Chunk> chunk = work.next();
            return chunk ? std::optional(message_of(*chunk)) : std::nullopt;
          },
          .work = [&work](const std::string& chunk) { return message_of(work.work(value_of_message<Chunk>(chunk))); },
          .take = [&work](const std::string& results) { work.take(value_of_message<Results>(results)); }};
}

}  // namespace heed
