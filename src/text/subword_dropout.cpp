#include "text/subword_dropout.h"

#include <queue>
#include <string>

#include "base/errors.h"
#include "text/sentencepiece/sentencepiece_model.h"

namespace heed {
namespace {

constexpr int32_t kNone = -1;

bool is_character_begin(char byte) { return (static_cast<unsigned char>(byte) & 0xc0U) != 0x80U; }

}  // namespace

// Two neighbours that may be merged. Outdated when either of them has changed.
struct SubwordDropout::Merge {
  float score;
  int32_t index, left, right, merged;

  // The last in this order comes first: the best score, then the leftmost.
  bool operator<(const Merge& other) const { return score != other.score ? score < other.score : index > other.index; }
};

// Tokens whose neighbours can be merged; the result is stored at the left one's index.
class SubwordDropout::Chain {
 public:
  void append(int32_t token) {
    const auto index = static_cast<int32_t>(links_.size());
    if (index > 0) {
      links_.back().after = index;
    }
    links_.push_back({token, index - 1, kNone});
  }

  int32_t size() const { return static_cast<int32_t>(links_.size()); }
  int32_t token(int32_t index) const { return index == kNone ? kNone : link(index).token; }
  int32_t before(int32_t index) const { return link(index).before; }
  int32_t token_after(int32_t index) const { return token(link(index).after); }

  bool still_has(const Merge& merge) const {
    return token(merge.index) == merge.left && token_after(merge.index) == merge.right;
  }
  void apply(const Merge& merge) {
    Link& left = link(merge.index);
    Link& right = link(left.after);
    left.token = merge.merged;
    left.after = right.after;
    right.token = kNone;
    if (left.after != kNone) {
      link(left.after).before = merge.index;
    }
  }

  std::vector<int32_t> tokens() const {
    std::vector<int32_t> tokens;
    for (int32_t index = links_.empty() ? kNone : 0; index != kNone; index = link(index).after) {
      tokens.push_back(link(index).token);
    }
    return tokens;
  }

 private:
  struct Link {
    int32_t token, before, after;
  };
  Link& link(int32_t index) { return links_[static_cast<size_t>(index)]; }
  const Link& link(int32_t index) const { return links_[static_cast<size_t>(index)]; }

  std::vector<Link> links_;
};

SubwordDropout::SubwordDropout(const Tokenizer& tokenizer) {
  require<ConfigError>(tokenizer.kind() == TokenizerKind::bpe, "subword dropout",
                       "drops merges of bpe, but this tokenizer is {}", name_of(tokenizer.kind()));
  const std::string bytes = tokenizer.serialize();
  const SentencePieceModel model = read_sentencepiece_model(bytes, "tokenizer");
  std::unordered_map<std::string_view, int32_t> ids;
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    scores_.push_back(model.pieces[i].score);
    if (model.pieces[i].type == SentencePieceModel::PieceType::normal) {
      ids.emplace(model.pieces[i].text, static_cast<int32_t>(i));
    }
  }
  for (size_t i = 0; i < model.pieces.size(); ++i) {
    const auto token = static_cast<int32_t>(i);
    const auto& piece = model.pieces[i];
    const bool is_subword = piece.type == SentencePieceModel::PieceType::normal;
    take_apart(token, is_subword ? std::string_view(piece.text) : std::string_view(), ids);
    if (is_subword) {
      add_merges(token, piece.text, ids);
    }
  }
}

// Splits the token into characters if all of them are tokens; otherwise, or without text, the token is its only part.
void SubwordDropout::take_apart(int32_t token, std::string_view text,
                                const std::unordered_map<std::string_view, int32_t>& ids) {
  const auto begin = static_cast<int32_t>(characters_.size());
  bool whole = text.empty();
  for (size_t at = 0, end = 0; at < text.size() && !whole; at = end) {
    for (end = at + 1; end < text.size() && !is_character_begin(text[end]); ++end) {
    }
    const auto character = ids.find(text.substr(at, end - at));
    whole = character == ids.end();
    if (!whole) {
      characters_.push_back(character->second);
    }
  }
  if (whole) {
    characters_.resize(static_cast<size_t>(begin));
    characters_.push_back(token);
  }
  parts_.push_back({begin, static_cast<int32_t>(characters_.size())});
}

// Every way to build the token from two others.
void SubwordDropout::add_merges(int32_t token, std::string_view text,
                                const std::unordered_map<std::string_view, int32_t>& ids) {
  for (size_t at = 1; at < text.size(); ++at) {
    if (!is_character_begin(text[at])) {
      continue;
    }
    const auto left = ids.find(text.substr(0, at)), right = ids.find(text.substr(at));
    if (left != ids.end() && right != ids.end()) {
      merges_.emplace(pair_of(left->second, right->second), token);
    }
  }
}

SubwordDropout::Chain SubwordDropout::characters_of(std::span<const int32_t> tokens) const {
  Chain chain;
  for (const int32_t token : tokens) {
    const Characters part = parts_.at(static_cast<size_t>(token));
    for (int32_t i = part.begin; i < part.end; ++i) {
      chain.append(characters_[static_cast<size_t>(i)]);
    }
  }
  return chain;
}

template <class Keep>
void SubwordDropout::merge(Chain& chain, Keep keep) const {
  std::priority_queue<Merge> queue;
  const auto consider = [&](int32_t index) {
    const int32_t left = chain.token(index), right = left == kNone ? kNone : chain.token_after(index);
    if (const auto found = merges_.find(pair_of(left, right)); found != merges_.end()) {
      queue.push({scores_[static_cast<size_t>(found->second)], index, left, right, found->second});
    }
  };
  for (int32_t index = 0; index < chain.size(); ++index) {
    consider(index);
  }
  while (!queue.empty()) {
    const Merge best = queue.top();
    queue.pop();
    if (!chain.still_has(best) || !keep(best)) {
      continue;
    }
    chain.apply(best);
    consider(chain.before(best.index));
    consider(best.index);
  }
}

std::vector<int32_t> SubwordDropout::recut(std::span<const int32_t> tokens, Probability left_out, RandomKey key) const {
  Chain chain = characters_of(tokens);
  uint64_t draws = 0;
  merge(chain, [&](const Merge&) { return uniform_draw(key, draws++) >= static_cast<double>(left_out.value); });
  return chain.tokens();
}

SubwordMerges SubwordDropout::merges_of(std::span<const int32_t> tokens) const {
  Chain chain = characters_of(tokens);
  SubwordMerges found{.characters = chain.tokens(), .merges = {}};
  merge(chain, [&](const Merge& best) {
    Chain after = chain;
    after.apply(best);
    found.merges.push_back({best.left, best.right, best.merged, best.score, after.tokens()});
    return true;
  });
  return found;
}

}  // namespace heed
