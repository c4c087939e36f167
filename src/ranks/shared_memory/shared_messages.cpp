#include "ranks/shared_memory/shared_messages.h"

#include <algorithm>

#include "base/errors.h"
#include "ranks/machine.h"

namespace heed {
namespace {

constexpr char kMapped = '+', kNotMapped = '-';

// Slots of a ring, by how many other ranks are on the machine.
int slots_for(size_t others) { return std::clamp(64 / static_cast<int>(others), 2, 16); }

}  // namespace

// Everybody says where it is, then opens a file for the others, then maps theirs.
std::unique_ptr<SharedMessages> SharedMessages::connect(const Ranks& job, MemorySharing sharing) {
  const std::string name = sharing == MemorySharing::on ? machine_name() : "";
  const std::vector<int> ranks = ranks_of_machine(job.all_texts(name), job.rank());
  const auto index_of = [&](int rank) { return static_cast<int>(std::ranges::find(ranks, rank) - ranks.begin()); };
  const int slots = ranks.size() < 2 ? 0 : slots_for(ranks.size() - 1);
  std::optional<SharedFile> own;
  if (ranks.size() > 1) {
    own = SharedFile::create(ranks.size() * SharedSection::bytes(slots));
  }
  const std::vector<std::string> addresses = job.all_texts(own ? own->address() : "");
  std::unique_ptr<SharedMessages> messages(new SharedMessages);
  std::string mapped(static_cast<size_t>(job.count()), kNotMapped);
  for (const int rank : ranks) {
    const std::optional<SharedFile> file =
        rank == job.rank() ? std::nullopt : SharedFile::open(addresses[static_cast<size_t>(rank)]);
    std::optional<SharedSection> section = file ? SharedSection::map(*file, index_of(job.rank()), slots) : std::nullopt;
    if (section) {
      messages->incoming_.emplace(rank, std::move(*section));
      mapped[static_cast<size_t>(rank)] = kMapped;
    }
  }
  const std::vector<std::string> all_mapped = job.all_texts(mapped);
  for (const int rank : ranks) {
    if (all_mapped[static_cast<size_t>(rank)][static_cast<size_t>(job.rank())] == kMapped) {
      std::optional<SharedSection> section = SharedSection::map(*own, index_of(rank), slots);
      require<RankError>(section.has_value(), "ranks", "no memory to share with rank {}", rank);
      messages->outgoing_.emplace(rank, std::move(*section));
    }
  }
  return messages->outgoing_.empty() && messages->incoming_.empty() ? nullptr : std::move(messages);
}

SharedMessages::Queue& SharedMessages::queue_of(const Message& message) {
  return (message.is_received() ? receiving_ : sending_)[{message.rank, message.tag}];
}

void SharedMessages::begin(Message& message) {
  Queue& queue = queue_of(message);
  require<RankError>(!queue.is_broken, "ranks", "a message between ranks was given up halfway");
  if (!queue.ring && !message.is_received()) {
    queue.ring = outgoing_.at(message.rank).make_ring(message.tag);
    require<RankError>(queue.ring.has_value(), "ranks", "more than {} kinds of messages to rank {}",
                       SharedSection::kRings, message.rank);
  }
  queue.open.push_back(&message);
  advance(queue);
}

void SharedMessages::advance() {
  for (Queues* const queues : {&sending_, &receiving_}) {
    for (auto& [whom, queue] : *queues) {
      advance(queue);
    }
  }
}

void SharedMessages::advance(Queue& queue) {
  while (!queue.open.empty()) {
    Message& first = *queue.open.front();
    if (!queue.ring && !(queue.ring = incoming_.at(first.rank).find_ring(first.tag))) {
      return;
    }
    queue.done += first.is_received() ? queue.ring->take(first.received.subspan(queue.done))
                                      : queue.ring->put(first.sent.subspan(queue.done));
    if (queue.done < first.sent.size() + first.received.size()) {
      return;
    }
    first.has_ended = true;
    queue.open.pop_front();
    queue.done = 0;
  }
}

void SharedMessages::abandon(Message& message) {
  Queue& queue = queue_of(message);
  if (!queue.open.empty() && queue.open.front() == &message && queue.done > 0) {
    queue.is_broken = true;
    queue.open.clear();
  }
  std::erase(queue.open, &message);
}

}  // namespace heed
