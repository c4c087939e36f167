#include "text/patterns/byte_automaton.h"

#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

using State = ByteAutomaton::State;
using Node = ByteAutomaton::Node;

constexpr size_t kMaxProduct = 1U << 20U;

// The trie of some texts; the nodes where texts end accept.
std::vector<Node> trie_of(std::span<const std::string> texts) {
  std::vector<Node> nodes(1);
  for (const std::string& text : texts) {
    State at = 0;
    for (const char c : text) {
      const auto byte = static_cast<uint8_t>(c);
      auto& edges = nodes[static_cast<size_t>(at)].edges;
      const auto found = std::ranges::lower_bound(edges, byte, {}, &ByteAutomaton::Edge::first);
      if (found != edges.end() && found->first == byte) {
        at = found->to;
        continue;
      }
      const auto added = static_cast<State>(nodes.size());
      edges.insert(found, {byte, byte, added});
      nodes.emplace_back();
      at = added;
    }
    nodes[static_cast<size_t>(at)].accepts = true;
  }
  return nodes;
}

void add_edge(std::vector<ByteAutomaton::Edge>& edges, uint8_t first, uint8_t last, State to) {
  if (!edges.empty() && edges.back().to == to && edges.back().last + 1 == first) {
    edges.back().last = last;
  } else {
    edges.push_back({first, last, to});
  }
}

// Aho and Corasick: each state is the longest prefix of a text that is a suffix of what was read.
class Forbidding {
 public:
  explicit Forbidding(std::span<const std::string> texts) : trie_(trie_of(texts)), next_(trie_.size()) {
    std::vector<State> order{0}, fallback(trie_.size(), 0);
    for (size_t i = 0; i < order.size(); ++i) {
      const State at = order[i];
      auto& row = next_[static_cast<size_t>(at)];
      const State back = fallback[static_cast<size_t>(at)];
      row = at == 0 ? Row{} : next_[static_cast<size_t>(back)];
      trie_[static_cast<size_t>(at)].accepts |= trie_[static_cast<size_t>(back)].accepts;
      for (const ByteAutomaton::Edge& edge : trie_[static_cast<size_t>(at)].edges) {
        fallback[static_cast<size_t>(edge.to)] = row[edge.first];
        row[edge.first] = edge.to;
        order.push_back(edge.to);
      }
    }
  }

  std::vector<Node> nodes() const {
    std::vector<Node> nodes(trie_.size());
    for (size_t state = 0; state < nodes.size(); ++state) {
      nodes[state].accepts = !trie_[state].accepts;
      for (size_t byte = 0; byte < next_[state].size() && nodes[state].accepts; ++byte) {
        const State to = next_[state][byte];
        if (!trie_[static_cast<size_t>(to)].accepts) {
          add_edge(nodes[state].edges, static_cast<uint8_t>(byte), static_cast<uint8_t>(byte), to);
        }
      }
    }
    return nodes;
  }

 private:
  using Row = std::array<State, 256>;

  std::vector<Node> trie_;
  std::vector<Row> next_;
};

}  // namespace

ByteAutomaton::ByteAutomaton(std::vector<Node> nodes) : nodes_(std::move(nodes)) {
  std::vector<std::vector<State>> sources(nodes_.size());
  std::vector<bool> live(nodes_.size());
  std::vector<State> to_visit;
  for (State state = 0; state < states(); ++state) {
    for (const Edge& edge : edges(state)) {
      sources[static_cast<size_t>(edge.to)].push_back(state);
    }
    if (accepts(state)) {
      live[static_cast<size_t>(state)] = true;
      to_visit.push_back(state);
    }
  }
  while (!to_visit.empty()) {
    const State state = to_visit.back();
    to_visit.pop_back();
    for (const State source : sources[static_cast<size_t>(state)]) {
      if (!live[static_cast<size_t>(source)]) {
        live[static_cast<size_t>(source)] = true;
        to_visit.push_back(source);
      }
    }
  }
  for (Node& node : nodes_) {
    std::erase_if(node.edges, [&](const Edge& edge) { return !live[static_cast<size_t>(edge.to)]; });
  }
}

ByteAutomaton::State ByteAutomaton::next(State state, uint8_t byte) const {
  const std::vector<Edge>& list = edges(state);
  const auto found = std::ranges::lower_bound(list, byte, {}, &Edge::last);
  return found != list.end() && found->first <= byte ? found->to : kDead;
}

bool ByteAutomaton::matches(std::string_view text) const {
  State state = start();
  for (size_t i = 0; i < text.size() && state != kDead; ++i) {
    state = next(state, static_cast<uint8_t>(text[i]));
  }
  return state != kDead && accepts(state);
}

ByteAutomaton automaton_of_texts(std::span<const std::string> texts) { return ByteAutomaton(trie_of(texts)); }

ByteAutomaton automaton_without(std::span<const std::string> texts) { return ByteAutomaton(Forbidding(texts).nodes()); }

ByteAutomaton intersection(const ByteAutomaton& a, const ByteAutomaton& b) {
  std::map<std::pair<State, State>, State> states{{{0, 0}, 0}};
  std::vector<std::pair<State, State>> order{{0, 0}};
  std::vector<Node> nodes;
  for (size_t i = 0; i < order.size(); ++i) {
    const auto [of_a, of_b] = order[i];
    Node node{.edges = {}, .accepts = a.accepts(of_a) && b.accepts(of_b)};
    for (const auto& x : a.edges(of_a)) {
      for (const auto& y : b.edges(of_b)) {
        const uint8_t first = std::max(x.first, y.first), last = std::min(x.last, y.last);
        if (first <= last) {
          const auto [found, is_new] = states.try_emplace({x.to, y.to}, static_cast<State>(states.size()));
          if (is_new) {
            order.emplace_back(x.to, y.to);
          }
          add_edge(node.edges, first, last, found->second);
        }
      }
    }
    nodes.push_back(std::move(node));
    require<ConfigError>(order.size() <= kMaxProduct, "constraints", "together they take too many states");
  }
  return ByteAutomaton(std::move(nodes));
}

}  // namespace heed
