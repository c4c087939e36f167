// What searches say while other threads take their steps, handed to one thread.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <vector>

#include "decode/scheduling/scheduler.h"
#include "decode/search/search.h"

namespace heed {

struct SearchEvent {
  size_t search;         // its number
  Hypothesis grown;      // what was added to its only hypothesis: tokens, and their log-probabilities
  BeamSteps steps = {};  // or what it has considered
  std::optional<std::vector<Hypothesis>> results = {};  // it has ended
};

class SearchEvents {
 public:
  // Whether each token is an event, or only the end of a search.
  enum class Growth : uint8_t { told, left_out };
  explicit SearchEvents(Growth growth) : growth_(growth) {}
  ~SearchEvents();
  SearchEvents(const SearchEvents&) = delete;
  SearchEvents& operator=(const SearchEvents&) = delete;

  // The listener of a search with this number, for as long as this lives.
  SearchListener& listener(size_t search);

  // How they are run; see Scheduler::run().
  struct Terms {
    const Interruption& interruption;
    const Sharing& sharing;
  };
  // Runs searches that have such listeners, and calls take(event) meanwhile, on this thread: the events of a search in
  // their order. When take() throws, the searches are stopped. Throws as Scheduler::run() does.
  void run(Scheduler& scheduler, std::span<Request* const> searches, const Terms& terms,
           const std::function<void(SearchEvent&& event)>& take);

 private:
  class Listener;

  void push(SearchEvent event);
  std::optional<SearchEvent> next();  // waits; none: all searches have ended

  Growth growth_;
  std::deque<Listener> listeners_;
  std::mutex mutex_;  // of all below
  std::condition_variable came_;
  std::deque<SearchEvent> events_;
  bool over_ = false;
};

}  // namespace heed
