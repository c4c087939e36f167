// The unigram model: of all ways to cut a piece into tokens, the one whose scores, logarithms of probabilities, have the
// largest sum. What no token covers is unknown, at a score of 10 below the lowest.
#include <cmath>
#include <limits>

#include "base/errors.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/models/byte_trie.h"
#include "text/huggingface/models/model.h"
#include "text/huggingface/models/word_cache.h"

namespace heed::huggingface {
namespace {

// The best way to cut what ends at a byte: its score and its last token.
struct BestEnd {
  double score = 0.0;
  int32_t id = TokenTable::kNone;
  uint32_t begin = kUnreached;

  static constexpr uint32_t kUnreached = UINT32_MAX;
};

struct UnigramState final : ModelState {
  WordCache cache;
  std::vector<BestEnd> ends;
};

class Unigram final : public TokenModel {
 public:
  explicit Unigram(const JsonValue& json) : where_(json.where()) {
    read_pieces(json.at("vocab"));
    if (const auto unknown = json.find("unk_id")) {
      unknown_ = static_cast<int32_t>(unknown->integer(0, static_cast<int64_t>(vocabulary_.size()) - 1));
    }
    if (json.boolean_or("byte_fallback", false)) {
      bytes_ = byte_tokens(ids_);
    }
    std::vector<std::pair<std::string_view, int32_t>> texts;
    texts.reserve(vocabulary_.size());
    for (const auto& [text, id] : vocabulary_) {
      if (!text.empty()) {
        texts.emplace_back(text, id);
      }
    }
    trie_ = ByteTrie(std::move(texts));
  }

  TokenizerKind kind() const override { return TokenizerKind::unigram; }
  std::unique_ptr<ModelState> make_state() const override { return std::make_unique<UnigramState>(); }

  void tokenize(std::string_view piece, SpecialText special, ModelState& state,
                std::vector<ModelToken>& tokens) const override {
    auto& own = static_cast<UnigramState&>(state);
    const bool is_short = piece.size() <= WordCache::kLongestWord && special == SpecialText::literal;
    const uint64_t hash = is_short ? hash_bytes(piece) : 0;
    if (is_short && own.cache.find(piece, hash, tokens)) {
      return;
    }
    const size_t first = tokens.size();
    find_best(piece, special, own.ends);
    append_best(piece, own.ends, tokens);
    if (is_short) {
      own.cache.keep(piece, hash, tokens, first);
    }
  }

 private:
  static constexpr double kUnknownPenalty = 10.0;

  void read_pieces(const JsonValue& json) {
    const size_t count = json.size();
    require<FormatError>(count > 0 && count <= kMaxTokenId, json.where(), "{} tokens, expected 1 to {}", count,
                         kMaxTokenId);
    ids_.reserve(count, count * 8);
    vocabulary_.reserve(count);
    for (const Json& piece : json.json()) {
      const bool good = piece.is_array() && piece.size() == 2 && piece[0].is_string() && piece[1].is_number() &&
                        std::isfinite(piece[1].get<double>());
      require<FormatError>(good, fmt::format("{}[{}]", json.where(), vocabulary_.size()),
                           "expected a text and its score");
      scores_.push_back(piece[1].get<double>());
      lowest_ = std::min(lowest_, scores_.back());
      add_token(piece[0].get<std::string>(), static_cast<int32_t>(vocabulary_.size()));
    }
  }

  void find_best(std::string_view piece, SpecialText special, std::vector<BestEnd>& ends) const {
    ends.assign(piece.size() + 1, {});
    const double unknown_score = lowest_ - kUnknownPenalty;
    for (size_t begin = 0; begin < piece.size();) {
      const double before = ends[begin].score;
      const size_t character = begin + character_size(piece[begin]);
      bool covered = false;
      ByteTrie::Node node = ByteTrie::kRoot;
      for (size_t at = begin; at < piece.size();) {
        node = trie_.next(node, piece[at++]);
        if (node == ByteTrie::kNowhere) {
          break;
        }
        const int32_t id = trie_.value(node);
        if (id == TokenTable::kNone || (special == SpecialText::literal && is_special(id))) {
          continue;
        }
        offer(ends[at], {before + scores_[static_cast<size_t>(id)], id, static_cast<uint32_t>(begin)});
        covered = covered || at == character;
      }
      if (!covered) {
        require<FormatError>(unknown_ != TokenTable::kNone || ends[character].begin != BestEnd::kUnreached, where_,
                             "the text has an unknown character, and there is no unknown token (unk_id)");
        offer(ends[character], {before + unknown_score, unknown_, static_cast<uint32_t>(begin)});
      }
      begin = character;
    }
  }

  // The first of equal ones stays.
  static void offer(BestEnd& end, const BestEnd& candidate) {
    if (end.begin == BestEnd::kUnreached || candidate.score > end.score) {
      end = candidate;
    }
  }

  // From the end back to the beginning; unknown neighbours are one token.
  void append_best(std::string_view piece, const std::vector<BestEnd>& ends, std::vector<ModelToken>& tokens) const {
    const size_t first = tokens.size();
    for (size_t end = piece.size(); end > 0;) {
      size_t begin = ends[end].begin;
      const int32_t id = ends[end].id;
      while (id == unknown_ && begin > 0 && ends[begin].id == unknown_) {
        begin = ends[begin].begin;
      }
      append_token(piece, {id, static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, tokens);
      end = begin;
    }
    std::reverse(tokens.begin() + static_cast<ptrdiff_t>(first), tokens.end());
  }

  // In reverse order.
  void append_token(std::string_view piece, ModelToken token, std::vector<ModelToken>& tokens) const {
    if (token.id != unknown_) {
      tokens.push_back(token);
      return;
    }
    const std::string_view text = piece.substr(token.begin, token.end - token.begin);
    if (const int32_t known = find(text); known != TokenTable::kNone && !is_special(known)) {
      tokens.push_back({known, token.begin, token.end});
      return;
    }
    const bool spelled = !bytes_.empty() && std::ranges::all_of(text, [&](char byte) {
      return bytes_[static_cast<unsigned char>(byte)] != TokenTable::kNone;
    });
    if (!spelled) {
      tokens.push_back(token);
      return;
    }
    for (size_t i = text.size(); i-- > 0;) {
      tokens.push_back({bytes_[static_cast<unsigned char>(text[i])], token.begin, token.end});
    }
  }

  std::string where_;
  std::vector<double> scores_;
  double lowest_ = std::numeric_limits<double>::infinity();
  std::vector<int32_t> bytes_;
  ByteTrie trie_;
};

}  // namespace

TokenModelPtr make_unigram(const JsonValue& json) { return std::make_unique<Unigram>(json); }

}  // namespace heed::huggingface
