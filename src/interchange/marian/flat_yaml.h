// The part of YAML in which Marian writes its settings: keys with scalars, or with lists of scalars.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace heed {

// Each key's value by its kind. A getter gives `otherwise` for a key that is not there, and FormatError, naming file
// and key, for a value of another kind.
class FlatYaml {
 public:
  // FormatError, with the line, for what goes beyond that part: mappings and lists within values, anchors, tags, texts
  // of several lines; and for a key that occurs twice.
  FlatYaml(std::string_view text, std::string where);

  const std::string& where() const { return where_; }
  bool has(std::string_view key) const { return values_.contains(key); }
  std::vector<std::string> keys() const;

  std::string text(std::string_view key, const std::string& otherwise = "") const;
  int64_t integer(std::string_view key, std::optional<int64_t> otherwise = {}) const;  // none: FormatError if absent
  double number(std::string_view key, double otherwise) const;
  bool flag(std::string_view key, bool otherwise) const;
  std::vector<std::string> texts(std::string_view key) const;  // a scalar is a list of one; empty if absent
  std::vector<int64_t> integers(std::string_view key) const;

 private:
  struct Value {
    bool is_list;
    std::vector<std::string> items;  // one of a scalar, or none
  };

  const std::string* scalar(std::string_view key) const;
  int64_t integer_of(std::string_view key, const std::string& value) const;

  std::string where_;
  std::map<std::string, Value, std::less<>> values_;
};

}  // namespace heed
