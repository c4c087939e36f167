#include "tune/edited_recipe.h"

#include <fmt/format.h>

#include <algorithm>

namespace heed {
namespace {

std::string_view without_spaces(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t\r"), end = text.find_last_not_of(" \t\r");
  return begin == std::string_view::npos ? std::string_view() : text.substr(begin, end + 1 - begin);
}

std::vector<std::string> lines_of(std::string_view text) {
  std::vector<std::string> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

bool is_head_of(std::string_view line, std::string_view table) {
  return without_spaces(line.substr(0, line.find('#'))) == fmt::format("[{}]", table);
}

bool sets(std::string_view line, std::string_view key) {
  const size_t equals = line.find('=');
  return equals != std::string_view::npos && without_spaces(line.substr(0, equals)) == key;
}

std::string line_of(const EditedSetting& setting) {
  return fmt::format("{} = {}{}", setting.key, setting.value, setting.reason.empty() ? "" : "  # " + setting.reason);
}

void edit(std::vector<std::string>& lines, const EditedSetting& setting) {
  const auto head =
      std::ranges::find_if(lines, [&](const std::string& line) { return is_head_of(line, setting.table); });
  if (head == lines.end()) {
    lines.insert(lines.end(), {"", fmt::format("[{}]", setting.table), line_of(setting)});
    return;
  }
  const auto next = std::find_if(head + 1, lines.end(),
                                 [](const std::string& line) { return without_spaces(line).starts_with('['); });
  const auto there = std::find_if(head + 1, next, [&](const std::string& line) { return sets(line, setting.key); });
  if (there == next) {
    lines.insert(head + 1, line_of(setting));
  } else {
    *there = line_of(setting);
  }
}

}  // namespace

std::string edited_recipe(std::string_view toml, const std::vector<EditedSetting>& settings) {
  std::vector<std::string> lines = lines_of(toml);
  for (const EditedSetting& setting : settings) {
    edit(lines, setting);
  }
  return fmt::format("{}\n", fmt::join(lines, "\n"));
}

}  // namespace heed
