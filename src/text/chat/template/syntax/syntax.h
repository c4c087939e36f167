// A template as a tree.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "text/chat/template/values/value.h"

namespace heed::chat {

enum class Operator : uint8_t {
  add,
  subtract,
  multiply,
  divide,
  divide_down,
  modulo,
  power,
  equal,
  not_equal,
  less,
  less_equal,
  greater,
  greater_equal,
  in,
  not_in
};

struct Expression {
  enum class Kind : uint8_t {
    absent,       // nothing, where a part may be left out
    literal,      // value
    name,         // text
    list,         // parts
    tuple,        // parts
    dict,         // parts: key, value, key, value ...
    attribute,    // parts[0] . text
    item,         // parts[0] [ parts[1] ]
    slice,        // parts[0] [ parts[1] : parts[2] : parts[3] ]
    call,         // parts[0] ( arguments )
    filter,       // parts[0] | text ( arguments ); in a filter block, parts[0] is absent
    test,         // parts[0] is text ( arguments )
    plus,         // + parts[0]
    minus,        // - parts[0]
    logical_not,  // not parts[0]
    logical_and,  // parts[0] and parts[1]
    logical_or,
    arithmetic,   // parts[0] operators[0] parts[1]
    compare,      // parts[0] operators[0] parts[1] operators[1] parts[2] ...
    concat,       // parts[0] ~ parts[1] ~ ...
    conditional,  // parts[0] if parts[1] else parts[2]
  };
  Kind kind = Kind::absent;
  int line = 1;
  int depth = 1;
  std::string text = {};
  Value value = {};
  std::vector<Expression> parts = {};
  std::vector<std::string> names = {};  // of the last arguments, where they have one
  std::vector<Operator> operators = {};
};

// Where a value goes: a variable, or an attribute of a namespace.
struct Target {
  std::string name;
  std::string attribute = {};
};

// What a macro, or the block of a call, takes. Without a default the expression is absent.
struct Parameter {
  std::string name;
  Expression otherwise = {};
};

struct Branch;

struct Statement {
  enum class Kind : uint8_t {
    text,        // text
    output,      // {{ expression }}
    choose,      // if: branches
    loop,        // for targets in expression if condition: body, else otherwise
    set,         // set targets = expression
    set_block,   // set targets | expression: body; the expression, a chain of filters, may be absent
    macro,       // macro text(parameters): body
    call,        // call(parameters) expression: body
    filter,      // filter expression: body
    with,        // with targets = expressions: body
    generation,  // generation: body
    end_loop,    // break
    next_round,  // continue
  };
  Kind kind = Kind::text;
  int line = 1;
  std::string text = {};
  Expression expression = {}, condition = {};
  std::vector<Expression> expressions = {};
  std::vector<Target> targets = {};
  std::vector<Parameter> parameters = {};
  std::vector<Branch> branches;
  std::vector<Statement> body = {}, otherwise = {};
};

struct Branch {
  Expression condition = {};  // absent: else
  std::vector<Statement> body = {};
};

struct Program {
  std::vector<Statement> body;
  enum class Generation : uint8_t { unmarked, marked } generation = Generation::unmarked;  // has generation blocks
};

// FormatError, "where:line: ...", for what is not a template, or uses what this interpreter does not know.
Program parse_program(std::string_view text, std::string_view where);

}  // namespace heed::chat
