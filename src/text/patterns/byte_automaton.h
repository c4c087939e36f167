// Deterministic automata over bytes: which texts may be written, and what may follow a prefix of one.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

class ByteAutomaton {
 public:
  using State = int32_t;
  static constexpr State kDead = -1;  // no text begins like this

  struct Edge {
    uint8_t first, last;  // bytes
    State to;
  };
  struct Node {
    std::vector<Edge> edges;  // in the order of their bytes, which do not overlap
    bool accepts = false;
  };

  // The first node is the start. Edges from which no accepting state can be reached are dropped.
  explicit ByteAutomaton(std::vector<Node> nodes);

  static State start() { return 0; }
  State next(State state, uint8_t byte) const;
  bool accepts(State state) const { return nodes_[static_cast<size_t>(state)].accepts; }
  State states() const { return static_cast<State>(nodes_.size()); }
  const std::vector<Edge>& edges(State state) const { return nodes_[static_cast<size_t>(state)].edges; }
  bool matches_nothing() const { return nodes_.front().edges.empty() && !nodes_.front().accepts; }
  bool matches(std::string_view text) const;

 private:
  std::vector<Node> nodes_;
};

// Exactly these texts.
ByteAutomaton automaton_of_texts(std::span<const std::string> texts);
// All texts that contain none of these, which are not empty.
ByteAutomaton automaton_without(std::span<const std::string> texts);
// What both accept.
ByteAutomaton intersection(const ByteAutomaton& a, const ByteAutomaton& b);

// All texts that a regular expression matches from beginning to end, as UTF-8:
//   characters, . (any but a line break), [a-z] [^a-z], ( ) (?: ) |, * + ? {m} {m,} {m,n}, and the escapes
//   \n \t \r \f \v \xHH \x{H...} \uHHHH, \d \w \s \D \W \S (of ASCII), and \ before any other sign
// ^ at the beginning and $ at the end change nothing. ConfigError, with the position, for anything else, and for
// expressions that take too many states.
ByteAutomaton automaton_of_regex(std::string_view expression);

}  // namespace heed
