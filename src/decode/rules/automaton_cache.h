// The automata of a model's requests: those with the same constraints share one.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "decode/rules/writing_constraints.h"

namespace heed {

// Safe to use from several threads at once.
class AutomatonCache {
 public:
  // The tokenizer must outlive it.
  explicit AutomatonCache(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  AutomatonCache(const AutomatonCache&) = delete;
  AutomatonCache& operator=(const AutomatonCache&) = delete;

  // As make_automaton(). An automaton is built once, as long as it is among the latest few.
  std::shared_ptr<const TokenAutomaton> get(const WritingConstraints& constraints, std::span<const int32_t> suppressed,
                                            TextEnd end);

 private:
  struct Key {
    std::vector<std::string> suppress, choices;
    std::string regex;
    std::vector<int32_t> suppressed;
    TextEnd end = TextEnd::eos;

    bool operator==(const Key&) const = default;
  };
  struct Entry {
    Key key;
    int64_t states = 0;   // of the automaton, once it is built; mutex_ guards it
    std::mutex building;  // guards the automaton
    std::shared_ptr<const TokenAutomaton> automaton;
  };
  // What automata are built on; for a large vocabulary this takes longer than most automata.
  struct Tries {
    std::vector<int32_t> suppressed;
    std::shared_ptr<const TokenTries> tries;
  };

  std::shared_ptr<Entry> entry_of(Key key);
  void trim(Entry& entry);
  std::shared_ptr<const TokenTries> tries_without(std::span<const int32_t> suppressed);

  const Tokenizer& tokenizer_;
  std::mutex mutex_;
  std::list<std::shared_ptr<Entry>> entries_;  // the latest first
  std::mutex mutex_of_tries_;
  std::list<Tries> tries_;
};

}  // namespace heed
