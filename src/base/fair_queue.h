// A queue of calls that take turns.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <list>
#include <map>

#include "heed/types/sharing.h"

namespace heed {

// Higher priorities first; within one, clients in turn; of a client, its calls in turn. A client that had nothing here
// comes after those that have. Only add() needs memory, and changes nothing where there is none. Not thread-safe.
template <class Call>
class FairQueue {
 public:
  bool empty() const { return clients_.empty(); }

  // The call must stay where it is until it has left.
  void add(Call& call, const Sharing& sharing) {
    std::list<Client> added(1, {.number = sharing.client, .calls = {&call}});
    std::list<Client>& clients = clients_[sharing.priority];
    const auto known = std::ranges::find(clients, sharing.client, &Client::number);
    if (known == clients.end()) {
      clients.splice(known, added);
    } else {
      known->calls.splice(known->calls.end(), added.front().calls);
    }
  }

  // Whose turn it is; there must be one.
  Call& next() const { return *clients_.begin()->second.front().calls.front(); }

  // What becomes of a call after its turn: it waits for another one, or leaves.
  enum class After : uint8_t { waits, leaves };
  void end_turn(After after) {
    std::list<Client>& clients = clients_.begin()->second;
    std::list<Call*>& calls = clients.front().calls;
    if (after == After::waits) {
      calls.splice(calls.end(), calls, calls.begin());
    } else {
      calls.pop_front();
    }
    if (!calls.empty()) {
      clients.splice(clients.end(), clients, clients.begin());
    } else {
      clients.pop_front();
    }
    if (clients.empty()) {
      clients_.erase(clients_.begin());
    }
  }

  // Removes the calls for which leaves(call) says so, which sees each once.
  template <class Leaves>
  void remove_if(const Leaves& leaves) {
    for (auto& [priority, clients] : clients_) {
      for (Client& client : clients) {
        std::erase_if(client.calls, [&](Call* call) { return leaves(*call); });
      }
      std::erase_if(clients, [](const Client& client) { return client.calls.empty(); });
    }
    std::erase_if(clients_, [](const auto& of_priority) { return of_priority.second.empty(); });
  }

 private:
  struct Client {
    uint64_t number;
    std::list<Call*> calls;
  };

  std::map<int, std::list<Client>, std::greater<>> clients_;  // of each priority that has calls
};

}  // namespace heed
