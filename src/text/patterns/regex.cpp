// Regular expressions: the tree becomes a nondeterministic automaton, and that a deterministic one.
#include <algorithm>
#include <map>
#include <utility>

#include "base/errors.h"
#include "text/patterns/byte_automaton.h"
#include "text/patterns/regex_expression.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr size_t kMaxPieces = 200'000, kMaxStates = 100'000, kMaxWork = 50'000'000;

// A state that reads a byte, or goes to other states without one.
struct RegexPiece {
  uint8_t first = 1, last = 0;
  int32_t to = -1;            // after the byte
  std::vector<int32_t> free;  // without one
};

// Built from the end: each part knows the state that comes after it.
class RegexPieces {
 public:
  static constexpr int32_t kAccept = 0;

  RegexPieces() : pieces_(1) {}

  int32_t add(const RegexExpression& expression, int32_t after) {
    require<ConfigError>(++parts_ <= kMaxPieces, "regular expression", "it is too large");
    switch (expression.kind) {
      case RegexExpression::Kind::sequence:
        for (auto part = expression.parts.rbegin(); part != expression.parts.rend(); ++part) {
          after = add(*part, after);
        }
        return after;
      case RegexExpression::Kind::choice: {
        std::vector<int32_t> starts;
        for (const RegexExpression& part : expression.parts) {
          starts.push_back(add(part, after));
        }
        return any_of(std::move(starts));
      }
      case RegexExpression::Kind::repeat:
        return repeat(expression, after);
      default:
        return read(expression.set, after);
    }
  }

  std::vector<RegexPiece> pieces() { return std::move(pieces_); }

 private:
  int32_t push(RegexPiece piece) {
    require<ConfigError>(pieces_.size() < kMaxPieces, "regular expression", "it is too large");
    pieces_.push_back(std::move(piece));
    return static_cast<int32_t>(pieces_.size()) - 1;
  }

  int32_t any_of(std::vector<int32_t> starts) {
    std::ranges::sort(starts);
    starts.erase(std::unique(starts.begin(), starts.end()), starts.end());
    return starts.size() == 1 ? starts.front() : push({.free = std::move(starts)});
  }

  int32_t repeat(const RegexExpression& expression, int32_t after) {
    const RegexExpression& part = expression.parts.front();
    int32_t start = after;
    if (expression.most == RegexExpression::kAny) {
      start = push({.free = {}});
      const int32_t body = add(part, start);
      pieces_[static_cast<size_t>(start)].free = {body, after};
    }
    for (int64_t i = expression.least; i < expression.most; ++i) {
      start = any_of({add(part, start), after});
    }
    for (int64_t i = 0; i < expression.least; ++i) {
      start = add(part, start);
    }
    return start;
  }

  int32_t read(const CodePointSet& set, int32_t after) {
    std::vector<int32_t> starts;
    for (const CodePoints& range : set) {
      split(range.first, std::min<char32_t>(range.last, 0xD7FF), after, starts);
      split(std::max<char32_t>(range.first, 0xE000), range.last, after, starts);
    }
    return any_of(std::move(starts));
  }

  // Splits a range into ranges of code points whose UTF-8 is one range for each byte.
  void split(char32_t first, char32_t last, int32_t after, std::vector<int32_t>& starts) {
    if (first > last) {
      return;
    }
    for (const char32_t limit : {0x7F, 0x7FF, 0xFFFF}) {
      if (first <= limit && limit < last) {
        split(first, limit, after, starts);
        split(limit + 1, last, after, starts);
        return;
      }
    }
    const int size = first <= 0x7F ? 1 : first <= 0x7FF ? 2 : first <= 0xFFFF ? 3 : 4;
    for (int i = 1; i < size; ++i) {
      const char32_t low = (char32_t{1} << static_cast<unsigned>(6 * i)) - 1;
      if ((first & ~low) == (last & ~low)) {
        continue;
      }
      const char32_t at = (first & low) != 0 ? first | low : (last & low) != low ? (last & ~low) - 1 : last;
      if (at != last) {
        split(first, at, after, starts);
        split(at + 1, last, after, starts);
        return;
      }
    }
    const std::string from = to_utf8({&first, 1}), to = to_utf8({&last, 1});
    for (size_t i = from.size(); i-- > 0;) {
      after = push({static_cast<uint8_t>(from[i]), static_cast<uint8_t>(to[i]), after, {}});
    }
    starts.push_back(after);
  }

  std::vector<RegexPiece> pieces_;
  size_t parts_ = 0;  // of the expression, repeats counted
};

// The subset construction: each state is the set of pieces that what was read may have led to.
class RegexStates {
 public:
  explicit RegexStates(std::vector<RegexPiece> pieces) : pieces_(std::move(pieces)), seen_(pieces_.size()) {}

  std::vector<ByteAutomaton::Node> build(int32_t start) {
    state_of({start});
    for (size_t i = 0; i < sets_.size(); ++i) {
      ByteAutomaton::Node node;
      node.accepts = std::ranges::binary_search(*sets_[i], RegexPieces::kAccept);
      add_edges(*sets_[i], node);
      nodes_.push_back(std::move(node));
    }
    return std::move(nodes_);
  }

 private:
  using Set = std::vector<int32_t>;

  void add_edges(const Set& set, ByteAutomaton::Node& node) {
    std::vector<int> borders;
    for (const int32_t piece : set) {
      if (piece != RegexPieces::kAccept) {
        borders.push_back(pieces_[static_cast<size_t>(piece)].first);
        borders.push_back(pieces_[static_cast<size_t>(piece)].last + 1);
      }
    }
    std::ranges::sort(borders);
    borders.erase(std::unique(borders.begin(), borders.end()), borders.end());
    for (size_t b = 0; b + 1 < borders.size(); ++b) {
      Set next;
      for (const int32_t number : set) {
        const RegexPiece& piece = pieces_[static_cast<size_t>(number)];
        if (piece.first <= borders[b] && borders[b] <= piece.last) {
          next.push_back(piece.to);
        }
      }
      work_ += set.size();
      require<ConfigError>(work_ <= kMaxWork, "regular expression", "it is too large");
      if (!next.empty()) {
        node.edges.push_back(
            {static_cast<uint8_t>(borders[b]), static_cast<uint8_t>(borders[b + 1] - 1), state_of(std::move(next))});
      }
    }
  }

  ByteAutomaton::State state_of(Set to_visit) {
    Set set;
    ++visit_;
    while (!to_visit.empty()) {
      const int32_t number = to_visit.back();
      to_visit.pop_back();
      if (std::exchange(seen_[static_cast<size_t>(number)], visit_) == visit_) {
        continue;
      }
      const RegexPiece& piece = pieces_[static_cast<size_t>(number)];
      if (piece.to >= 0 || number == RegexPieces::kAccept) {
        set.push_back(number);
      }
      to_visit.insert(to_visit.end(), piece.free.begin(), piece.free.end());
      work_ += 1 + piece.free.size();
      require<ConfigError>(work_ <= kMaxWork, "regular expression", "it is too large");
    }
    std::ranges::sort(set);
    const auto [found, is_new] = states_.try_emplace(std::move(set), static_cast<int32_t>(states_.size()));
    if (is_new) {
      require<ConfigError>(states_.size() <= kMaxStates, "regular expression", "it is too large");
      sets_.push_back(&found->first);
    }
    return found->second;
  }

  std::vector<RegexPiece> pieces_;
  std::vector<int64_t> seen_;
  int64_t visit_ = 0;
  size_t work_ = 0;
  std::map<Set, ByteAutomaton::State> states_;
  std::vector<const Set*> sets_;
  std::vector<ByteAutomaton::Node> nodes_;
};

}  // namespace

ByteAutomaton automaton_of_regex(std::string_view expression) {
  require<ConfigError>(!find_invalid_utf8(expression), "regular expression", "it is not UTF-8");
  RegexPieces pieces;
  const int32_t start = pieces.add(parse_regex(expression), RegexPieces::kAccept);
  return ByteAutomaton(RegexStates(pieces.pieces()).build(start));
}

}  // namespace heed
