// Expressions.
#include <algorithm>

#include "text/chat/template/interpreter.h"
#include "text/chat/template/values/arithmetic.h"
#include "text/chat/template/values/python_text.h"

namespace heed::chat {
namespace {

constexpr size_t kPartsBefore = 1;  // of a call, filter or test: what it is applied to

}  // namespace

const Value* Interpreter::find(const Scope& scope, std::string_view name) {
  for (const Scope* at = &scope; at != nullptr; at = at->parent) {
    const auto found = std::ranges::find(at->variables, name, &Variable::name);
    if (found != at->variables.end()) {
      return &found->value;
    }
  }
  return nullptr;
}

const Interpreter::Round* Interpreter::round_of(const Scope& scope) {
  for (const Scope* at = &scope; at != nullptr; at = at->parent) {
    if (at->round != nullptr) {
      return at->round;
    }
  }
  return nullptr;
}

Value Interpreter::evaluate(const Expression& expression, Scope& scope) {
  const Level level(run_);
  run_.at(expression.line);
  run_.step();
  using Kind = Expression::Kind;
  switch (expression.kind) {
    case Kind::absent:
      return None{};
    case Kind::literal:
      return expression.value;
    case Kind::name:
      return evaluate_name(expression, scope);
    case Kind::list:
      return make_list(run_, evaluate_all(expression.parts, 0, scope));
    case Kind::tuple:
      return make_list(run_, evaluate_all(expression.parts, 0, scope), ListKind::tuple);
    case Kind::dict:
      return evaluate_dict(expression, scope);
    case Kind::attribute:
      return evaluate_attribute(expression, scope);
    case Kind::call:
      return call(expression, scope, nullptr);
    case Kind::filter:
      return evaluate_filter(expression, scope, nullptr);
    case Kind::concat:
      return evaluate_concat(expression, scope);
    case Kind::compare:
      return compare(expression, scope);
    case Kind::logical_not:
    case Kind::logical_and:
    case Kind::logical_or:
    case Kind::conditional:
      return evaluate_logic(expression, scope);
    case Kind::test: {
      const Value value = evaluate(expression.parts[0], scope);
      const Arguments arguments = arguments_of(expression, scope);
      return apply_test(run_, value, arguments);
    }
    default:
      break;
  }
  const std::vector<Value> parts = evaluate_all(expression.parts, 0, scope);
  run_.at(expression.line);
  switch (expression.kind) {
    case Kind::item:
      return item_of(run_, parts[0], parts[1]);
    case Kind::slice:
      return slice_of(run_, parts[0], {.start = parts[1], .stop = parts[2], .step = parts[3]});
    case Kind::minus:
      return negative(run_, parts[0]);
    case Kind::plus:
      return negative(run_, negative(run_, parts[0]));
    default:
      return calculate(run_, expression.operators[0], parts[0], parts[1]);
  }
}

std::vector<Value> Interpreter::evaluate_all(const std::vector<Expression>& parts, size_t first, Scope& scope) {
  std::vector<Value> values;
  values.reserve(parts.size() - first);
  for (size_t i = first; i < parts.size(); ++i) {
    values.push_back(evaluate(parts[i], scope));
  }
  return values;
}

Value Interpreter::evaluate_name(const Expression& expression, const Scope& scope) {
  if (const Value* found = find(scope, expression.text)) {
    return *found;
  }
  if (expression.text == "loop" && round_of(scope) != nullptr) {
    return Callable{.macro = nullptr, .name = expression.text};
  }
  if (is_function(expression.text) && (expression.text != "strftime_now" || now_)) {
    return Callable{.macro = nullptr, .name = expression.text};
  }
  return make_undefined(expression.text);
}

Value Interpreter::evaluate_logic(const Expression& expression, Scope& scope) {
  using Kind = Expression::Kind;
  if (expression.kind == Kind::conditional) {
    const bool holds = is_true(evaluate(expression.parts[1], scope));
    const Expression& chosen = expression.parts[holds ? 0 : 2];
    return chosen.kind == Kind::absent ? make_undefined("an 'if' without 'else'") : evaluate(chosen, scope);
  }
  Value first = evaluate(expression.parts[0], scope);
  if (expression.kind == Kind::logical_not) {
    return !is_true(first);
  }
  const bool decided = is_true(first) == (expression.kind == Kind::logical_or);
  return decided ? first : evaluate(expression.parts[1], scope);
}

Value Interpreter::evaluate_dict(const Expression& expression, Scope& scope) {
  std::vector<Value> parts = evaluate_all(expression.parts, 0, scope);
  std::vector<std::pair<Value, Value>> items;
  for (size_t i = 0; i + 1 < parts.size(); i += 2) {
    items.emplace_back(std::move(parts[i]), std::move(parts[i + 1]));
  }
  return make_dict(run_, std::move(items));
}

Value Interpreter::evaluate_attribute(const Expression& expression, Scope& scope) {
  const Expression& object = expression.parts[0];
  if (object.kind == Expression::Kind::name && object.text == "loop") {
    if (const Round* round = round_of(scope)) {
      return loop_attribute(*round, expression.text);
    }
  }
  const Value value = evaluate(object, scope);
  run_.at(expression.line);
  return attribute_of(run_, value, expression.text);
}

Value Interpreter::loop_attribute(const Round& round, std::string_view name) {
  const auto index = static_cast<int64_t>(round.index), length = static_cast<int64_t>(round.items.size());
  if (name == "first" || name == "last") {
    return name == "first" ? index == 0 : index + 1 == length;
  }
  if (name == "previtem") {
    return index == 0 ? make_undefined("loop.previtem") : round.items[round.index - 1];
  }
  if (name == "nextitem") {
    return index + 1 == length ? make_undefined("loop.nextitem") : round.items[round.index + 1];
  }
  const std::pair<std::string_view, int64_t> numbers[] = {{"index", index + 1},
                                                          {"index0", index},
                                                          {"length", length},
                                                          {"revindex", length - index},
                                                          {"revindex0", length - index - 1},
                                                          {"depth", round.depth},
                                                          {"depth0", round.depth - 1}};
  for (const auto& [known, number] : numbers) {
    if (known == name) {
      return number;
    }
  }
  run_.refuse("loop.{} is not known", name);
}

Value Interpreter::evaluate_concat(const Expression& expression, Scope& scope) {
  std::string all;
  for (const Expression& part : expression.parts) {
    const std::string text = to_text(run_, evaluate(part, scope));
    run_.make(text.size());
    all += text;
  }
  return make_text(run_, std::move(all));
}

Value Interpreter::compare(const Expression& expression, Scope& scope) {
  Value left = evaluate(expression.parts[0], scope);
  for (size_t i = 0; i < expression.operators.size(); ++i) {
    Value right = evaluate(expression.parts[i + 1], scope);
    run_.at(expression.line);
    const Operator operation = expression.operators[i];
    bool holds = false;
    switch (operation) {
      case Operator::equal:
        holds = equal(run_, left, right);
        break;
      case Operator::not_equal:
        holds = !equal(run_, left, right);
        break;
      case Operator::in:
        holds = contains(run_, right, left);
        break;
      case Operator::not_in:
        holds = !contains(run_, right, left);
        break;
      case Operator::less:
        holds = order(run_, left, right) < 0;
        break;
      case Operator::less_equal:
        holds = order(run_, left, right) <= 0;
        break;
      case Operator::greater:
        holds = order(run_, left, right) > 0;
        break;
      default:
        holds = order(run_, left, right) >= 0;
        break;
    }
    if (!holds) {
      return false;
    }
    left = std::move(right);
  }
  return true;
}

Arguments Interpreter::arguments_of(const Expression& expression, Scope& scope) {
  Arguments arguments{
      .name = expression.text, .values = evaluate_all(expression.parts, kPartsBefore, scope), .named = {}};
  const size_t by_position = arguments.values.size() - expression.names.size();
  for (size_t i = 0; i < expression.names.size(); ++i) {
    arguments.named.emplace_back(expression.names[i], std::move(arguments.values[by_position + i]));
  }
  arguments.values.resize(by_position);
  run_.at(expression.line);
  return arguments;
}

// `block`: what the innermost filter of a chain gets where nothing stands before it.
Value Interpreter::evaluate_filter(const Expression& expression, Scope& scope, const Value* block) {
  const Level level(run_);
  const Expression& before = expression.parts[0];
  const Value input = block == nullptr                          ? evaluate(before, scope)
                      : before.kind == Expression::Kind::absent ? *block
                                                                : evaluate_filter(before, scope, block);
  return apply_filter(run_, input, arguments_of(expression, scope));
}

Value Interpreter::call(const Expression& expression, Scope& scope, const Statement* block) {
  const Expression& callee = expression.parts[0];
  Arguments arguments = arguments_of(expression, scope);
  arguments.name = callee.text;
  if (callee.kind == Expression::Kind::attribute) {
    const Value object = evaluate(callee.parts[0], scope);
    run_.at(expression.line);
    if (object.is<Undefined>()) {
      attribute_of(run_, object, callee.text);  // refuses
    }
    return call_method(run_, object, arguments);
  }
  const Value* found = find(scope, callee.text);
  if (found == nullptr && callee.text == "caller") {
    return call_caller(arguments, scope);
  }
  const auto* known = found != nullptr ? found->as<Callable>() : nullptr;
  if (known != nullptr && known->macro != nullptr) {
    return call_macro(*known->macro, arguments, block, &scope);
  }
  if (block != nullptr || (found != nullptr && known == nullptr) || (found == nullptr && !is_function(callee.text))) {
    run_.refuse("'{}' is not a macro or function here", callee.text);
  }
  arguments.name = known != nullptr ? known->name : std::string_view(callee.text);
  return call_function({.run = run_, .now = now_, .namespaces = namespaces_}, arguments);
}

void Interpreter::bind(const Statement& callee, std::string_view name, const Arguments& arguments, Scope& scope) {
  if (arguments.values.size() > callee.parameters.size()) {
    run_.refuse("{}: {} arguments, at most {} are taken", name, arguments.values.size(), callee.parameters.size());
  }
  for (const auto& [key, value] : arguments.named) {
    const auto found = std::ranges::find(callee.parameters, key, &Parameter::name);
    if (found == callee.parameters.end() ||
        found - callee.parameters.begin() < static_cast<int64_t>(arguments.values.size())) {
      run_.refuse("{}: the argument '{}' is not known, or given twice", name, key);
    }
  }
  for (size_t i = 0; i < callee.parameters.size(); ++i) {
    const Parameter& parameter = callee.parameters[i];
    const auto named = std::ranges::find(arguments.named, parameter.name, &std::pair<std::string, Value>::first);
    if (i < arguments.values.size()) {
      define(parameter.name, arguments.values[i], scope);
    } else if (named != arguments.named.end()) {
      define(parameter.name, named->second, scope);
    } else if (parameter.otherwise.kind != Expression::Kind::absent) {
      define(parameter.name, evaluate(parameter.otherwise, scope), scope);
    } else {
      define(parameter.name, make_undefined(parameter.name), scope);
    }
  }
}

Value Interpreter::call_macro(const Statement& macro, const Arguments& arguments, const Statement* block,
                              Scope* block_scope) {
  Scope scope{
      .parent = &root_, .variables = {}, .round = nullptr, .call = block, .call_scope = block_scope, .is_macro = true};
  bind(macro, macro.text, arguments, scope);
  const int line = run_.line();
  Value text = captured(macro.body, scope);
  run_.at(line);
  return text;
}

Value Interpreter::call_caller(const Arguments& arguments, const Scope& scope) {
  const Scope* macro = &scope;
  while (macro != nullptr && !macro->is_macro) {
    macro = macro->parent;
  }
  if (macro == nullptr || macro->call == nullptr) {
    run_.refuse("'caller' outside of a macro that a call block calls");
  }
  Scope inner{.parent = macro->call_scope};
  bind(*macro->call, "caller", arguments, inner);
  return captured(macro->call->body, inner);
}

}  // namespace heed::chat
