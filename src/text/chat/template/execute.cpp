// Statements.
#include <algorithm>

#include "text/chat/template/interpreter.h"
#include "text/chat/template/values/python_text.h"

namespace heed::chat {

Rendering run_program(const Program& program, std::string_view where, const std::vector<Variable>& variables,
                      const std::optional<std::chrono::local_seconds>& now) {
  return Interpreter(where, now).run(program, variables);
}

Rendering Interpreter::run(const Program& program, const std::vector<Variable>& variables) {
  const Scope passed{.parent = nullptr, .variables = variables};
  root_.parent = &passed;
  out_ = &rendering_.text;
  run_body(program.body, root_);
  return std::move(rendering_);
}

void Interpreter::put(std::string_view text) {
  run_.make(text.size());
  if (out_->size() + text.size() > kMaxOutputBytes) {
    run_.refuse("the template writes more than {} bytes, the limit", kMaxOutputBytes);
  }
  *out_ += text;
}

Interpreter::Flow Interpreter::run_body(const std::vector<Statement>& body, Scope& scope) {
  const Level level(run_);
  for (const Statement& statement : body) {
    run_.at(statement.line);
    run_.step();
    const Flow flow = run_statement(statement, scope);
    if (flow != Flow::next) {
      return flow;
    }
  }
  return Flow::next;
}

Interpreter::Flow Interpreter::run_statement(const Statement& statement, Scope& scope) {
  switch (statement.kind) {
    case Statement::Kind::text:
      put(statement.text);
      break;
    case Statement::Kind::output:
      put(to_text(run_, evaluate(statement.expression, scope)));
      break;
    case Statement::Kind::choose:
      return choose(statement, scope);
    case Statement::Kind::loop:
      return run_loop(statement, scope);
    case Statement::Kind::set:
    case Statement::Kind::set_block:
      set(statement, scope);
      break;
    case Statement::Kind::macro:
      define(statement.text, Callable{.macro = &statement, .name = statement.text}, scope);
      break;
    case Statement::Kind::call:
      put(to_text(run_, call(statement.expression, scope, &statement)));
      break;
    case Statement::Kind::filter: {
      const Value block = captured(statement.body, scope);
      put(to_text(run_, evaluate_filter(statement.expression, scope, &block)));
      break;
    }
    case Statement::Kind::with:
      return run_with(statement, scope);
    case Statement::Kind::generation:
      run_generation(statement, scope);
      break;
    case Statement::Kind::end_loop:
      return Flow::end_loop;
    case Statement::Kind::next_round:
      return Flow::next_round;
  }
  return Flow::next;
}

Interpreter::Flow Interpreter::choose(const Statement& statement, Scope& scope) {
  for (const Branch& branch : statement.branches) {
    if (branch.condition.kind == Expression::Kind::absent || is_true(evaluate(branch.condition, scope))) {
      return run_body(branch.body, scope);
    }
  }
  return Flow::next;
}

// The items that the loop's condition lets through.
std::vector<Value> Interpreter::loop_items(const Statement& statement, Scope& scope) {
  const Value source = evaluate(statement.expression, scope);
  run_.at(statement.line);
  const ListPointer all = items_of(run_, source);
  if (statement.condition.kind == Expression::Kind::absent) {
    run_.make(all->items.size() * sizeof(Value));
    return all->items;
  }
  std::vector<Value> items;
  for (const Value& item : all->items) {
    Scope inner{.parent = &scope};
    unpack(statement.targets, item, inner);
    if (is_true(evaluate(statement.condition, inner))) {
      items.push_back(item);
    }
  }
  return items;
}

Interpreter::Flow Interpreter::run_loop(const Statement& statement, Scope& scope) {
  const std::vector<Value> items = loop_items(statement, scope);
  const Round* outer = round_of(scope);
  bool completed = false;  // any round: Jinja's `else` runs where each one was left by break or continue
  for (size_t i = 0; i < items.size(); ++i) {
    const Round round{.items = items, .index = i, .depth = outer == nullptr ? 1 : outer->depth + 1};
    Scope inner{.parent = &scope, .variables = {}, .round = &round};
    run_.at(statement.line);
    run_.step();
    unpack(statement.targets, items[i], inner);
    const Flow flow = run_body(statement.body, inner);
    completed = completed || flow == Flow::next;
    if (flow == Flow::end_loop) {
      break;
    }
  }
  if (!completed) {
    Scope inner{.parent = &scope};
    return run_body(statement.otherwise, inner);
  }
  return Flow::next;
}

void Interpreter::unpack(const std::vector<Target>& targets, const Value& value, Scope& scope) {
  if (targets.size() == 1) {
    assign(targets.front(), value, scope);
    return;
  }
  const ListPointer items = items_of(run_, value);
  if (items->items.size() != targets.size()) {
    run_.refuse("{} values for {} variables", items->items.size(), targets.size());
  }
  for (size_t i = 0; i < targets.size(); ++i) {
    assign(targets[i], items->items[i], scope);
  }
}

void Interpreter::define(const std::string& name, Value value, Scope& scope) {
  const auto found = std::ranges::find(scope.variables, name, &Variable::name);
  if (found != scope.variables.end()) {
    found->value = std::move(value);
  } else {
    scope.variables.push_back({name, std::move(value)});
  }
}

void Interpreter::assign(const Target& target, Value value, Scope& scope) {
  if (target.attribute.empty()) {
    define(target.name, std::move(value), scope);
    return;
  }
  const Value* holder = find(scope, target.name);
  if (holder == nullptr || !holder->is<Namespace*>()) {
    run_.refuse("'{}' is not a namespace, so its attribute '{}' can't be set", target.name, target.attribute);
  }
  auto& attributes = (*holder->as<Namespace*>())->attributes;
  const auto found = std::ranges::find(attributes, target.attribute, &std::pair<std::string, Value>::first);
  if (found != attributes.end()) {
    found->second = std::move(value);
  } else {
    attributes.emplace_back(target.attribute, std::move(value));
  }
}

void Interpreter::set(const Statement& statement, Scope& scope) {
  if (statement.kind == Statement::Kind::set) {
    const Value value = evaluate(statement.expression, scope);
    run_.at(statement.line);
    unpack(statement.targets, value, scope);
    return;
  }
  const Value block = captured(statement.body, scope);
  const bool filtered = statement.expression.kind != Expression::Kind::absent;
  assign(statement.targets.front(), filtered ? evaluate_filter(statement.expression, scope, &block) : block, scope);
}

Value Interpreter::captured(const std::vector<Statement>& body, Scope& scope) {
  std::string text;
  std::string* const outer = std::exchange(out_, &text);
  Scope inner{.parent = &scope};
  run_body(body, inner);
  out_ = outer;
  return make_text(run_, std::move(text));
}

// Each value is computed where the block stands: none sees the others.
Interpreter::Flow Interpreter::run_with(const Statement& statement, Scope& scope) {
  Scope inner{.parent = &scope};
  for (size_t i = 0; i < statement.targets.size(); ++i) {
    assign(statement.targets[i], evaluate(statement.expressions[i], scope), inner);
  }
  return run_body(statement.body, inner);
}

void Interpreter::run_generation(const Statement& statement, Scope& scope) {
  Scope inner{.parent = &scope};
  const bool visible = out_ == &rendering_.text;
  const size_t begin = out_->size();
  run_body(statement.body, inner);
  if (visible) {
    rendering_.generated.push_back({begin, out_->size()});
  }
  rendering_.hidden = rendering_.hidden || !visible;
}

}  // namespace heed::chat
