// Tests: what stands after 'is'.
#include <algorithm>
#include <array>
#include <cmath>

#include "text/chat/template/operations.h"
#include "text/chat/template/values/python_text.h"

namespace heed::chat {
namespace {

struct ValueTest {
  std::string_view name;
  bool (*test)(Run&, const Value&);
};

struct PairTest {
  std::string_view name;
  bool (*test)(Run&, const Value&, const Value&);
};

bool is_integer(const Value& value) { return value.is<int64_t>(); }
bool is_container(const Value& value) {
  return value.text() != nullptr || value.list() != nullptr || value.dict() != nullptr || value.is<Undefined>();
}

bool is_odd(Run& run, const Value& value) {
  if (const auto integer = integer_of(value)) {
    return *integer % 2 != 0;
  }
  if (!value.is<double>()) {
    run.refuse("whether a {} is odd or even can't be asked", type_name(value));
  }
  return std::abs(std::fmod(*value.as<double>(), 2.0)) == 1.0;
}

bool is_same(Run& run, const Value& one, const Value& other) {
  if (one.list() != nullptr || one.dict() != nullptr) {
    return one.list() == other.list() && one.dict() == other.dict();
  }
  return one.is<bool>() == other.is<bool>() && one.is<double>() == other.is<double>() && equal(run, one, other);
}

bool is_divisible(Run& run, const Value& value, const Value& by) {
  const auto number = integer_of(value), divisor = integer_of(by);
  if (!number || !divisor || *divisor == 0) {
    run.refuse("divisibleby: expected two whole numbers, the second one not 0");
  }
  return *divisor == -1 || *number % *divisor == 0;
}

constexpr std::array<ValueTest, 19> kValueTests{{
    {"boolean", [](Run&, const Value& value) { return value.is<bool>(); }},
    {"callable", [](Run&, const Value& value) { return value.is<Callable>() || value.is<Undefined>(); }},
    {"defined", [](Run&, const Value& value) { return !value.is<Undefined>(); }},
    {"even", [](Run& run, const Value& value) { return !is_odd(run, value); }},
    {"false", [](Run&, const Value& value) { return value.is<bool>() && !*value.as<bool>(); }},
    {"float", [](Run&, const Value& value) { return value.is<double>(); }},
    {"integer", [](Run&, const Value& value) { return is_integer(value); }},
    {"iterable", [](Run&, const Value& value) { return is_container(value); }},
    {"lower", [](Run& run, const Value& value) { return is_all_lower(to_text(run, value)); }},
    {"mapping", [](Run&, const Value& value) { return value.dict() != nullptr; }},
    {"none", [](Run&, const Value& value) { return value.is<None>(); }},
    {"number", [](Run&, const Value& value) { return number_of(value).has_value(); }},
    {"odd", is_odd},
    {"sequence",
     [](Run&, const Value& value) {
       return is_container(value) && (value.list() == nullptr || value.list()->kind <= ListKind::range);
     }},
    {"string", [](Run&, const Value& value) { return value.text() != nullptr; }},
    {"true", [](Run&, const Value& value) { return value.is<bool>() && *value.as<bool>(); }},
    {"undefined", [](Run&, const Value& value) { return value.is<Undefined>(); }},
    {"upper", [](Run& run, const Value& value) { return is_all_upper(to_text(run, value)); }},
    {"escaped", [](Run&, const Value&) { return false; }},
}};

constexpr auto kIsEqual = [](Run& run, const Value& one, const Value& other) { return equal(run, one, other); };
constexpr auto kIsNotEqual = [](Run& run, const Value& one, const Value& other) { return !equal(run, one, other); };
constexpr auto kIsLess = [](Run& run, const Value& one, const Value& other) { return order(run, one, other) < 0; };
constexpr auto kIsLessEqual = [](Run& run, const Value& one, const Value& other) {
  return order(run, one, other) <= 0;
};
constexpr auto kIsGreater = [](Run& run, const Value& one, const Value& other) { return order(run, one, other) > 0; };
constexpr auto kIsGreaterEqual = [](Run& run, const Value& one, const Value& other) {
  return order(run, one, other) >= 0;
};

constexpr std::array<PairTest, 12> kPairTests{{
    {"divisibleby", is_divisible},
    {"eq", kIsEqual},
    {"equalto", kIsEqual},
    {"ge", kIsGreaterEqual},
    {"greaterthan", kIsGreater},
    {"gt", kIsGreater},
    {"in", [](Run& run, const Value& one, const Value& other) { return contains(run, other, one); }},
    {"le", kIsLessEqual},
    {"lessthan", kIsLess},
    {"lt", kIsLess},
    {"ne", kIsNotEqual},
    {"sameas", is_same},
}};

template <class Table>
auto find_test_in(const Table& table, std::string_view name) {
  const auto found = std::ranges::find_if(table, [&](const auto& one) { return one.name == name; });
  return found == table.end() ? nullptr : found->test;
}

// Filters like selectattr take a test's sign for its name too.
std::string_view test_name(std::string_view name) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> kSigns{
      {{"==", "eq"}, {"!=", "ne"}, {"<", "lt"}, {"<=", "le"}, {">", "gt"}, {">=", "ge"}}};
  const auto* const found = std::ranges::find_if(kSigns, [&](const auto& one) { return one.first == name; });
  return found == kSigns.end() ? name : found->second;
}

}  // namespace

bool is_test(std::string_view name) {
  return find_test_in(kValueTests, name) != nullptr || find_test_in(kPairTests, test_name(name)) != nullptr;
}

bool apply_test(Run& run, const Value& value, const Arguments& arguments) {
  run.step();
  const std::string_view name = test_name(arguments.name);
  if (const auto test = find_test_in(kValueTests, name)) {
    arguments.bound(run, {});
    return test(run, value);
  }
  const auto test = find_test_in(kPairTests, name);
  if (test == nullptr) {
    run.refuse("the test '{}' is not known", arguments.name);
  }
  return test(run, value, arguments.bound(run, {"value"}, 1)[0]);
}

}  // namespace heed::chat
