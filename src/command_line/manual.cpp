#include "command_line/manual.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "command_line/help.h"

namespace heed::cli {
namespace {

// Text as roff reads it: a hyphen could become another character, and a line that begins with a dot is a request.
std::string in_roff(std::string_view text) {
  std::string result;
  for (const char c : text) {
    if ((c == '.' || c == '\'') && (result.empty() || result.back() == '\n')) {
      result += "\\&";
    }
    result += c == '\\' ? "\\e" : c == '-' ? "\\-" : c == '~' ? "\\(ti" : c == '^' ? "\\(ha" : std::string(1, c);
  }
  return result;
}

std::string with_hyphens(std::string path) {
  std::ranges::replace(path, ' ', '-');
  return path;
}

std::string list(std::string_view title, const std::vector<HelpRow>& rows) {
  std::string text = fmt::format(".SH {}\n", title);
  for (const HelpRow& row : rows) {
    text += fmt::format(".TP\n\\fB{}\\fR", in_roff(row.name));
    if (!row.value.empty()) {
      text += fmt::format(" \\fI{}\\fR", in_roff(row.value));
    }
    text += fmt::format("\n{}\n", in_roff(row.text));
  }
  return text;
}

// A page and the names of its neighbours.
struct Subject {
  const Command& command;
  std::string path;                 // "heed tokenizer train"
  std::vector<std::string> beside;  // "heed-tokenizer"
};

std::string references(const std::vector<std::string>& names) {
  std::string text = ".SH SEE ALSO\n";
  for (size_t i = 0; i < names.size(); ++i) {
    text += fmt::format(".BR {} (1){}\n", in_roff(names[i]), i + 1 < names.size() ? "," : "");
  }
  return text;
}

ManualPage page_of(const Subject& subject, const std::string& version) {
  const Command& command = subject.command;
  const std::string name = with_hyphens(subject.path);
  std::string title = name;
  std::ranges::transform(title, title.begin(), [](char c) { return c >= 'a' && c <= 'z' ? char(c - 'a' + 'A') : c; });
  std::string text = fmt::format(".TH {} 1 \"\" \"{}\" \"heed\"\n.SH NAME\n{} \\- {}\n", in_roff(title),
                                 in_roff(version), in_roff(name), in_roff(command.summary));
  text += fmt::format(".SH SYNOPSIS\n\\fB{}\\fR{}\n", in_roff(subject.path),
                      in_roff(std::string_view(usage(command, subject.path)).substr(subject.path.size())));
  if (!command.commands.empty()) {
    text += list("COMMANDS", rows_of_commands(command));
  }
  text += list("OPTIONS", rows_of_options(command));
  if (!command.footer.empty()) {
    text += fmt::format(".SH NOTES\n.nf\n{}\n.fi\n", in_roff(command.footer));
  }
  text += ".SH EXIT STATUS\n0, or 2 after an error, which a line on the standard error output describes.\n";
  return {name + ".1", text + (subject.beside.empty() ? "" : references(subject.beside))};
}

void add_pages(const Command& command, const std::string& path, const std::string& above, const std::string& version,
               std::vector<ManualPage>& pages) {
  std::vector<std::string> beside;
  if (!above.empty()) {
    beside.push_back(with_hyphens(above));
  }
  for (const Command& one : command.commands) {
    if (one.shown == Shown::yes) {
      beside.push_back(with_hyphens(path + " " + one.name));
    }
  }
  pages.push_back(page_of({command, path, beside}, version));
  for (const Command& one : command.commands) {
    if (one.shown == Shown::yes) {
      add_pages(one, path + " " + one.name, path, version, pages);
    }
  }
}

}  // namespace

std::vector<ManualPage> manual_pages(const Command& program, const std::string& version) {
  std::vector<ManualPage> pages;
  add_pages(program, program.name, "", version, pages);
  return pages;
}

}  // namespace heed::cli
