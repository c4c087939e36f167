// A backtracking matcher with a stack of its own. An expression becomes instructions; a choice puts the other way on
// the stack. Its steps are limited, so an expression that would go through exponentially many ways ends in an error.
#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "text/huggingface/characters/characters.h"
#include "text/huggingface/regex/pattern.h"
#include "text/huggingface/regex/regex_tree.h"

namespace heed::huggingface {
namespace {

using Kind = RegexNode::Kind;
using Greed = RegexNode::Greed;

constexpr size_t kMaxInstructions = 50'000;
constexpr size_t kMaxStack = 1'000'000;

struct Instruction {
  enum class Code : uint8_t {
    set,      // one character of set `a`
    run,      // `least` to `most` characters of set `a`
    fork,     // go on at `a`, or else at `b`
    jump,     // to `a`
    look,     // the program from `a` on must match here, then on at `b`
    atomic,   // the first match of the program from `a` on, then on at `b`
    enter,    // remember the position in register `a`
    advance,  // go back unless the position has left that of register `a`
    assert_here,
    accept,
  };

  Code code = Code::accept;
  Greed greed = Greed::greedy;
  Kind assertion = Kind::text_begin;
  bool negated = false, behind = false;
  uint32_t a = 0, b = 0;
  uint32_t least = 0, most = 0;
};

using Code = Instruction::Code;

struct Program {
  std::vector<Instruction> code;
  std::vector<CodePoints> sets;
  uint32_t registers = 0;
};

bool can_be_empty(const RegexNode& node) {
  const auto all = [&] { return std::ranges::all_of(node.parts, can_be_empty); };
  switch (node.kind) {
    case Kind::set:
      return false;
    case Kind::choice:
      return std::ranges::any_of(node.parts, can_be_empty);
    case Kind::repeat:
      return node.least == 0 || all();
    case Kind::sequence:
    case Kind::atomic:
      return all();
    default:
      return true;
  }
}

class Compiler {
 public:
  explicit Compiler(std::string_view where) : where_(where) {}

  Program compile(const RegexNode& tree) {
    emit(tree);
    put({.code = Code::accept});
    return std::move(program_);
  }

 private:
  uint32_t here() const { return static_cast<uint32_t>(program_.code.size()); }

  uint32_t put(Instruction instruction) {
    require<FormatError>(program_.code.size() < kMaxInstructions, where_,
                         "the regular expression is too large: more than {} steps", kMaxInstructions);
    program_.code.push_back(instruction);
    return here() - 1;
  }

  uint32_t set_number(const CodePoints& set) {
    program_.sets.push_back(set);
    return static_cast<uint32_t>(program_.sets.size() - 1);
  }

  void emit(const RegexNode& node) {
    // Parts without instructions may be repeated too.
    require<FormatError>(++parts_ < 10 * kMaxInstructions, where_, "the regular expression repeats too much");
    switch (node.kind) {
      case Kind::sequence:
        for (const RegexNode& part : node.parts) {
          emit(part);
        }
        break;
      case Kind::choice:
        emit_choice(node);
        break;
      case Kind::repeat:
        emit_repeat(node);
        break;
      case Kind::set:
        put({.code = Code::set, .a = set_number(node.set)});
        break;
      case Kind::look:
      case Kind::atomic: {
        const uint32_t at = put({.code = node.kind == Kind::look ? Code::look : Code::atomic,
                                 .negated = node.negated,
                                 .behind = node.behind});
        emit_inner(node.parts.front(), at);
        break;
      }
      default:
        put({.code = Code::assert_here, .assertion = node.kind, .negated = node.negated});
    }
  }

  void emit_inner(const RegexNode& part, uint32_t at) {
    program_.code[at].a = here();
    emit(part);
    put({.code = Code::accept});
    program_.code[at].b = here();
  }

  void emit_choice(const RegexNode& node) {
    std::vector<uint32_t> ends;
    for (size_t i = 0; i + 1 < node.parts.size(); ++i) {
      const uint32_t fork = put({.code = Code::fork});
      program_.code[fork].a = here();
      emit(node.parts[i]);
      ends.push_back(put({.code = Code::jump}));
      program_.code[fork].b = here();
    }
    emit(node.parts.back());
    for (const uint32_t end : ends) {
      program_.code[end].a = here();
    }
  }

  void emit_repeat(const RegexNode& node) {
    const RegexNode& part = node.parts.front();
    if (part.kind == Kind::set) {
      put({.code = Code::run, .greed = node.greed, .a = set_number(part.set), .least = node.least, .most = node.most});
    } else if (node.greed == Greed::possessive) {
      const uint32_t at = put({.code = Code::atomic});
      RegexNode greedy = node;
      greedy.greed = Greed::greedy;
      emit_inner(greedy, at);
    } else {
      emit_loop(node, part);
    }
  }

  // A fork whose preferred way is the next instruction, or (lazy) the other.
  void set_fork(uint32_t fork, uint32_t more, uint32_t out, Greed greed) {
    program_.code[fork].a = greed == Greed::lazy ? out : more;
    program_.code[fork].b = greed == Greed::lazy ? more : out;
  }

  void emit_loop(const RegexNode& node, const RegexNode& part) {
    for (uint32_t i = 0; i < node.least; ++i) {
      emit(part);
    }
    if (node.most == RegexNode::kAny) {
      const bool guarded = can_be_empty(part);
      const uint32_t fork = put({.code = Code::fork});
      const uint32_t body = here();
      const uint32_t number = guarded ? program_.registers++ : 0;
      if (guarded) {
        put({.code = Code::enter, .a = number});
      }
      emit(part);
      if (guarded) {
        put({.code = Code::advance, .a = number});
      }
      put({.code = Code::jump, .a = fork});
      set_fork(fork, body, here(), node.greed);
      return;
    }
    std::vector<uint32_t> forks;
    for (uint32_t i = node.least; i < node.most; ++i) {
      forks.push_back(put({.code = Code::fork}));
      emit(part);
    }
    for (const uint32_t fork : forks) {
      set_fork(fork, fork + 1, here(), node.greed);
    }
  }

  std::string_view where_;
  Program program_;
  size_t parts_ = 0;
};

constexpr size_t kFailed = std::string_view::npos;

class Matcher {
 public:
  Matcher(const Program& program, std::string_view text, std::string_view where)
      : program_(program),
        text_(text),
        where_(where),
        registers_(program.registers, kFailed),
        steps_(100'000 + 5'000 * text.size()) {}

  // The end of the match that begins at `at`.
  size_t match(size_t at, size_t last_end) {
    last_end_ = last_end;
    return run(0, at);
  }

 private:
  struct Way {
    enum class Kind : uint8_t { go, shorter, longer, restore } kind;
    uint32_t a = 0;  // the instruction, or a register
    size_t at = 0;   // the position, or the register's value
    size_t low = 0;  // shorter: the least position; longer: how many more may follow
    uint32_t set = 0;
  };

  void count_step() {
    require<FormatError>(steps_-- > 0, where_, "the regular expression takes too many steps on a text of {} bytes",
                         text_.size());
  }

  void push(Way way) {
    require<FormatError>(ways_.size() < kMaxStack, where_, "the regular expression goes too deep on a text of {} bytes",
                         text_.size());
    ways_.push_back(way);
  }

  bool in_set(uint32_t set, size_t at, size_t& end) const {
    if (at >= text_.size()) {
      return false;
    }
    const auto [value, size] = decode_character(text_.data() + at);
    end = at + size;
    return program_.sets[set].contains(value);
  }

  size_t before(size_t at) const {
    do {
      --at;
    } while (at > 0 && continues_character(text_[at]));
    return at;
  }

  bool is_word(size_t at) const {
    static const CodePoints kWords = word_code_points();
    return at < text_.size() && kWords.contains(decode_character(text_.data() + at).value);
  }

  bool holds(const Instruction& code, size_t at) const {
    switch (code.assertion) {
      case Kind::text_begin:
        return at == 0;
      case Kind::text_end:
        return at == text_.size();
      case Kind::text_end_line:
        return at == text_.size() || (at + 1 == text_.size() && text_[at] == '\n');
      case Kind::line_begin:
        return at == 0 || (text_[at - 1] == '\n' && at < text_.size());
      case Kind::line_end:
        return at == text_.size() || text_[at] == '\n';
      case Kind::last_end:
        return at == last_end_;
      default:
        return (is_word(at) != (at > 0 && is_word(before(at)))) != code.negated;
    }
  }

  // Whether something that the program from `begin` on matches ends at `at`.
  bool ends_here(uint32_t begin, size_t at) {
    for (size_t start = at;; start = before(start)) {
      count_step();
      const size_t wanted = std::exchange(wanted_end_, at);
      const size_t end = run(begin, start);
      wanted_end_ = wanted;
      if (end == at) {
        return true;
      }
      if (start == 0) {
        return false;
      }
    }
  }

  bool look(const Instruction& code, size_t at) {
    const size_t wanted = std::exchange(wanted_end_, kFailed);
    const bool found = code.behind ? ends_here(code.a, at) : run(code.a, at) != kFailed;
    wanted_end_ = wanted;
    return found != code.negated;
  }

  size_t run_set(const Instruction& code, uint32_t next, size_t at) {
    size_t end = at, count = 0, step = 0;
    size_t low = code.least == 0 ? at : kFailed;
    const uint32_t most = code.greed == Greed::lazy ? code.least : code.most;
    while (count < most && in_set(code.a, end, step)) {
      end = step;
      if (++count == code.least) {
        low = end;
      }
    }
    if (count < code.least) {
      return kFailed;
    }
    if (code.greed == Greed::greedy && end > low) {
      push({Way::Kind::shorter, next, end, low});
    } else if (code.greed == Greed::lazy && code.most > code.least) {
      push({Way::Kind::longer, next, end, code.most - code.least, code.a});
    }
    return end;
  }

  // Takes the next way from the stack; false when none above `base` is left.
  bool back(size_t base, uint32_t& pc, size_t& at) {
    while (ways_.size() > base) {
      Way way = ways_.back();
      ways_.pop_back();
      pc = way.a;
      at = way.at;
      switch (way.kind) {
        case Way::Kind::go:
          return true;
        case Way::Kind::restore:
          registers_[way.a] = way.at;
          break;
        case Way::Kind::shorter:
          at = before(way.at);
          if (at > way.low) {
            way.at = at;
            ways_.push_back(way);
          }
          return true;
        case Way::Kind::longer:
          if (size_t end = 0; in_set(way.set, way.at, end)) {
            at = way.at = end;
            if (--way.low > 0) {
              ways_.push_back(way);
            }
            return true;
          }
      }
    }
    return false;
  }

  // The end of the first match of the program from `pc` on; the stack is as before.
  size_t run(uint32_t pc, size_t at) {
    const size_t base = ways_.size();
    while (true) {
      count_step();
      if (const Instruction& code = program_.code[pc]; code.code == Code::accept) {
        if (wanted_end_ == kFailed || at == wanted_end_) {
          while (ways_.size() > base) {
            if (ways_.back().kind == Way::Kind::restore) {
              registers_[ways_.back().a] = ways_.back().at;
            }
            ways_.pop_back();
          }
          return at;
        }
      } else if (step(code, pc, at)) {
        continue;
      }
      if (!back(base, pc, at)) {
        return kFailed;
      }
    }
  }

  bool step(const Instruction& code, uint32_t& pc, size_t& at) {
    switch (code.code) {
      case Code::set: {
        size_t end = 0;
        if (!in_set(code.a, at, end)) {
          return false;
        }
        at = end;
        ++pc;
        return true;
      }
      case Code::run:
        at = run_set(code, pc + 1, at);
        ++pc;
        return at != kFailed;
      case Code::fork:
        push({Way::Kind::go, code.b, at});
        pc = code.a;
        return true;
      case Code::jump:
        pc = code.a;
        return true;
      case Code::look:
        pc = code.b;
        return look(code, at);
      case Code::atomic: {
        const size_t wanted = std::exchange(wanted_end_, kFailed);
        at = run(code.a, at);
        wanted_end_ = wanted;
        pc = code.b;
        return at != kFailed;
      }
      case Code::enter:
        push({Way::Kind::restore, code.a, registers_[code.a]});
        registers_[code.a] = at;
        ++pc;
        return true;
      case Code::advance:
        // Oniguruma leaves the loop after an empty pass.
        pc = registers_[code.a] == at ? pc + 2 : pc + 1;
        return true;
      default:
        ++pc;
        return holds(code, at);
    }
  }

  const Program& program_;
  std::string_view text_, where_;
  std::vector<size_t> registers_;
  std::vector<Way> ways_;
  size_t steps_;
  size_t last_end_ = 0;
  size_t wanted_end_ = kFailed;  // inside of what looks behind
};

class BacktrackingPattern final : public Pattern {
 public:
  BacktrackingPattern(std::string_view expression, std::string_view where)
      : where_(where), program_(Compiler(where).compile(parse_regex_tree(expression, where))) {}

  // After an empty match right behind the last match, the search goes on a character later.
  void find_all(std::string_view text, std::vector<ByteRange>& matches) const override {
    Matcher matcher(program_, text, where_);
    size_t search = 0, last_end = 0;
    bool matched = false;
    for (size_t at = 0; at <= text.size();) {
      const size_t end = matcher.match(at, search);
      if (end == kFailed || (end == at && matched && end == last_end)) {
        at += at < text.size() ? character_size(text[at]) : 1;
        search = end == kFailed ? search : at;
        continue;
      }
      matches.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(end)});
      at = search = last_end = end;
      matched = true;
    }
  }

 private:
  std::string where_;
  Program program_;
};

class LiteralPattern final : public Pattern {
 public:
  explicit LiteralPattern(std::string text) : text_(std::move(text)) {}

  void find_all(std::string_view text, std::vector<ByteRange>& matches) const override {
    for (size_t at = text.find(text_); at != std::string_view::npos; at = text.find(text_, at + text_.size())) {
      matches.push_back({static_cast<uint32_t>(at), static_cast<uint32_t>(at + text_.size())});
    }
  }

 private:
  std::string text_;
};

}  // namespace

std::unique_ptr<Pattern> make_literal_pattern(std::string text) {
  return std::make_unique<LiteralPattern>(std::move(text));
}

std::unique_ptr<Pattern> make_backtracking_pattern(std::string_view expression, std::string_view where) {
  return std::make_unique<BacktrackingPattern>(expression, where);
}

std::unique_ptr<Pattern> make_regex_pattern(std::string_view expression, std::string_view where) {
  std::unique_ptr<Pattern> scanner = make_scanner(expression);
  return scanner ? std::move(scanner) : make_backtracking_pattern(expression, where);
}

}  // namespace heed::huggingface
