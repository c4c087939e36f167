// Runs a template.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "text/chat/template/operations.h"
#include "text/chat/template/run.h"
#include "text/chat/template/syntax/syntax.h"

namespace heed::chat {

struct Variable {
  std::string_view name;
  Value value;
};

// Bytes of the text.
struct TextSpan {
  size_t begin = 0, end = 0;
  bool operator==(const TextSpan&) const = default;
};

struct Rendering {
  std::string text;
  std::vector<TextSpan> generated;  // by generation blocks
  bool hidden = false;              // whether a generation block stood where its bytes can't be told
};

// FormatError, "where:line: ...", for what the template refuses or may not do, and where it reaches a limit.
Rendering run_program(const Program& program, std::string_view where, const std::vector<Variable>& variables,
                      const std::optional<std::chrono::local_seconds>& now);

class Interpreter {
 public:
  Interpreter(std::string_view where, const std::optional<std::chrono::local_seconds>& now) : run_(where), now_(now) {}

  Rendering run(const Program& program, const std::vector<Variable>& variables);

 private:
  enum class Flow : uint8_t { next, end_loop, next_round };

  // The place of a loop that runs.
  struct Round {
    const std::vector<Value>& items;
    size_t index;
    int64_t depth;
  };

  struct Scope {
    const Scope* parent = nullptr;
    std::vector<Variable> variables = {};
    const Round* round = nullptr;
    const Statement* call = nullptr;  // the call block around a macro's body ...
    Scope* call_scope = nullptr;      // ... and where it stands
    bool is_macro = false;
  };

  // Statements.
  Flow run_body(const std::vector<Statement>& body, Scope& scope);
  Flow run_statement(const Statement& statement, Scope& scope);
  Flow run_loop(const Statement& statement, Scope& scope);
  std::vector<Value> loop_items(const Statement& statement, Scope& scope);
  Flow choose(const Statement& statement, Scope& scope);
  void set(const Statement& statement, Scope& scope);
  static void define(const std::string& name, Value value, Scope& scope);  // the name must outlive the scope
  void assign(const Target& target, Value value, Scope& scope);
  void unpack(const std::vector<Target>& targets, const Value& value, Scope& scope);
  Flow run_with(const Statement& statement, Scope& scope);
  void run_generation(const Statement& statement, Scope& scope);
  Value captured(const std::vector<Statement>& body, Scope& scope);
  void put(std::string_view text);

  // Expressions.
  Value evaluate(const Expression& expression, Scope& scope);
  Value evaluate_filter(const Expression& expression, Scope& scope, const Value* block);
  Value evaluate_name(const Expression& expression, const Scope& scope);
  Value evaluate_logic(const Expression& expression, Scope& scope);
  Value evaluate_dict(const Expression& expression, Scope& scope);
  Value evaluate_attribute(const Expression& expression, Scope& scope);
  Value evaluate_concat(const Expression& expression, Scope& scope);
  Value compare(const Expression& expression, Scope& scope);
  Value call(const Expression& expression, Scope& scope, const Statement* block);
  Value call_macro(const Statement& macro, const Arguments& arguments, const Statement* block, Scope* block_scope);
  Value call_caller(const Arguments& arguments, const Scope& scope);
  void bind(const Statement& callee, std::string_view name, const Arguments& arguments, Scope& scope);
  std::vector<Value> evaluate_all(const std::vector<Expression>& parts, size_t first, Scope& scope);
  Arguments arguments_of(const Expression& expression, Scope& scope);
  Value loop_attribute(const Round& round, std::string_view name);
  static const Round* round_of(const Scope& scope);
  static const Value* find(const Scope& scope, std::string_view name);

  Run run_;
  const std::optional<std::chrono::local_seconds>& now_;
  std::vector<std::unique_ptr<Namespace>> namespaces_;
  Scope root_;
  std::string* out_ = nullptr;
  Rendering rendering_;
};

}  // namespace heed::chat
