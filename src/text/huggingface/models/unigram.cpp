// The unigram model: of all ways to cut a piece into tokens, the one whose scores, logarithms of probabilities, have the
// largest sum. What no token covers is unknown, at a score of 10 below the lowest.
#include <algorithm>
#include <cmath>
#include <limits>
#include <unordered_map>

#include "base/errors.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/models/byte_trie.h"
#include "text/huggingface/models/model.h"
#include "text/huggingface/models/word_cache.h"

namespace heed::huggingface {
namespace {

// The best way to cut what ends at a byte: its score and its last piece.
struct BestEnd {
  double score = 0.0;
  int32_t piece = TokenTable::kNone;
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
    read_ids(json);
    if (const auto unknown = json.find("unk_id")) {
      unknown_piece_ = static_cast<int32_t>(unknown->integer(0, static_cast<int64_t>(pieces_.size()) - 1));
      unknown_ = id_of(unknown_piece_);
    }
    ByteTrie::Texts texts;
    texts.reserve(pieces_.size());
    for (size_t i = 0; i < pieces_.size(); ++i) {
      numbers_.set(pieces_[i], static_cast<int32_t>(i));
      if (!pieces_[i].empty()) {
        texts.emplace_back(pieces_[i], static_cast<int32_t>(i));
      }
    }
    trie_ = ByteTrie(std::move(texts));
    if (json.boolean_or("byte_fallback", false)) {
      bytes_ = byte_tokens(numbers_);
    }
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
    pieces_.reserve(count);
    for (const Json& piece : json.json()) {
      const bool good = piece.is_array() && piece.size() == 2 && piece[0].is_string() && piece[1].is_number() &&
                        std::isfinite(piece[1].get<double>());
      require<FormatError>(good, fmt::format("{}[{}]", json.where(), pieces_.size()), "expected a text and its score");
      scores_.push_back(piece[1].get<double>());
      lowest_ = std::min(lowest_, scores_.back());
      pieces_.push_back(piece[0].get<std::string>());
    }
  }

  // Where a vocabulary of its own lists the ids of pieces (Marian), several pieces may be the same token, the unknown
  // one, and there may be tokens that are no pieces. This is heed's addition to the format.
  void read_ids(const JsonValue& json) {
    const auto ids = json.find("ids");
    require<FormatError>(!ids || ids->size() == pieces_.size(), ids ? ids->where() : where_,
                         "expected an id for each of {} pieces", pieces_.size());
    ids_.reserve(pieces_.size(), pieces_.size() * 8);
    for (size_t i = 0; i < pieces_.size(); ++i) {
      piece_ids_.push_back(static_cast<int32_t>(ids ? (*ids)[i].integer(0, kMaxTokenId) : static_cast<int64_t>(i)));
    }
    if (ids) {
      read_vocabulary(json.at("others"));
      has_others_ = true;
    }
    // Pieces that share a token are unknown to the vocabulary, except the one that the token is called after.
    const auto named = json.find("unk_id");
    const size_t unknown = named ? static_cast<size_t>(named->integer(0, INT32_MAX)) : pieces_.size();
    std::unordered_map<int32_t, int> uses;
    for (const int32_t id : piece_ids_) {
      ++uses[id];
    }
    for (size_t i = 0; i < pieces_.size(); ++i) {
      if (uses[piece_ids_[i]] == 1 || i == unknown) {
        add_token(pieces_[i], piece_ids_[i]);
      }
    }
  }

  int32_t id_of(int32_t piece) const { return piece_ids_[static_cast<size_t>(piece)]; }

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
        const int32_t number = trie_.value(node);
        if (number == TokenTable::kNone || (special == SpecialText::literal && is_special(id_of(number)))) {
          continue;
        }
        offer(ends[at], {before + scores_[static_cast<size_t>(number)], number, static_cast<uint32_t>(begin)});
        covered = covered || at == character;
      }
      if (!covered) {
        require<FormatError>(unknown_piece_ != TokenTable::kNone || ends[character].begin != BestEnd::kUnreached,
                             where_, "the text has an unknown character, and there is no unknown token (unk_id)");
        offer(ends[character], {before + unknown_score, unknown_piece_, static_cast<uint32_t>(begin)});
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
      const int32_t number = ends[end].piece;
      while (number == unknown_piece_ && begin > 0 && ends[begin].piece == unknown_piece_) {
        begin = ends[begin].begin;
      }
      append_token(piece, number, {static_cast<uint32_t>(begin), static_cast<uint32_t>(end)}, tokens);
      end = begin;
    }
    std::reverse(tokens.begin() + static_cast<ptrdiff_t>(first), tokens.end());
  }

  // In reverse order.
  void append_token(std::string_view piece, int32_t number, ByteRange range, std::vector<ModelToken>& tokens) const {
    const auto push = [&](int32_t found) { tokens.push_back({id_of(found), range.begin, range.end}); };
    const std::string_view text = piece.substr(range.begin, range.end - range.begin);
    if (const int32_t listed = number == unknown_piece_ && has_others_ ? ids_.find(text) : TokenTable::kNone;
        listed != TokenTable::kNone && !is_special(listed)) {
      tokens.push_back({listed, range.begin, range.end});
      return;
    }
    const int32_t known = number == unknown_piece_ ? numbers_.find(text) : TokenTable::kNone;
    if (known != TokenTable::kNone && !is_special(id_of(known))) {
      push(known);
      return;
    }
    const bool is_spelled = number == unknown_piece_ && !bytes_.empty() && std::ranges::all_of(text, [&](char byte) {
                              return bytes_[static_cast<unsigned char>(byte)] != TokenTable::kNone;
                            });
    if (!is_spelled) {
      push(number);
      return;
    }
    for (size_t i = text.size(); i-- > 0;) {
      push(bytes_[static_cast<unsigned char>(text[i])]);
    }
  }

  std::string where_;
  std::vector<std::string> pieces_;
  std::vector<double> scores_;
  std::vector<int32_t> piece_ids_;
  bool has_others_ = false;  // tokens that are no pieces: what is unknown here may be one
  TokenTable numbers_;       // of pieces, by their texts
  int32_t unknown_piece_ = TokenTable::kNone;
  double lowest_ = std::numeric_limits<double>::infinity();
  std::vector<int32_t> bytes_;  // the pieces that spell unknown text, where there are any
  ByteTrie trie_;
};

}  // namespace

TokenModelPtr make_unigram(const JsonValue& json) { return std::make_unique<Unigram>(json); }

}  // namespace heed::huggingface
