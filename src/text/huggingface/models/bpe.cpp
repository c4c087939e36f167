// Byte-pair encoding: of all neighbours that a merge joins, those with the earliest merge become one, the leftmost of
// equal ones, until none is left.
#include <algorithm>
#include <array>
#include <bit>

#include "base/errors.h"
#include "text/huggingface/characters/byte_characters.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/models/model.h"
#include "text/huggingface/models/word_cache.h"

namespace heed::huggingface {
namespace {

constexpr uint32_t kNoRank = UINT32_MAX;

struct Merge {
  uint32_t rank = kNoRank;
  int32_t id = TokenTable::kNone;
};

class MergeTable {
 public:
  explicit MergeTable(size_t merges) : slots_(std::bit_ceil(std::max<size_t>(16, merges * 2))) {}

  void set(int32_t left, int32_t right, Merge merge) {
    const uint64_t key = key_of(left, right);
    for (size_t i = hash(key) & mask();; i = (i + 1) & mask()) {
      if (slots_[i].key == key || slots_[i].key == kFree) {
        slots_[i] = {key, merge};
        return;
      }
    }
  }

  Merge find(int32_t left, int32_t right) const {
    const uint64_t key = key_of(left, right);
    for (size_t i = hash(key) & mask();; i = (i + 1) & mask()) {
      if (slots_[i].key == key || slots_[i].key == kFree) {
        return slots_[i].key == key ? slots_[i].merge : Merge{};
      }
    }
  }

 private:
  static constexpr uint64_t kFree = UINT64_MAX;
  struct Slot {
    uint64_t key = kFree;
    Merge merge;
  };

  static uint64_t key_of(int32_t left, int32_t right) {
    return static_cast<uint64_t>(static_cast<uint32_t>(left)) << 32U | static_cast<uint32_t>(right);
  }
  static size_t hash(uint64_t key) {
    key *= 0x9e3779b97f4a7c15ULL;
    return static_cast<size_t>(key ^ key >> 32U);
  }
  size_t mask() const { return slots_.size() - 1; }

  std::vector<Slot> slots_;
};

// A symbol of the word in work; neighbours are numbers of symbols, -1 where there is none.
struct Symbol {
  int32_t id;
  uint32_t size;  // bytes; 0 once it was joined to its left neighbour
  int32_t previous, next;
  Merge merge;  // with its right neighbour
};

struct Candidate {
  uint32_t rank;
  int32_t symbol;
  int32_t id;

  bool operator>(const Candidate& other) const {
    return rank != other.rank ? rank > other.rank : symbol > other.symbol;
  }
};

struct BpeState final : ModelState {
  WordCache cache;
  std::vector<Symbol> symbols;
  std::vector<Candidate> queue;
};

class Bpe final : public TokenModel {
 public:
  explicit Bpe(const JsonValue& json)
      : prefix_(json.text_or("continuing_subword_prefix", "")),
        suffix_(json.text_or("end_of_word_suffix", "")),
        fuses_unknown_(json.boolean_or("fuse_unk", false)),
        ignores_merges_(json.boolean_or("ignore_merges", false)) {
    if (const auto dropout = json.find("dropout")) {
      require<FormatError>(dropout->json().is_number() && dropout->json().get<double>() == 0.0, dropout->where(),
                           "the same text would get other tokens each time; set it to null");
    }
    read_vocabulary(json.at("vocab"));
    if (const auto unknown = json.find("unk_token")) {
      unknown_ = find(unknown->text());
      names_unknown_ = true;
      where_ = unknown->where();
    }
    if (json.boolean_or("byte_fallback", false)) {
      bytes_ = byte_tokens(ids_);
    }
    read_merges(json.at("merges"));
    for (size_t c = 0; c < ascii_.size(); ++c) {
      const char text = static_cast<char>(c);
      ascii_[c] = find({&text, 1});
    }
  }

  TokenizerKind kind() const override { return TokenizerKind::bpe; }
  std::unique_ptr<ModelState> make_state() const override { return std::make_unique<BpeState>(); }

  bool can_take_bytes() const override { return prefix_.empty() && suffix_.empty() && bytes_.empty(); }

  void take_bytes() override {
    words_ = TokenTable();
    words_.reserve(vocabulary_.size(), vocabulary_.size() * 8);
    for (const auto& [text, id] : vocabulary_) {
      if (const std::optional<std::string> bytes = bytes_from_characters(text); bytes && !bytes->empty()) {
        words_.set(*bytes, id);
      }
    }
    for (size_t byte = 0; byte < 256; ++byte) {
      const char text = static_cast<char>(byte);
      byte_ids_[byte] = words_.find({&text, 1});
    }
    as_bytes_ = true;
  }

  void tokenize(std::string_view piece, SpecialText special, ModelState& state,
                std::vector<ModelToken>& tokens) const override {
    auto& own = static_cast<BpeState&>(state);
    const bool is_short = piece.size() <= WordCache::kLongestWord;
    const uint64_t hash = is_short || ignores_merges_ ? hash_bytes(piece) : 0;
    // The cache is of the texts that never become a special token.
    if (is_short && own.cache.find(piece, hash, tokens)) {
      return;
    }
    const size_t first = tokens.size();
    bool cacheable = is_short;
    const int32_t whole = ignores_merges_ ? (as_bytes_ ? words_ : ids_).find(piece, hash) : TokenTable::kNone;
    if (whole != TokenTable::kNone && !(special == SpecialText::literal && is_special(whole))) {
      tokens.push_back({whole, 0, static_cast<uint32_t>(piece.size())});
      cacheable = cacheable && !is_special(whole);
    } else {
      cacheable = cacheable && whole == TokenTable::kNone;
      own.symbols.clear();
      if (as_bytes_) {
        start_with_bytes(piece, own.symbols);
      } else {
        start_with_characters(piece, own.symbols);
      }
      if (own.symbols.size() <= kShortWord) {
        merge_short(own.symbols);
      } else {
        merge_long(own);
      }
      uint32_t at = 0;
      for (const Symbol& symbol : own.symbols) {
        if (symbol.size > 0) {
          tokens.push_back({symbol.id, at, at + symbol.size});
          at += symbol.size;
        }
      }
    }
    if (cacheable) {
      own.cache.keep(piece, hash, tokens, first);
    }
  }

 private:
  static constexpr size_t kShortWord = 48;

  void read_merges(const JsonValue& json) {
    const size_t count = json.size();
    merges_ = MergeTable(count);
    std::string joined;
    uint32_t rank = 0;
    for (const Json& merge : json.json()) {
      const auto refuse = [&](std::string_view problem) {
        fail<FormatError>(fmt::format("{}[{}]", json.where(), &merge - &json.json().front()), "{}", problem);
      };
      std::string_view left, right;
      if (merge.is_string()) {
        const std::string_view line = merge.get_ref<const std::string&>();
        if (line.starts_with("#version")) {
          continue;
        }
        const size_t space = line.find(' ');
        if (space == std::string_view::npos || line.find(' ', space + 1) != std::string_view::npos) {
          refuse("expected two tokens with a space between them");
        }
        left = line.substr(0, space);
        right = line.substr(space + 1);
      } else {
        if (!merge.is_array() || merge.size() != 2 || !merge[0].is_string() || !merge[1].is_string()) {
          refuse("expected two tokens");
        }
        left = merge[0].get_ref<const std::string&>();
        right = merge[1].get_ref<const std::string&>();
      }
      if (right.size() < prefix_.size()) {
        refuse("the second token is shorter than the prefix of continuing tokens");
      }
      joined.assign(left).append(right.substr(prefix_.size()));
      const int32_t a = find(left), b = find(right), c = find(joined);
      for (const auto& [id, text] : {std::pair{a, left}, std::pair{b, right}, std::pair{c, std::string_view(joined)}}) {
        if (id == TokenTable::kNone) {
          refuse(fmt::format("the token '{}' is not in the vocabulary", text));
        }
      }
      merges_.set(a, b, {rank++, c});
    }
  }

  static void add(std::vector<Symbol>& symbols, int32_t id, size_t size) {
    const auto number = static_cast<int32_t>(symbols.size());
    symbols.push_back({id, static_cast<uint32_t>(size), number - 1, number + 1, {}});
  }

  // Each byte is a character of the byte-level alphabet.
  void start_with_bytes(std::string_view piece, std::vector<Symbol>& symbols) const {
    size_t unknown = 0;
    for (const char byte : piece) {
      start_with(byte_ids_[static_cast<unsigned char>(byte)], 1, unknown, symbols);
    }
    end_unknown(unknown, symbols);
  }

  void start_with_characters(std::string_view piece, std::vector<Symbol>& symbols) const {
    size_t unknown = 0;
    const bool plain = prefix_.empty() && suffix_.empty();
    std::string text;
    for (size_t at = 0; at < piece.size();) {
      const size_t size = character_size(piece[at]);
      if (plain && size == 1) {
        start_with_text(piece.substr(at, 1), 1, ascii_[static_cast<unsigned char>(piece[at])], unknown, symbols);
      } else if (plain) {
        start_with_text(piece.substr(at, size), size, find(piece.substr(at, size)), unknown, symbols);
      } else {
        text.assign(at > 0 ? prefix_ : std::string()).append(piece.substr(at, size));
        text += at + size == piece.size() ? suffix_ : std::string();
        start_with_text(text, size, find(text), unknown, symbols);
      }
      at += size;
    }
    end_unknown(unknown, symbols);
  }

  void start_with_text(std::string_view text, size_t size, int32_t id, size_t& unknown,
                       std::vector<Symbol>& symbols) const {
    if (id == TokenTable::kNone && !bytes_.empty() && std::ranges::all_of(text, [&](char byte) {
          return bytes_[static_cast<unsigned char>(byte)] != TokenTable::kNone;
        })) {
      for (const char byte : text) {
        add(symbols, bytes_[static_cast<unsigned char>(byte)], 1);
      }
      return;
    }
    start_with(id, size, unknown, symbols);
  }

  // `unknown` is how many bytes of unknown characters were seen and not yet added. Without an unknown token they
  // vanish.
  void start_with(int32_t id, size_t size, size_t& unknown, std::vector<Symbol>& symbols) const {
    if (id != TokenTable::kNone) {
      end_unknown(unknown, symbols);
      add(symbols, id, size);
    } else if (names_unknown_) {
      if (!fuses_unknown_) {
        end_unknown(unknown, symbols);
      }
      unknown += size;
    }
  }

  void end_unknown(size_t& unknown, std::vector<Symbol>& symbols) const {
    if (unknown > 0) {
      require<FormatError>(unknown_ != TokenTable::kNone, where_,
                           "the text has an unknown character, and the unknown token is not in the vocabulary");
      add(symbols, unknown_, unknown);
      unknown = 0;
    }
  }

  Merge merge_at(const std::vector<Symbol>& symbols, size_t left) const {
    const auto next = static_cast<size_t>(symbols[left].next);
    return next < symbols.size() ? merges_.find(symbols[left].id, symbols[next].id) : Merge{};
  }

  static void join(std::vector<Symbol>& symbols, size_t left, int32_t id) {
    Symbol& symbol = symbols[left];
    Symbol& right = symbols[static_cast<size_t>(symbol.next)];
    symbol.id = id;
    symbol.size += right.size;
    symbol.next = right.next;
    right.size = 0;
    if (static_cast<size_t>(right.next) < symbols.size()) {
      symbols[static_cast<size_t>(right.next)].previous = static_cast<int32_t>(left);
    }
  }

  // Looks through all neighbours for the earliest merge, again and again, closing the gaps.
  void merge_short(std::vector<Symbol>& symbols) const {
    size_t count = symbols.size();
    for (size_t i = 0; i + 1 < count; ++i) {
      symbols[i].merge = merges_.find(symbols[i].id, symbols[i + 1].id);
    }
    while (count > 1) {
      size_t best = 0;
      for (size_t i = 1; i + 1 < count; ++i) {
        best = symbols[i].merge.rank < symbols[best].merge.rank ? i : best;
      }
      if (symbols[best].merge.rank == kNoRank) {
        break;
      }
      symbols[best].id = symbols[best].merge.id;
      symbols[best].size += symbols[best + 1].size;
      std::copy(symbols.begin() + static_cast<ptrdiff_t>(best) + 2, symbols.begin() + static_cast<ptrdiff_t>(count),
                symbols.begin() + static_cast<ptrdiff_t>(best) + 1);
      --count;
      symbols[best].merge = best + 1 < count ? merges_.find(symbols[best].id, symbols[best + 1].id) : Merge{};
      if (best > 0) {
        symbols[best - 1].merge = merges_.find(symbols[best - 1].id, symbols[best].id);
      }
    }
    symbols.resize(count);
  }

  // With a queue. An entry whose neighbours have changed counts only if those that are there now make the same token.
  void merge_long(BpeState& state) const {
    std::vector<Symbol>& symbols = state.symbols;
    std::vector<Candidate>& queue = state.queue;
    queue.clear();
    for (size_t i = 0; i + 1 < symbols.size(); ++i) {
      if (const Merge merge = merge_at(symbols, i); merge.rank != kNoRank) {
        queue.push_back({merge.rank, static_cast<int32_t>(i), merge.id});
      }
    }
    std::ranges::make_heap(queue, std::greater<>());
    const auto propose = [&](size_t left) {
      if (const Merge merge = merge_at(symbols, left); merge.rank != kNoRank) {
        queue.push_back({merge.rank, static_cast<int32_t>(left), merge.id});
        std::ranges::push_heap(queue, std::greater<>());
      }
    };
    while (!queue.empty()) {
      std::ranges::pop_heap(queue, std::greater<>());
      const Candidate top = queue.back();
      queue.pop_back();
      const auto left = static_cast<size_t>(top.symbol);
      if (symbols[left].size == 0 || merge_at(symbols, left).id != top.id) {
        continue;
      }
      join(symbols, left, top.id);
      if (symbols[left].previous >= 0) {
        propose(static_cast<size_t>(symbols[left].previous));
      }
      propose(left);
    }
  }

  std::string prefix_, suffix_, where_;
  bool fuses_unknown_, ignores_merges_;
  bool names_unknown_ = false, as_bytes_ = false;
  MergeTable merges_{0};
  std::vector<int32_t> bytes_;  // the tokens that spell unknown characters, where there are any
  TokenTable words_;            // by the bytes that they stand for
  std::array<int32_t, 128> ascii_{};
  std::array<int32_t, 256> byte_ids_{};
};

}  // namespace

TokenModelPtr make_bpe(const JsonValue& json) { return std::make_unique<Bpe>(json); }

}  // namespace heed::huggingface
