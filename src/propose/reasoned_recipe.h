// The text of a recipe with a comment above each choice.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

namespace heed {

class ReasonedRecipe {
 public:
  // Lines before the first table, as comments.
  void remark(const std::string& text);
  void table(std::string_view name);
  void listed_table(std::string_view name);  // one more in the list of that name
  // Why the keys that follow are as they are; wrapped into lines.
  void because(const std::string& reason);
  void set(std::string_view key, std::string_view text);
  void set(std::string_view key, const char* text) { set(key, std::string_view(text)); }
  void set(std::string_view key, int64_t value);
  void set(std::string_view key, double value);  // to three digits
  void set_exactly(std::string_view key, double value);
  void set(std::string_view key, const std::vector<std::string>& texts);
  void set_flag(std::string_view key);  // true

  const std::string& toml() const { return toml_; }

 private:
  void add_comment(std::string text);

  std::string toml_;
};

}  // namespace heed
