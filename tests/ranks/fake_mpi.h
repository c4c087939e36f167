// MPI within one process: each rank has a table of its own.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "ranks/mpi/mpi_table.h"

namespace heed {

// Checks that each rank's functions are called by one thread at a time. A rank that nobody runs falls silent.
class FakeMpi {
 public:
  explicit FakeMpi(int count) {
    for (int rank = 0; rank < count; ++rank) {
      ends_.push_back(std::make_unique<End>(*this, rank));
    }
  }

  const HeedMpiTable& table(int rank) { return ends_[static_cast<size_t>(rank)]->table; }
  // From now on, test() fails on that rank.
  void break_test(int rank) { ends_[static_cast<size_t>(rank)]->test_fails = true; }
  // Whether sends stay open on all ranks although their bytes have come.
  void hold_sends(bool held) { sends_are_held_ = held; }
  // Messages that have come to a rank and that it has not received.
  size_t letters(int rank, int tag) {
    const std::lock_guard lock(mutex_);
    const auto& all = ends_[static_cast<size_t>(rank)]->letters;
    return static_cast<size_t>(std::ranges::count(all, tag, &Letter::tag));
  }
  // Receives that have not ended.
  int open_receives() const { return open_receives_; }
  bool was_called_by_two_threads() const { return called_twice_; }

 private:
  static constexpr uint64_t kSmall = 65536;  // what is smaller is never held, so that heartbeats go on

  struct Letter {
    int from = 0, tag = 0;
    std::string bytes;
  };
  struct Request {
    void* memory = nullptr;  // null: done, as a send is at once
    uint64_t size = 0;
    int from = 0, tag = 0;
    bool is_receive = false, is_cancelled = false;
  };
  struct End {
    End(FakeMpi& network, int its_rank) : mpi(network), rank(its_rank) {
      table = {.layout = kHeedMpiLayout,
               .library = "a fake",
               .self = this,
               .start = [](void*) { return 0; },
               .rank = [](void* self) { return of(self).rank; },
               .count = [](void* self) { return static_cast<int>(of(self).mpi.ends_.size()); },
               .largest_tag = [](void*) { return 1 << 20; },
               .send = [](void* self, const void* bytes, uint64_t size, int to, int tag,
                          void** request) { return of(self).send(bytes, size, to, tag, request); },
               .receive = [](void* self, void* bytes, uint64_t size, int from, int tag,
                             void** request) { return of(self).receive(bytes, size, from, tag, request); },
               .test = [](void* self, void** request, int* done) { return of(self).test(request, done); },
               .cancel =
                   [](void*, void** request) {
                     static_cast<Request*>(*request)->is_cancelled = true;
                     return 0;
                   },
               .probe = [](void* self, int from, int tag, int* found, int* source,
                           uint64_t* size) { return of(self).probe(from, tag, found, source, size); },
               .finish = [](void*) { return 0; },
               .abort = [](void*, int) {}};
    }

    static End& of(void* self) { return *static_cast<End*>(self); }

    struct Call {
      explicit Call(End& its_end) : end(its_end) {
        if (end.calls++ > 0) {
          end.mpi.called_twice_ = true;
        }
      }
      ~Call() { --end.calls; }
      Call(const Call&) = delete;
      Call& operator=(const Call&) = delete;
      End& end;
    };

    int send(const void* bytes, uint64_t size, int to, int tag, void** request) {
      const Call call(*this);
      const std::lock_guard lock(mpi.mutex_);
      mpi.ends_[static_cast<size_t>(to)]->letters.push_back({rank, tag, {static_cast<const char*>(bytes), size}});
      *request = &requests.emplace_back(Request{.size = size});
      return 0;
    }
    int receive(void* bytes, uint64_t size, int from, int tag, void** request) {
      const Call call(*this);
      const std::lock_guard lock(mpi.mutex_);
      Request& asked = requests.emplace_back(Request{bytes, size, from, tag, true, false});
      *request = &asked;
      ++mpi.open_receives_;
      match(asked);  // what has arrived is not found by probe() any more
      return 0;
    }
    int test(void** request, int* done) {
      const Call call(*this);
      if (test_fails) {
        return 15;
      }
      const std::lock_guard lock(mpi.mutex_);
      auto& asked = *static_cast<Request*>(*request);
      match(asked);
      const bool is_held = mpi.sends_are_held_ && !asked.is_receive && asked.size > kSmall;
      *done = (asked.memory == nullptr && !is_held) || asked.is_cancelled ? 1 : 0;
      if (*done != 0) {
        mpi.open_receives_ -= asked.is_receive ? 1 : 0;
        requests.remove_if([&](const Request& each) { return &each == &asked; });
      }
      return 0;
    }
    void match(Request& asked) {
      const auto letter = asked.memory != nullptr ? find(asked.from, asked.tag) : letters.end();
      if (letter != letters.end()) {
        std::memcpy(asked.memory, letter->bytes.data(), std::min<uint64_t>(asked.size, letter->bytes.size()));
        asked.memory = nullptr;
        letters.erase(letter);
      }
    }
    int probe(int from, int tag, int* found, int* source, uint64_t* size) {
      const Call call(*this);
      const std::lock_guard lock(mpi.mutex_);
      const auto letter = find(from, tag);
      *found = letter != letters.end() ? 1 : 0;
      if (*found != 0) {
        *source = letter->from;
        *size = letter->bytes.size();
      }
      return 0;
    }
    std::deque<Letter>::iterator find(int from, int tag) {
      return std::find_if(letters.begin(), letters.end(), [&](const Letter& letter) {
        return letter.tag == tag && (from == kHeedMpiAnyRank || letter.from == from);
      });
    }

    FakeMpi& mpi;
    int rank;
    HeedMpiTable table{};
    std::atomic<int> calls{0};
    std::atomic<bool> test_fails{false};
    std::deque<Letter> letters;
    std::list<Request> requests;  // not ended; what a transport leaves open goes with the network
  };

  std::mutex mutex_;
  std::vector<std::unique_ptr<End>> ends_;
  std::atomic<int> open_receives_{0};
  std::atomic<bool> called_twice_{false}, sends_are_held_{false};
};

}  // namespace heed
