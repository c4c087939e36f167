#include "propose/reasoned_recipe.h"

#include <algorithm>

#include "base/settings.h"

namespace heed {
namespace {

constexpr size_t kWidth = 100;

}  // namespace

// Labels and names of files may hold control characters, which TOML allows in no comment.
void ReasonedRecipe::add_comment(std::string text) {
  std::ranges::replace_if(
      text, [](unsigned char c) { return c < ' ' || c == '\x7f'; }, ' ');
  std::string line = "#";
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find(' ', begin), text.size());
    if (line.size() + 1 + end - begin > kWidth) {
      toml_ += line + "\n";
      line = "#";
    }
    line += " " + text.substr(begin, end - begin);
    begin = end + 1;
  }
  toml_ += line + "\n";
}

void ReasonedRecipe::remark(const std::string& text) { add_comment(text); }
void ReasonedRecipe::because(const std::string& reason) { add_comment(reason); }
void ReasonedRecipe::table(std::string_view name) { toml_ += fmt::format("\n[{}]\n", name); }
void ReasonedRecipe::listed_table(std::string_view name) { toml_ += fmt::format("\n[[{}]]\n", name); }

void ReasonedRecipe::set(std::string_view key, std::string_view text) {
  toml_ += fmt::format("{} = {}\n", key, in_quotes(std::string(text)));
}
void ReasonedRecipe::set(std::string_view key, int64_t value) { toml_ += fmt::format("{} = {}\n", key, value); }
void ReasonedRecipe::set(std::string_view key, double value) { toml_ += fmt::format("{} = {:#.3g}\n", key, value); }
void ReasonedRecipe::set_exactly(std::string_view key, double value) { toml_ += fmt::format("{} = {}\n", key, value); }

void ReasonedRecipe::set(std::string_view key, const std::vector<std::string>& texts) {
  toml_ += fmt::format("{} = {}\n", key, in_quotes(texts));
}

void ReasonedRecipe::set_flag(std::string_view key) { toml_ += fmt::format("{} = true\n", key); }

}  // namespace heed
