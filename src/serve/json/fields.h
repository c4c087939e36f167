// The fields of a request's JSON object. Whatever is not as expected is a 400 that names the field.
#pragma once

#include <algorithm>
#include <array>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "heed/types/names.h"
#include "serve/request_error.h"

namespace heed::serve {

using Json = nlohmann::ordered_json;

// On one line. What is not UTF-8 is replaced.
std::string to_text(const Json& json);

// A request's body: a JSON object in UTF-8 that is not nested too deeply. RequestError 400 for anything else.
Json parse_json(std::string_view text);

// A field that is null counts as absent. Fields that nobody has asked for are refused by finish(): nothing is ignored.
class Fields {
 public:
  // `path` is in front of the names in messages: "messages[0].".
  explicit Fields(const Json& object, std::string path = "");

  bool has(const char* name) { return find(name) != nullptr; }
  const Json* find(const char* name);  // null where it is absent
  const Json& get(const char* name);   // refused where it is absent

  std::optional<std::string> text(const char* name);
  std::optional<bool> flag(const char* name);
  std::optional<int64_t> integer(const char* name, int64_t least, int64_t most);
  std::optional<double> number(const char* name, double least, double most);
  std::string required_text(const char* name);
  // A text, or a list of at least one and at most `most`.
  std::optional<std::vector<std::string>> texts(const char* name, size_t most);
  // One of a few names.
  std::optional<std::string> choice(const char* name, const std::vector<std::string_view>& names);
  // The value of one of these names.
  template <class Value, size_t kCount>
  std::optional<Value> choice(const char* name, const std::array<NamedValue<Value>, kCount>& values) {
    std::vector<std::string_view> names;
    std::ranges::transform(values, std::back_inserter(names), &NamedValue<Value>::first);
    const std::optional<std::string> chosen = choice(name, names);
    return chosen ? std::optional(std::ranges::find(values, *chosen, &NamedValue<Value>::first)->second) : std::nullopt;
  }
  // May be absent or have this value; `why` says why nothing else is supported.
  void only(const char* name, const Json& value, std::string_view why);
  // Accepted, and without effect.
  void accept(std::initializer_list<const char*> names);

  template <class Value, class Found>
  static void take(std::optional<Found>&& found, Value& value) {
    if (found) {
      value = std::move(*found);
    }
  }

  std::string path_of(std::string_view name) const { return path_ + std::string(name); }
  void finish() const;

 private:
  const Json& object_;
  std::string path_;
  std::set<std::string, std::less<>> asked_;
};

}  // namespace heed::serve
