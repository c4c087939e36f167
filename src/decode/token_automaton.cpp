#include "decode/token_automaton.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

void require_possible(int64_t work) {
  constexpr int64_t kMaxWork = 300'000'000;  // some seconds
  require<ConfigError>(work <= kMaxWork, "constraints", "too large for a vocabulary of this size: make them simpler");
}

constexpr size_t kMaxKept = 16U << 20U;  // bytes of the sets of allowed tokens that an automaton keeps

}  // namespace

bool TokenSet::empty() const {
  return std::ranges::all_of(words_, [](uint64_t word) { return word == 0; });
}

TokenAutomaton::TokenAutomaton(ByteAutomaton bytes, std::shared_ptr<const TokenTries> tokens, TextEnd end)
    : bytes_(std::move(bytes)), tokens_(std::move(tokens)), end_(end), live_(2 * static_cast<size_t>(bytes_.states())) {
  find_live();
}

TokenAutomaton::State TokenAutomaton::behind(ByteAutomaton::State bytes, int32_t token) const {
  return 2 * bytes + (tokens_->drops_first_space() && token == tokens_->line_break() ? 1 : 0);
}

// Calls visit(token, state behind it) for all that the bytes allow. Returns how many nodes it saw.
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
      visit(token, behind(bytes, token));
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
  return bytes == ByteAutomaton::kDead ? kDead : behind(bytes, token);
}

TokenAutomaton::State TokenAutomaton::behind_text(std::span<const int32_t> prompt,
                                                  std::span<const int32_t> text) const {
  State state = start(prompt);
  for (const int32_t token : text) {
    state = next(state, token);
  }
  return state;
}

// Most states are known to be completed by single characters alone, without a look at all tokens.
void TokenAutomaton::find_live() {
  if (end_ == TextEnd::none) {
    find_endless();
    return;
  }
  std::vector<State> accepting;
  for (State state = 0; state < static_cast<State>(live_.size()); ++state) {
    if (is_used(state) && accepts(state)) {
      live_[static_cast<size_t>(state)] = true;
      accepting.push_back(state);
    }
  }
  spread_life(std::move(accepting), tokens_->characters());
  std::vector<State> live;
  for (State state = 0; state < static_cast<State>(live_.size()); ++state) {
    if (live_[static_cast<size_t>(state)]) {
      live.push_back(state);
    }
  }
  spread_life(std::move(live), tokens_->all());
}

// To the states from which tokens of the trie lead to live ones.
void TokenAutomaton::spread_life(std::vector<State> from, const Trie& trie) {
  std::vector<std::vector<State>> sources(live_.size());
  int64_t work = 0;
  for (State state = 0; state < static_cast<State>(live_.size()); ++state) {
    if (!is_used(state) || live_[static_cast<size_t>(state)]) {
      continue;
    }
    work += walk(trie, state, [&](int32_t, State next) {
      std::vector<State>& list = sources[static_cast<size_t>(next)];
      if (list.empty() || list.back() != state) {
        list.push_back(state);
      }
    });
    require_possible(work);
  }
  while (!from.empty()) {
    const State state = from.back();
    from.pop_back();
    for (const State source : sources[static_cast<size_t>(state)]) {
      if (!live_[static_cast<size_t>(source)]) {
        live_[static_cast<size_t>(source)] = true;
        from.push_back(source);
      }
    }
  }
}

// Where texts have no end, a state is live if texts can go on from it for ever.
void TokenAutomaton::find_endless() {
  for (State state = 0; state < static_cast<State>(live_.size()); ++state) {
    live_[static_cast<size_t>(state)] = is_used(state);
  }
  int64_t work = 0;
  for (bool found = true; found;) {
    found = false;
    for (State state = 0; state < static_cast<State>(live_.size()); ++state) {
      if (!live_[static_cast<size_t>(state)]) {
        continue;
      }
      bool goes_on = false;
      const auto look = [&](int32_t, State next) { goes_on = goes_on || live_[static_cast<size_t>(next)]; };
      work += walk(tokens_->characters(), state, look);
      work += goes_on ? 0 : walk(tokens_->all(), state, look);
      require_possible(work);
      live_[static_cast<size_t>(state)] = goes_on;
      found = found || !goes_on;
    }
  }
}

std::shared_ptr<const TokenSet> TokenAutomaton::allowed(State state) const {
  const std::lock_guard lock(mutex_);
  if (const auto found = allowed_.find(state); found != allowed_.end()) {
    return found->second;
  }
  auto tokens = std::make_shared<TokenSet>(tokens_->vocabulary());
  walk(tokens_->all(), state, [&](int32_t token, State next) {
    if (can_finish(next)) {
      tokens->add(token);
    }
  });
  if (end_ == TextEnd::eos && accepts(state) && tokens_->eos() >= 0) {
    tokens->add(tokens_->eos());
  }
  if ((allowed_.size() + 1) * tokens->bytes() > kMaxKept) {
    allowed_.clear();
  }
  allowed_.emplace(state, tokens);
  return tokens;
}

}  // namespace heed
