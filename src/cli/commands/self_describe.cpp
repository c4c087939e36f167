#include <memory>
#include <optional>

#include "cli/commands.h"
#include "cli/output/standard_output.h"
#include "command_line/completion.h"
#include "command_line/manual.h"
#include "heed/lines.h"
#include "heed/version.h"

namespace heed::cli {
namespace {

struct Description {
  std::string manual;
  std::optional<Shell> shell;
};

void describe(const Command& program, const Description& wanted) {
  if (!wanted.manual.empty()) {
    for (const ManualPage& page : manual_pages(program, "heed " + version())) {
      NewTextFile file(wanted.manual + "/" + page.file, {});
      file.write(page.text);
      file.commit();
    }
  }
  if (wanted.shell) {
    write_output(completion(program, *wanted.shell));
  }
}

}  // namespace

Command self_describe_command(const Command& program) {
  const auto wanted = std::make_shared<Description>();
  return {.name = "self-describe",
          .summary = "write manual pages, and completion for shells, from the table of commands",
          .options = {option("--man DIR", wanted->manual, "a folder that gets the manual pages"),
                      option("--completion SHELL", wanted->shell, kShellNames,
                             "print the completion for bash, zsh or fish")},
          .run = [program, wanted] { describe(program, *wanted); },
          .shown = Shown::hidden};
}

}  // namespace heed::cli
