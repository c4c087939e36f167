#include "propose/reasoned_recipe.h"

namespace heed {
namespace {

constexpr size_t kWidth = 100;

std::string toml_quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      result += '\\';
    }
    result += c;
  }
  return result + "\"";
}

}  // namespace

void ReasonedRecipe::add_comment(const std::string& text) {
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

void ReasonedRecipe::set(std::string_view key, std::string_view text) {
  toml_ += fmt::format("{} = {}\n", key, toml_quoted(text));
}
void ReasonedRecipe::set(std::string_view key, int64_t value) { toml_ += fmt::format("{} = {}\n", key, value); }
void ReasonedRecipe::set(std::string_view key, double value) { toml_ += fmt::format("{} = {:#.3g}\n", key, value); }

void ReasonedRecipe::set(std::string_view key, const std::vector<std::string>& texts) {
  std::vector<std::string> all;
  all.reserve(texts.size());
  for (const std::string& text : texts) {
    all.push_back(toml_quoted(text));
  }
  toml_ += fmt::format("{} = [{}]\n", key, fmt::join(all, ", "));
}

void ReasonedRecipe::set_flag(std::string_view key) { toml_ += fmt::format("{} = true\n", key); }

}  // namespace heed
