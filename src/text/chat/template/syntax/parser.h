// From tokens to a tree: expressions here, statements in statement_parser.cpp.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "base/errors.h"
#include "text/chat/template/syntax/lexer.h"
#include "text/chat/template/syntax/syntax.h"

namespace heed::chat {

class Parser {
 public:
  Parser(std::vector<Token> tokens, std::string_view where) : tokens_(std::move(tokens)), where_(where) {}

  Program program();

 private:
  template <class... Args>
  [[noreturn]] void refuse(fmt::format_string<Args...> message, Args&&... args) const {
    refuse_at(peek().line, message, std::forward<Args>(args)...);
  }
  template <class... Args>
  [[noreturn]] void refuse_at(int line, fmt::format_string<Args...> message, Args&&... args) const {
    throw FormatError(fmt::format("{}:{}: {}", where_, line, fmt::format(message, std::forward<Args>(args)...)));
  }

  // Tokens.
  const Token& peek(size_t ahead = 0) const { return tokens_[std::min(at_ + ahead, tokens_.size() - 1)]; }
  Token take() { return tokens_[at_ + 1 < tokens_.size() ? at_++ : at_]; }
  bool sees(Token::Kind kind) const { return peek().kind == kind; }
  bool sees_symbol(std::string_view symbol) const { return sees(Token::Kind::symbol) && peek().text == symbol; }
  bool sees_word(std::string_view word) const { return sees(Token::Kind::name) && peek().text == word; }
  bool take_symbol(std::string_view symbol) { return sees_symbol(symbol) && (take(), true); }
  bool take_word(std::string_view word) { return sees_word(word) && (take(), true); }
  void expect_symbol(std::string_view symbol);
  std::string expect_name(std::string_view what);
  std::string found() const;  // the next token, for errors

  // Statements.
  std::vector<Statement> body_until(std::initializer_list<std::string_view> ends);
  Statement statement();
  Statement choose();
  Statement loop();
  Statement set();
  Statement macro();
  Statement call_block();
  Statement with();
  Statement block(Statement::Kind kind, std::string_view end);
  void end_tag();
  void end_tag(std::string_view word);
  void assign(const std::string& name);
  Target target();
  std::vector<Target> loop_targets();
  std::vector<Parameter> parameters();
  Expression filters(Expression input);  // of a block
  Statement made(Statement::Kind kind) const { return {.kind = kind, .line = peek().line}; }
  void check_calls() const;

  // Expressions, from what binds least.
  enum class Conditions : uint8_t { taken, left };  // whether "a if b else c" is part of it
  Expression tuple(Conditions conditions = Conditions::taken);
  Expression expression(Conditions conditions = Conditions::taken);
  Expression either();
  Expression both();
  Expression negation();
  Expression comparison();
  Expression sum();
  Expression concatenation();
  Expression product();
  Expression power();
  enum class Filters : uint8_t { taken, left };
  Expression signed_value(Filters filters);
  Expression primary();
  Expression list_or_dict();
  Expression postfix(Expression value);
  Expression subscript(Expression value);
  Expression filters_and_tests(Expression value);
  Expression filter(Expression value);
  Expression test(Expression value);
  void arguments(Expression& call);
  Expression arithmetic(Expression (Parser::*next)(),
                        std::initializer_list<std::pair<std::string_view, Operator>> operators);
  std::optional<Operator> comparing();

  Expression made(Expression::Kind kind, std::vector<Expression> parts = {}) const;
  Expression literal(Value value) const;
  void grow(Expression& whole, Expression part) const;
  int deepened(int depth) const;
  void nest();

  std::vector<Token> tokens_;
  std::string_view where_;
  size_t at_ = 0;
  int nesting_ = 0;  // of what is being parsed
  int loops_ = 0;    // around the statement, within its macro
  bool at_top_ = true;
  Program::Generation generation_ = Program::Generation::unmarked;
  std::unordered_set<std::string> assigned_;
  std::vector<std::pair<std::string, int>> called_;  // names, and their lines
};

}  // namespace heed::chat
