#include <algorithm>
#include <array>

#include "text/chat/template/operations.h"
#include "text/chat/template/syntax/parser.h"

namespace heed::chat {

Program Parser::program() {
  Program program{.body = body_until({})};
  check_calls();
  program.generation = generation_;
  return program;
}

// A name that nothing in the template gives a value to can only be a function. Values that are passed in are data.
void Parser::check_calls() const {
  for (const auto& [name, line] : called_) {
    if (!is_function(name) && name != "caller" && !assigned_.contains(name)) {
      refuse_at(line, "the function '{}' is not known", name);
    }
  }
}

// Up to a tag that begins with one of these words, which is left at its word.
std::vector<Statement> Parser::body_until(std::initializer_list<std::string_view> ends) {
  nest();
  std::vector<Statement> body;
  while (!sees(Token::Kind::end)) {
    if (sees(Token::Kind::text)) {
      body.push_back(made(Statement::Kind::text));
      body.back().text = take().text;
    } else if (sees(Token::Kind::output_begin)) {
      take();
      body.push_back(made(Statement::Kind::output));
      body.back().expression = tuple();
      if (!sees(Token::Kind::output_end)) {
        refuse("expected the end of the tag, found {}", found());
      }
      take();
    } else {
      take();  // block_begin
      if (std::ranges::any_of(ends, [this](std::string_view end) { return sees_word(end); })) {
        --nesting_;
        return body;
      }
      body.push_back(statement());
    }
  }
  if (ends.size() > 0) {
    refuse("the template ends without '{}'", *(ends.end() - 1));
  }
  --nesting_;
  return body;
}

void Parser::end_tag() {
  if (!sees(Token::Kind::block_end)) {
    refuse("expected the end of the tag, found {}", found());
  }
  take();
}

void Parser::end_tag(std::string_view word) {
  if (!take_word(word)) {
    refuse("expected '{}', found {}", word, found());
  }
  end_tag();
}

Statement Parser::statement() {
  const int line = peek().line;
  const std::string word = expect_name("a statement");
  if (word == "if") {
    return choose();
  }
  if (word == "for") {
    return loop();
  }
  if (word == "set") {
    return set();
  }
  if (word == "macro") {
    return macro();
  }
  if (word == "call") {
    return call_block();
  }
  if (word == "with") {
    return with();
  }
  if (word == "generation") {
    generation_ = Program::Generation::marked;
    return block(Statement::Kind::generation, "endgeneration");
  }
  if (word == "filter") {
    return block(Statement::Kind::filter, "endfilter");
  }
  if (word == "break" || word == "continue") {
    if (loops_ == 0) {
      refuse_at(line, "'{}' outside of a loop", word);
    }
    Statement whole = made(word == "break" ? Statement::Kind::end_loop : Statement::Kind::next_round);
    end_tag();
    return whole;
  }
  refuse_at(line, "the statement '{}' is not known here", word);
}

// What follows 'if'.
Statement Parser::choose() {
  Statement whole = made(Statement::Kind::choose);
  bool more = true;
  while (more) {
    Branch branch{.condition = tuple(Conditions::left)};
    end_tag();
    branch.body = body_until({"elif", "else", "endif"});
    whole.branches.push_back(std::move(branch));
    more = take_word("elif");
  }
  if (take_word("else")) {
    end_tag();
    whole.branches.push_back({.condition = {}, .body = body_until({"endif"})});
  }
  end_tag("endif");
  return whole;
}

void Parser::assign(const std::string& name) {
  constexpr std::array<std::string_view, 14> kWords{"true", "false", "none", "True", "False", "None", "and",
                                                    "or",   "not",   "in",   "is",   "if",    "else", "loop"};
  if (std::ranges::find(kWords, name) != kWords.end()) {
    refuse("'{}' can't be given a value", name);
  }
  assigned_.insert(name);
}

std::vector<Target> Parser::loop_targets() {
  const bool enclosed = take_symbol("(");
  std::vector<Target> targets;
  do {
    targets.push_back({.name = expect_name("the name of a variable")});
    assign(targets.back().name);
  } while (take_symbol(","));
  if (enclosed) {
    expect_symbol(")");
  }
  return targets;
}

// What follows 'for'.
Statement Parser::loop() {
  Statement whole = made(Statement::Kind::loop);
  whole.targets = loop_targets();
  if (!take_word("in")) {
    refuse("expected 'in', found {}", found());
  }
  whole.expression = tuple(Conditions::left);
  if (take_word("if")) {
    whole.condition = expression();
  }
  if (sees_word("recursive")) {
    refuse("recursive loops are not known");
  }
  end_tag();
  const bool was_top = std::exchange(at_top_, false);
  ++loops_;
  whole.body = body_until({"else", "endfor"});
  --loops_;
  if (take_word("else")) {
    end_tag();
    whole.otherwise = body_until({"endfor"});
  }
  at_top_ = was_top;
  end_tag("endfor");
  return whole;
}

Target Parser::target() {
  Target target{.name = expect_name("the name of a variable")};
  if (take_symbol(".")) {
    target.attribute = expect_name("a name after '.'");
  } else {
    assign(target.name);
  }
  return target;
}

// What follows 'set'.
Statement Parser::set() {
  Statement whole = made(Statement::Kind::set);
  const bool enclosed = take_symbol("(");
  do {
    whole.targets.push_back(target());
  } while (take_symbol(","));
  if (enclosed) {
    expect_symbol(")");
  }
  if (take_symbol("=")) {
    whole.expression = tuple();
    end_tag();
    return whole;
  }
  if (whole.targets.size() > 1) {
    refuse("expected '=', found {}", found());
  }
  Statement filled = block(Statement::Kind::set_block, "endset");
  filled.line = whole.line;
  filled.targets = std::move(whole.targets);
  return filled;
}

// A chain of filters over what is absent: the block's text.
Expression Parser::filters(Expression input) {
  while (take_symbol("|")) {
    input = filter(std::move(input));
  }
  return input;
}

// What follows the word of a statement with a body of its own.
Statement Parser::block(Statement::Kind kind, std::string_view end) {
  Statement whole = made(kind);
  if (kind == Statement::Kind::filter) {
    whole.expression = filters(filter({}));
  } else if (kind == Statement::Kind::set_block) {
    whole.expression = filters({});
  }
  end_tag();
  const bool was_top = std::exchange(at_top_, false);
  const int loops = std::exchange(loops_, 0);
  whole.body = body_until({end});
  loops_ = loops;
  at_top_ = was_top;
  end_tag(end);
  return whole;
}

std::vector<Parameter> Parser::parameters() {
  std::vector<Parameter> parameters;
  expect_symbol("(");
  while (!take_symbol(")")) {
    if (!parameters.empty()) {
      expect_symbol(",");
      if (take_symbol(")")) {
        break;
      }
    }
    parameters.push_back({.name = expect_name("a parameter's name")});
    assign(parameters.back().name);
    if (take_symbol("=")) {
      parameters.back().otherwise = expression();
    } else if (parameters.size() > 1 && parameters[parameters.size() - 2].otherwise.kind != Expression::Kind::absent) {
      refuse("a parameter without a default after one with a default");
    }
  }
  return parameters;
}

// What follows 'macro'.
Statement Parser::macro() {
  Statement whole = made(Statement::Kind::macro);
  if (!at_top_) {
    refuse("a macro inside of a loop, block or macro is not known");
  }
  whole.text = expect_name("a macro's name");
  assign(whole.text);
  whole.parameters = parameters();
  Statement body = block(Statement::Kind::macro, "endmacro");
  whole.body = std::move(body.body);
  return whole;
}

// What follows 'call'.
Statement Parser::call_block() {
  Statement whole = made(Statement::Kind::call);
  if (sees_symbol("(")) {
    whole.parameters = parameters();
  }
  whole.expression = expression();
  if (whole.expression.kind != Expression::Kind::call ||
      whole.expression.parts.front().kind != Expression::Kind::name) {
    refuse("expected a call of a macro");
  }
  Statement body = block(Statement::Kind::call, "endcall");
  whole.body = std::move(body.body);
  return whole;
}

// What follows 'with'.
Statement Parser::with() {
  Statement whole = made(Statement::Kind::with);
  while (!sees(Token::Kind::block_end)) {
    if (!whole.targets.empty()) {
      expect_symbol(",");
    }
    whole.targets.push_back({.name = expect_name("the name of a variable")});
    assign(whole.targets.back().name);
    expect_symbol("=");
    whole.expressions.push_back(expression());
  }
  end_tag();
  const bool was_top = std::exchange(at_top_, false);
  whole.body = body_until({"endwith"});
  at_top_ = was_top;
  end_tag("endwith");
  return whole;
}

Program parse_program(std::string_view text, std::string_view where) {
  return Parser(tokenize_template(text, where), where).program();
}

}  // namespace heed::chat
