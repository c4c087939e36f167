#include "decode/rules/token_automaton.h"

#include <algorithm>
#include <functional>
#include <queue>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

constexpr int64_t kMaxWork = 300'000'000;  // nodes of tries: some seconds

void require_possible(int64_t work) {
  require<ConfigError>(work <= kMaxWork, "constraints", "too large for a vocabulary of this size: make them simpler");
}

constexpr size_t kMaxKept = 16U << 20U;  // bytes of the sets of allowed tokens that an automaton keeps

}  // namespace

bool TokenSet::empty() const {
  return std::ranges::all_of(words_, [](uint64_t word) { return word == 0; });
}

TokenAutomaton::TokenAutomaton(ByteAutomaton bytes, std::shared_ptr<const TokenTries> tokens, TextEnd end)
    : bytes_(std::move(bytes)),
      tokens_(std::move(tokens)),
      end_(end),
      distances_(2 * static_cast<size_t>(bytes_.states()), kUnreachable) {
  end_ == TextEnd::none ? find_endless() : find_distances();
}

TokenAutomaton::State TokenAutomaton::state_after(ByteAutomaton::State bytes, int32_t token) const {
  return 2 * bytes + (tokens_->drops_first_space() && token == tokens_->line_break() ? 1 : 0);
}

// Calls visit(token, state after it) for all tokens that the bytes allow. Returns how many nodes it saw.
template <class Visit>
int64_t TokenAutomaton::walk(const Trie& trie, State state, const Visit& visit) const {
  using Child = std::pair<uint8_t, int32_t>;
  const bool drops_space = state % 2 == 1;
  std::vector<std::pair<int32_t, ByteAutomaton::State>> to_visit{{0, state / 2}};
  int64_t nodes = 0;
  for (; !to_visit.empty(); ++nodes) {
    const auto [node, bytes] = to_visit.back();
    to_visit.pop_back();
    for (const int32_t token : trie[static_cast<size_t>(node)].tokens) {
      visit(token, state_after(bytes, token));
    }
    const auto& children = trie[static_cast<size_t>(node)].children;
    for (const ByteAutomaton::Edge& edge : bytes_.edges(bytes)) {
      for (auto child = std::ranges::lower_bound(children, edge.first, {}, &Child::first);
           child != children.end() && child->first <= edge.last; ++child) {
        if (!drops_space || node != 0 || child->first != ' ') {
          to_visit.emplace_back(child->second, edge.to);
        }
      }
    }
    if (drops_space && node == 0) {
      const auto space = std::ranges::lower_bound(children, uint8_t{' '}, {}, &Child::first);
      if (space != children.end() && space->first == ' ') {
        to_visit.emplace_back(space->second, bytes);
      }
    }
  }
  return nodes;
}

TokenAutomaton::State TokenAutomaton::start(std::span<const int32_t> prompt) const {
  const auto is_visible = [&](int32_t token) { return token == tokens_->line_break() || tokens_->contains(token); };
  const auto last = std::find_if(prompt.rbegin(), prompt.rend(), is_visible);
  return tokens_->drops_first_space() && (last == prompt.rend() || *last == tokens_->line_break()) ? 1 : 0;
}

TokenAutomaton::State TokenAutomaton::next(State state, int32_t token) const {
  if (state == kDead || !tokens_->contains(token)) {
    return kDead;
  }
  std::string_view text = tokens_->text(token);
  if (state % 2 == 1 && text.front() == ' ') {
    text.remove_prefix(1);
  }
  ByteAutomaton::State bytes = state / 2;
  for (size_t i = 0; i < text.size() && bytes != ByteAutomaton::kDead; ++i) {
    bytes = bytes_.next(bytes, static_cast<uint8_t>(text[i]));
  }
  return bytes == ByteAutomaton::kDead ? kDead : state_after(bytes, token);
}

TokenAutomaton::State TokenAutomaton::after_text(std::span<const int32_t> prompt, std::span<const int32_t> text) const {
  State state = start(prompt);
  for (const int32_t token : text) {
    state = next(state, token);
  }
  return state;
}

TokenAutomaton::Distances TokenAutomaton::accepting() const {
  Distances distances(distances_.size(), kUnreachable);
  for (State state = 0; state < static_cast<State>(distances.size()); ++state) {
    if (is_used(state) && accepts(state)) {
      distances[static_cast<size_t>(state)] = 0;
    }
  }
  return distances;
}

// Single characters complete a text from most states, and they are few: only the other states need all tokens.
void TokenAutomaton::find_distances() {
  distances_ = accepting();
  for (const Trie* const trie : {&tokens_->characters(), &tokens_->all()}) {
    require_possible(extend(distances_, *trie) ? 0 : kMaxWork + 1);
  }
}

// Finds the distances of states from which tokens of the trie lead to those that have one. False where that takes too
// long.
bool TokenAutomaton::extend(Distances& distances, const Trie& trie) const {
  std::vector<std::vector<State>> sources(distances.size());
  int64_t work = 0;
  for (State state = 0; state < static_cast<State>(distances.size()); ++state) {
    if (!is_used(state) || distances[static_cast<size_t>(state)] != kUnreachable) {
      continue;
    }
    work += walk(trie, state, [&](int32_t, State next) {
      std::vector<State>& list = sources[static_cast<size_t>(next)];
      if (list.empty() || list.back() != state) {
        list.push_back(state);
      }
    });
    if (work > kMaxWork) {
      return false;
    }
  }
  using Reached = std::pair<int32_t, State>;  // the nearest first
  std::priority_queue<Reached, std::vector<Reached>, std::greater<>> reached;
  for (State state = 0; state < static_cast<State>(distances.size()); ++state) {
    if (distances[static_cast<size_t>(state)] != kUnreachable) {
      reached.emplace(distances[static_cast<size_t>(state)], state);
    }
  }
  while (!reached.empty()) {
    const auto [distance, state] = reached.top();
    reached.pop();
    for (const State source : sources[static_cast<size_t>(state)]) {
      int32_t& of_source = distances[static_cast<size_t>(source)];
      if (of_source == kUnreachable) {
        of_source = distance + 1;
        reached.emplace(of_source, source);
      }
    }
  }
  return true;
}

// The exact distances, with all tokens, for where the bounds do not suffice; null where they take too long.
const TokenAutomaton::Distances* TokenAutomaton::least_distances() const {
  std::call_once(least_once_, [this] {
    Distances least = accepting();
    if (extend(least, tokens_->all())) {
      least_ = std::move(least);
    }
  });
  return least_.empty() ? nullptr : &least_;
}

bool TokenAutomaton::can_finish_in(State state, int64_t tokens) const {
  const auto at = static_cast<size_t>(state);
  if (distances_[at] <= tokens) {
    return true;
  }
  const Distances* const least = least_distances();
  return least == nullptr || (*least)[at] <= tokens;
}

// For texts without an end: a state is of use if a text can go on from it for ever.
void TokenAutomaton::find_endless() {
  for (State state = 0; state < static_cast<State>(distances_.size()); ++state) {
    distances_[static_cast<size_t>(state)] = is_used(state) ? 0 : kUnreachable;
  }
  int64_t work = 0;
  for (bool found = true; found;) {
    found = false;
    for (State state = 0; state < static_cast<State>(distances_.size()); ++state) {
      if (!can_finish(state)) {
        continue;
      }
      bool goes_on = false;
      const auto look = [&](int32_t, State next) { goes_on = goes_on || can_finish(next); };
      work += walk(tokens_->characters(), state, look);
      work += goes_on ? 0 : walk(tokens_->all(), state, look);
      require_possible(work);
      distances_[static_cast<size_t>(state)] = goes_on ? 0 : kUnreachable;
      found = found || !goes_on;
    }
  }
}

// The tokens after which a text needs at most this many more.
TokenAutomaton::Allowed TokenAutomaton::find_allowed(State state, const Distances& distances, int64_t most_left) const {
  auto tokens = std::make_shared<TokenSet>(tokens_->vocabulary());
  Allowed found;
  walk(tokens_->all(), state, [&](int32_t token, State next) {
    const int32_t left = distances[static_cast<size_t>(next)];
    if (left != kUnreachable && left <= most_left) {
      tokens->add(token);
      found.most_left = std::max(found.most_left, left);
    }
  });
  if (end_ == TextEnd::eos && accepts(state) && tokens_->eos() >= 0) {
    tokens->add(tokens_->eos());
  }
  found.tokens = std::move(tokens);
  return found;
}

TokenAutomaton::Allowed TokenAutomaton::kept(State state) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = allowed_.find(state); found != allowed_.end()) {
    return found->second;
  }
  Allowed allowed = find_allowed(state, distances_, kUnreachable);
  if ((allowed_.size() + 1) * allowed.tokens->bytes() > kMaxKept) {
    allowed_.clear();
  }
  allowed_.emplace(state, allowed);
  return allowed;
}

std::shared_ptr<const TokenSet> TokenAutomaton::allowed(State state) const { return kept(state).tokens; }

// Bounds and exact distances allow the same where the bounds suffice: what is allowed depends on the text alone.
std::shared_ptr<const TokenSet> TokenAutomaton::allowed(State state, int64_t left) const {
  const Allowed all = kept(state);
  if (left <= 0 || all.most_left < left) {
    return all.tokens;
  }
  const Distances* const least = least_distances();
  const Distances& distances = least == nullptr ? distances_ : *least;
  return distances[static_cast<size_t>(state)] > left ? all.tokens : find_allowed(state, distances, left - 1).tokens;
}

}  // namespace heed
