// The heed program.
#include <CLI/CLI.hpp>
#include <iostream>
#include <string_view>

#include "cli/commands.h"
#include "heed/version.h"

namespace {

constexpr int kUserError = 2;

// The first line alone: whoever reads it on a terminal has the command above it.
int report(const std::exception& error) {
  const std::string_view message = error.what();
  std::cerr << "heed: " << message.substr(0, message.find('\n')) << '\n';
  return kUserError;
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("heed: trains and runs Transformers", "heed");
  app.set_version_flag("--version", heed::version());
  app.require_subcommand(1);
  heed::cli::add_bench(app);
  heed::cli::add_inspect(app);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    return app.exit(success);
  } catch (const CLI::ParseError& error) {
    return report(error);
  } catch (const std::exception& error) {
    return report(error);
  }
  return 0;
}
