#include "decode/token_automaton.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "text/multiline.h"

namespace heed {
namespace {

bool is_one_character(const std::string& bytes) {
  return bytes.size() == 1 ||
         std::ranges::all_of(bytes.substr(1), [](char c) { return (static_cast<uint8_t>(c) & 0xC0U) == 0x80; });
}

void require_possible(int64_t work) {
  constexpr int64_t kMaxWork = 300'000'000;  // some seconds
  require<ConfigError>(work <= kMaxWork, "constraints", "too large for a vocabulary of this size: make them simpler");
}

}  // namespace

bool TokenSet::empty() const {
  return std::ranges::all_of(words_, [](uint64_t word) { return word == 0; });
}

TokenAutomaton::TokenAutomaton(ByteAutomaton bytes, const Tokenizer& tokenizer, std::span<const int32_t> suppressed,
                               TextEnd end)
    : bytes_(std::move(bytes)),
      end_(end),
      eos_(tokenizer.special().eos.value),
      line_break_(line_break_token(tokenizer).value_or(kNoToken).value),
      vocabulary_(tokenizer.vocabulary_size()),
      drops_first_space_(tokenizer.drops_first_space()),
      texts_(static_cast<size_t>(vocabulary_)),
      all_(1),
      characters_(1),
      live_(2 * static_cast<size_t>(bytes_.states())) {
  for (int32_t token = 0; token < vocabulary_; ++token) {
    std::optional<std::string> text = tokenizer.bytes_of(TokenId(token));
    require<ConfigError>(
        text.has_value(), "constraints",
        "they need a tokenizer of heed's whose tokens are pieces of text (bpe, unigram, char or byte)");
    if (text->empty() || token == eos_ || std::ranges::find(suppressed, token) != suppressed.end()) {
      continue;
    }
    add(all_, *text, token);
    if (is_one_character(*text)) {
      add(characters_, *text, token);
    }
    texts_[static_cast<size_t>(token)] = std::move(*text);
  }
  find_live();
}

void TokenAutomaton::add(Trie& trie, const std::string& bytes, int32_t token) {
  int32_t at = 0;
  for (const char c : bytes) {
    const auto byte = static_cast<uint8_t>(c);
    auto& children = trie[static_cast<size_t>(at)].children;
    const auto found = std::ranges::lower_bound(children, byte, {}, &std::pair<uint8_t, int32_t>::first);
    if (found != children.end() && found->first == byte) {
      at = found->second;
      continue;
    }
    const auto added = static_cast<int32_t>(trie.size());
    children.insert(found, {byte, added});
    trie.emplace_back();
    at = added;
  }
  trie[static_cast<size_t>(at)].tokens.push_back(token);
}

TokenAutomaton::State TokenAutomaton::behind(ByteAutomaton::State bytes, int32_t token) const {
  return 2 * bytes + (drops_first_space_ && token == line_break_ ? 1 : 0);
}

// Calls visit(token, state behind it) for all that the bytes allow. Returns how many nodes it saw.
template <class Visit>
int64_t TokenAutomaton::walk(const Trie& trie, State state, const Visit& visit) const {
  const bool drops_space = state % 2 == 1;
  std::vector<std::pair<int32_t, ByteAutomaton::State>> to_visit{{0, state / 2}};
  int64_t nodes = 0;
  for (; !to_visit.empty(); ++nodes) {
    const auto [node, bytes] = to_visit.back();
    to_visit.pop_back();
    for (const int32_t token : trie[static_cast<size_t>(node)].tokens) {
      visit(token, behind(bytes, token));
    }
    for (const auto& [byte, child] : trie[static_cast<size_t>(node)].children) {
      const bool dropped = drops_space && node == 0 && byte == ' ';
      const ByteAutomaton::State next = dropped ? bytes : bytes_.next(bytes, byte);
      if (next != ByteAutomaton::kDead) {
        to_visit.emplace_back(child, next);
      }
    }
  }
  return nodes;
}

TokenAutomaton::State TokenAutomaton::start(std::span<const int32_t> prompt) const {
  const auto is_visible = [&](int32_t token) {
    return token == line_break_ || (token >= 0 && token < vocabulary_ && !texts_[static_cast<size_t>(token)].empty());
  };
  const auto last = std::find_if(prompt.rbegin(), prompt.rend(), is_visible);
  return drops_first_space_ && (last == prompt.rend() || *last == line_break_) ? 1 : 0;
}

TokenAutomaton::State TokenAutomaton::next(State state, int32_t token) const {
  if (state == kDead || token < 0 || token >= vocabulary_ || texts_[static_cast<size_t>(token)].empty()) {
    return kDead;
  }
  std::string_view text = texts_[static_cast<size_t>(token)];
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
  spread_life(std::move(accepting), characters_);
  std::vector<State> live;
  for (State state = 0; state < static_cast<State>(live_.size()); ++state) {
    if (live_[static_cast<size_t>(state)]) {
      live.push_back(state);
    }
  }
  spread_life(std::move(live), all_);
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
      work += walk(characters_, state, look);
      work += goes_on ? 0 : walk(all_, state, look);
      require_possible(work);
      live_[static_cast<size_t>(state)] = goes_on;
      found = found || !goes_on;
    }
  }
}

const TokenSet& TokenAutomaton::allowed(State state) const {
  const std::lock_guard lock(mutex_);
  const auto entry = allowed_.try_emplace(state, vocabulary_);
  TokenSet& tokens = entry.first->second;
  if (entry.second) {
    walk(all_, state, [&](int32_t token, State next) {
      if (can_finish(next)) {
        tokens.add(token);
      }
    });
    if (end_ == TextEnd::eos && accepts(state) && eos_ >= 0) {
      tokens.add(eos_);
    }
  }
  return tokens;
}

}  // namespace heed
