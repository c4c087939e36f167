#include <algorithm>
#include <charconv>
#include <cstdlib>

#include "text/chat/template/operations.h"
#include "text/chat/template/syntax/parser.h"

namespace heed::chat {

void Parser::expect_symbol(std::string_view symbol) {
  if (!take_symbol(symbol)) {
    refuse("expected '{}', found {}", symbol, found());
  }
}

std::string Parser::expect_name(std::string_view what) {
  if (!sees(Token::Kind::name)) {
    refuse("expected {}, found {}", what, found());
  }
  return take().text;
}

std::string Parser::found() const {
  using Kind = Token::Kind;
  const Kind kind = peek().kind;
  return kind == Kind::end                                         ? "the end of the template"
         : kind == Kind::text                                      ? "text"
         : kind == Kind::output_end || kind == Kind::block_end     ? "the end of the tag"
         : kind == Kind::output_begin || kind == Kind::block_begin ? "a tag"
         : kind == Kind::string                                    ? "a text"
                                                                   : "'" + peek().text + "'";
}

void Parser::nest() {
  if (++nesting_ > kMaxNesting) {
    refuse("more than {} expressions and statements inside each other, the limit", kMaxNesting);
  }
}

int Parser::deepened(int depth) const {
  if (depth > kMaxTreeDepth) {
    refuse("an expression of more than {} levels, the limit", kMaxTreeDepth);
  }
  return depth;
}

Expression Parser::made(Expression::Kind kind, std::vector<Expression> parts) const {
  Expression whole{.kind = kind, .line = parts.empty() ? peek().line : parts.front().line};
  for (const Expression& part : parts) {
    whole.depth = std::max(whole.depth, deepened(part.depth + 1));
  }
  whole.parts = std::move(parts);
  return whole;
}

void Parser::grow(Expression& whole, Expression part) const {
  whole.depth = std::max(whole.depth, deepened(part.depth + 1));
  whole.parts.push_back(std::move(part));
}

Expression Parser::literal(Value value) const {
  Expression whole = made(Expression::Kind::literal);
  whole.value = std::move(value);
  return whole;
}

namespace {

std::vector<Expression> together(Expression first) {
  std::vector<Expression> parts;
  parts.push_back(std::move(first));
  return parts;
}

std::vector<Expression> together(Expression first, Expression second) {
  std::vector<Expression> parts = together(std::move(first));
  parts.push_back(std::move(second));
  return parts;
}

}  // namespace

// "a, b" is a tuple without parentheses.
Expression Parser::tuple(Conditions conditions) {
  Expression first = expression(conditions);
  if (!sees_symbol(",")) {
    return first;
  }
  Expression all = made(Expression::Kind::tuple, together(std::move(first)));
  while (take_symbol(",")) {
    if (sees(Token::Kind::block_end) || sees(Token::Kind::output_end) || sees_symbol(")") || sees_symbol("=")) {
      break;
    }
    grow(all, expression(conditions));
  }
  return all;
}

Expression Parser::expression(Conditions conditions) {
  nest();
  Expression value = either();
  while (conditions == Conditions::taken && take_word("if")) {
    Expression condition = either();
    Expression otherwise = take_word("else") ? expression() : Expression{};
    Expression whole = made(Expression::Kind::conditional, together(std::move(value), std::move(condition)));
    grow(whole, std::move(otherwise));
    value = std::move(whole);
  }
  --nesting_;
  return value;
}

Expression Parser::either() {
  Expression left = both();
  while (take_word("or")) {
    left = made(Expression::Kind::logical_or, together(std::move(left), both()));
  }
  return left;
}

Expression Parser::both() {
  Expression left = negation();
  while (take_word("and")) {
    left = made(Expression::Kind::logical_and, together(std::move(left), negation()));
  }
  return left;
}

Expression Parser::negation() {
  if (!take_word("not")) {
    return comparison();
  }
  nest();
  Expression whole = made(Expression::Kind::logical_not, together(negation()));
  --nesting_;
  return whole;
}

std::optional<Operator> Parser::comparing() {
  constexpr std::pair<std::string_view, Operator> kSymbols[] = {
      {"==", Operator::equal},  {"!=", Operator::not_equal},  {"<", Operator::less},
      {">", Operator::greater}, {"<=", Operator::less_equal}, {">=", Operator::greater_equal}};
  for (const auto& [symbol, meaning] : kSymbols) {
    if (take_symbol(symbol)) {
      return meaning;
    }
  }
  if (take_word("in")) {
    return Operator::in;
  }
  if (sees_word("not") && peek(1).kind == Token::Kind::name && peek(1).text == "in") {
    take();
    take();
    return Operator::not_in;
  }
  return std::nullopt;
}

Expression Parser::comparison() {
  Expression first = sum();
  std::optional<Operator> meaning = comparing();
  if (!meaning) {
    return first;
  }
  Expression chain = made(Expression::Kind::compare, together(std::move(first)));
  for (; meaning; meaning = comparing()) {
    chain.operators.push_back(*meaning);
    grow(chain, sum());
  }
  return chain;
}

Expression Parser::arithmetic(Expression (Parser::*next)(),
                              std::initializer_list<std::pair<std::string_view, Operator>> operators) {
  Expression left = (this->*next)();
  while (true) {
    const auto* found = std::ranges::find_if(operators, [this](const auto& one) { return sees_symbol(one.first); });
    if (found == operators.end()) {
      return left;
    }
    take();
    left = made(Expression::Kind::arithmetic, together(std::move(left), (this->*next)()));
    left.operators.push_back(found->second);
  }
}

Expression Parser::sum() {
  return arithmetic(&Parser::concatenation, {{"+", Operator::add}, {"-", Operator::subtract}});
}

Expression Parser::concatenation() {
  Expression first = product();
  if (!sees_symbol("~")) {
    return first;
  }
  Expression all = made(Expression::Kind::concat, together(std::move(first)));
  while (take_symbol("~")) {
    grow(all, product());
  }
  return all;
}

Expression Parser::product() {
  return arithmetic(
      &Parser::power,
      {{"*", Operator::multiply}, {"/", Operator::divide}, {"//", Operator::divide_down}, {"%", Operator::modulo}});
}

Expression Parser::power() {
  Expression left = signed_value(Filters::taken);
  while (take_symbol("**")) {
    left = made(Expression::Kind::arithmetic, together(std::move(left), signed_value(Filters::taken)));
    left.operators.push_back(Operator::power);
  }
  return left;
}

Expression Parser::signed_value(Filters filters) {
  nest();
  Expression value;
  if (take_symbol("-")) {
    value = made(Expression::Kind::minus, together(signed_value(Filters::left)));
  } else if (take_symbol("+")) {
    value = made(Expression::Kind::plus, together(signed_value(Filters::left)));
  } else {
    value = primary();
  }
  value = postfix(std::move(value));
  if (filters == Filters::taken) {
    value = filters_and_tests(std::move(value));
  }
  --nesting_;
  return value;
}

Expression Parser::primary() {
  if (sees(Token::Kind::name)) {
    const std::string name = take().text;
    if (name == "true" || name == "True" || name == "false" || name == "False") {
      return literal(name == "true" || name == "True");
    }
    if (name == "none" || name == "None") {
      return literal(None{});
    }
    if (name == "self" || name == "super" || name == "cycler" || name == "joiner" || name == "lipsum") {
      refuse("'{}' is not known here", name);
    }
    Expression whole = made(Expression::Kind::name);
    whole.text = name;
    return whole;
  }
  if (sees(Token::Kind::string)) {
    std::string text;
    while (sees(Token::Kind::string)) {
      text += take().text;
    }
    return literal(constant(text));
  }
  if (sees(Token::Kind::integer)) {
    const std::string digits = take().text;
    int64_t number = 0;
    if (std::from_chars(digits.data(), digits.data() + digits.size(), number).ec != std::errc{}) {
      refuse("{} is too large for a whole number", digits);
    }
    return literal(number);
  }
  if (sees(Token::Kind::real)) {
    return literal(std::strtod(take().text.c_str(), nullptr));
  }
  if (take_symbol("(")) {
    Expression inside = take_symbol(")") ? made(Expression::Kind::tuple) : tuple();
    if (inside.kind != Expression::Kind::tuple || !inside.parts.empty()) {
      expect_symbol(")");
    }
    return inside;
  }
  return list_or_dict();
}

Expression Parser::list_or_dict() {
  if (!sees_symbol("[") && !sees_symbol("{")) {
    refuse("expected a value, found {}", found());
  }
  const bool list = take().text == "[";
  const std::string_view end = list ? "]" : "}";
  Expression all = made(list ? Expression::Kind::list : Expression::Kind::dict);
  while (!take_symbol(end)) {
    if (!all.parts.empty()) {
      expect_symbol(",");
      if (take_symbol(end)) {
        break;
      }
    }
    grow(all, expression());
    if (!list) {
      expect_symbol(":");
      grow(all, expression());
    }
  }
  return all;
}

Expression Parser::postfix(Expression value) {
  while (true) {
    if (take_symbol(".")) {
      if (sees(Token::Kind::integer)) {
        value = made(Expression::Kind::item, together(std::move(value), primary()));
        continue;
      }
      std::string name = expect_name("a name after '.'");
      if (name.starts_with("__")) {
        refuse("the attribute '{}' is not allowed: names with '__' lead out of the template", name);
      }
      value = made(Expression::Kind::attribute, together(std::move(value)));
      value.text = std::move(name);
    } else if (take_symbol("[")) {
      value = subscript(std::move(value));
    } else if (sees_symbol("(")) {
      if (value.kind == Expression::Kind::name) {
        called_.emplace_back(value.text, peek().line);
      } else if (value.kind != Expression::Kind::attribute) {
        refuse("only functions, macros and methods can be called");
      } else if (!is_method(value.text)) {
        refuse("the method '{}' is not known", value.text);
      }
      value = made(Expression::Kind::call, together(std::move(value)));
      arguments(value);
    } else {
      return value;
    }
  }
}

// What follows '['.
Expression Parser::subscript(Expression value) {
  std::vector<Expression> bounds(1);
  bool slice = false;
  while (!take_symbol("]")) {
    if (take_symbol(":")) {
      slice = true;
      bounds.emplace_back();
    } else if (bounds.back().kind == Expression::Kind::absent) {
      bounds.back() = expression();
    } else {
      refuse("expected ']', found {}", found());
    }
  }
  if (bounds.size() > 3 || (!slice && bounds[0].kind == Expression::Kind::absent)) {
    refuse("expected an index, or a slice of at most three parts");
  }
  Expression whole = made(slice ? Expression::Kind::slice : Expression::Kind::item, together(std::move(value)));
  bounds.resize(slice ? 3 : 1);
  for (Expression& bound : bounds) {
    grow(whole, std::move(bound));
  }
  return whole;
}

Expression Parser::filters_and_tests(Expression value) {
  while (true) {
    if (take_symbol("|")) {
      value = filter(std::move(value));
    } else if (take_word("is")) {
      value = test(std::move(value));
    } else if (sees_symbol("(")) {
      value = postfix(std::move(value));
    } else {
      return value;
    }
  }
}

// What follows '|'.
Expression Parser::filter(Expression value) {
  Expression whole = made(Expression::Kind::filter, together(std::move(value)));
  whole.line = peek().line;
  whole.text = expect_name("a filter's name");
  if (!is_filter(whole.text)) {
    refuse_at(whole.line, "the filter '{}' is not known", whole.text);
  }
  if (sees_symbol("(")) {
    arguments(whole);
  }
  return whole;
}

// What follows 'is'. A test takes one argument without parentheses too.
Expression Parser::test(Expression value) {
  const bool negated = take_word("not");
  Expression whole = made(Expression::Kind::test, together(std::move(value)));
  whole.line = peek().line;
  whole.text = expect_name("a test's name");
  if (!is_test(whole.text)) {
    refuse_at(whole.line, "the test '{}' is not known", whole.text);
  }
  using Kind = Token::Kind;
  const bool word = sees(Kind::name) && !sees_word("else") && !sees_word("or") && !sees_word("and") &&
                    !sees_word("is") && !sees_word("if") && !sees_word("in") && !sees_word("not");
  if (sees_symbol("(")) {
    arguments(whole);
  } else if (word || sees(Kind::string) || sees(Kind::integer) || sees(Kind::real) || sees_symbol("[") ||
             sees_symbol("{")) {
    nest();
    grow(whole, postfix(primary()));
    --nesting_;
  }
  return negated ? made(Expression::Kind::logical_not, together(std::move(whole))) : whole;
}

// From '(' to ')', into the call's parts.
void Parser::arguments(Expression& call) {
  expect_symbol("(");
  const size_t before = call.parts.size();
  while (!take_symbol(")")) {
    if (call.parts.size() > before) {
      expect_symbol(",");
      if (take_symbol(")")) {
        break;
      }
    }
    if (sees_symbol("*") || sees_symbol("**")) {
      refuse("'*' before an argument is not known");
    }
    const bool named = sees(Token::Kind::name) && peek(1).kind == Token::Kind::symbol && peek(1).text == "=";
    if (named) {
      call.names.push_back(take().text);
      take();
    } else if (!call.names.empty()) {
      refuse("an argument without a name after one with a name");
    }
    grow(call, expression());
  }
}

}  // namespace heed::chat
