#include "decode/rules/automaton_cache.h"

#include <algorithm>
#include <utility>

namespace heed {
namespace {

constexpr size_t kMaxAutomata = 16, kMaxTries = 2;
constexpr int64_t kMaxStates = 1'000'000;  // of all automata together, unless the latest alone has more

}  // namespace

std::shared_ptr<const TokenAutomaton> AutomatonCache::get(const WritingConstraints& constraints,
                                                          std::span<const int32_t> suppressed, TextEnd end) {
  if (!constraints.any()) {
    return nullptr;
  }
  const std::shared_ptr<Entry> entry = entry_of({.suppress = {constraints.suppress.begin(), constraints.suppress.end()},
                                                 .choices = {constraints.choices.begin(), constraints.choices.end()},
                                                 .regex = std::string(constraints.regex),
                                                 .suppressed = {suppressed.begin(), suppressed.end()},
                                                 .end = end});
  // Only those who want the same automaton wait.
  const std::lock_guard building(entry->building);
  if (entry->automaton == nullptr) {
    try {
      entry->automaton = make_automaton(constraints, tries_without(suppressed), end);
    } catch (...) {  // constraints that are refused must not pile up
      const std::lock_guard lock(mutex_);
      entries_.remove(entry);
      throw;
    }
    trim(*entry);
  }
  return entry->automaton;
}

std::shared_ptr<AutomatonCache::Entry> AutomatonCache::entry_of(Key key) {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(entries_, [&](const auto& entry) { return entry->key == key; });
  if (found != entries_.end()) {
    entries_.splice(entries_.begin(), entries_, found);
  } else {
    entries_.push_front(std::make_shared<Entry>());
    entries_.front()->key = std::move(key);
  }
  return entries_.front();
}

// The entry has its automaton now.
void AutomatonCache::trim(Entry& entry) {
  const std::lock_guard lock(mutex_);
  entry.states = entry.automaton->states();
  int64_t states = 0;
  size_t seen = 0;
  std::erase_if(entries_, [&](const auto& each) {
    states += each->states;
    return ++seen > 1 && (seen > kMaxAutomata || states > kMaxStates);
  });
}

std::shared_ptr<const TokenTries> AutomatonCache::tries_without(std::span<const int32_t> suppressed) {
  const std::lock_guard lock(mutex_of_tries_);
  const auto found = std::ranges::find_if(
      tries_, [&](const Tries& tries) { return std::ranges::equal(tries.suppressed, suppressed); });
  if (found != tries_.end()) {
    return found->tries;
  }
  tries_.push_front({.suppressed = {suppressed.begin(), suppressed.end()},
                     .tries = std::make_shared<const TokenTries>(tokenizer_, suppressed)});
  tries_.resize(std::min(tries_.size(), kMaxTries));
  return tries_.front().tries;
}

}  // namespace heed
