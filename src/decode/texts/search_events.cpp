#include "decode/texts/search_events.h"

#include <exception>
#include <stop_token>
#include <thread>
#include <utility>

namespace heed {

class SearchEvents::Listener final : public SearchListener {
 public:
  Listener(SearchEvents& events, size_t search) : events_(events), search_(search) {}

  void on_growth(const SentenceSearch::Growing& hypothesis) override {
    if (events_.growth_ == Growth::left_out) {
      return;
    }
    const size_t known = std::exchange(known_, hypothesis.tokens.size());
    const auto more = [known](auto all) { return all.subspan(std::min(known, all.size())); };
    const auto tokens = more(hypothesis.tokens);
    const auto log_probabilities = more(hypothesis.token_log_probabilities);
    const auto likeliest = more(hypothesis.likeliest);
    events_.push({search_,
                  {.tokens = {tokens.begin(), tokens.end()},
                   .token_log_probabilities = {log_probabilities.begin(), log_probabilities.end()},
                   .likeliest = {likeliest.begin(), likeliest.end()}}});
  }
  void on_steps(const BeamSteps& steps) override { events_.push({search_, {}, steps}); }
  void on_results(std::vector<Hypothesis> results, int64_t /*copied*/) override {
    events_.push({search_, {}, {}, std::move(results)});
  }

 private:
  SearchEvents& events_;
  size_t search_;
  size_t known_ = 0;  // tokens of the hypothesis that are in events already
};

SearchEvents::~SearchEvents() = default;

SearchListener& SearchEvents::listener(size_t search) { return listeners_.emplace_back(*this, search); }

void SearchEvents::run(Scheduler& scheduler, std::span<Request* const> searches, const Terms& terms,
                       const std::function<void(SearchEvent&& event)>& take) {
  std::stop_source stop;
  const std::stop_callback forward(terms.interruption.stop, [&stop] { stop.request_stop(); });
  const Interruption own{stop.get_token(), terms.interruption.deadline};
  std::exception_ptr failure;
  std::thread searching([&] {
    try {
      scheduler.run(searches, own, terms.sharing);
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    over_ = true;
    came_.notify_one();
  });
  try {
    while (std::optional<SearchEvent> event = next()) {
      take(std::move(*event));
    }
  } catch (...) {
    stop.request_stop();
    searching.join();
    throw;
  }
  searching.join();
  if (failure) {
    std::rethrow_exception(failure);
  }
}

void SearchEvents::push(SearchEvent event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
  came_.notify_one();
}

std::optional<SearchEvent> SearchEvents::next() {
  std::unique_lock lock(mutex_);
  came_.wait(lock, [this] { return over_ || !events_.empty(); });
  if (events_.empty()) {
    return std::nullopt;
  }
  std::optional<SearchEvent> event = std::move(events_.front());
  events_.pop_front();
  return event;
}

}  // namespace heed
