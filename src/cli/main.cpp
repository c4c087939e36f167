// The heed program.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <charconv>
#include <filesystem>
#include <iostream>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include "cli/commands.h"
#include "cli/standard_output.h"
#include "heed/version.h"

namespace {

constexpr int kUserError = 2;

// In one line, whatever the words hold that it quotes.
int report(const std::exception& error) {
  std::string message = error.what();
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::ranges::replace_if(message, is_control, ' ');
  std::cerr << "heed: " << message << '\n';
  return kUserError;
}

// The command that the words before the mistake have led to.
const CLI::App& innermost_of(const CLI::App& app) {
  const CLI::App* innermost = &app;
  while (!innermost->get_subcommands().empty()) {
    innermost = innermost->get_subcommands().front();
  }
  return *innermost;
}

int report_unknown_option(const CLI::App& command, const std::string& word) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options([](const CLI::Option*) { return true; })) {
    names.push_back(option->get_name());
  }
  return report(std::runtime_error(fmt::format("{}: there is no option '{}'; expected one of {}", command.get_name(),
                                               word, fmt::join(names, ", "))));
}

// The parser says only that something is missing; the word that stands where that was expected is what helps.
int report_missing(const CLI::App& app, const CLI::RequiredError& error) {
  const CLI::App& innermost = innermost_of(app);
  std::vector<std::string> names;
  for (const CLI::App* command : innermost.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  const std::vector<std::string> words = innermost.remaining();
  if (!words.empty() && words.front().starts_with('-')) {
    return report_unknown_option(innermost, words.front());
  }
  if (words.empty() || names.empty()) {
    return report(error);
  }
  return report(std::runtime_error(fmt::format("{}: there is no command '{}'; expected one of {}", innermost.get_name(),
                                               words.front(), fmt::join(names, ", "))));
}

// What is left over when all that is required is there.
int report_extra(const CLI::App& app, const CLI::ExtrasError& error) {
  const CLI::App& innermost = innermost_of(app);
  const std::vector<std::string> words = innermost.remaining();
  const auto option = std::ranges::find_if(words, [](const std::string& word) { return word.starts_with('-'); });
  return option == words.end() ? report(error) : report_unknown_option(innermost, *option);
}

// The parser reads an empty number as zero, 010 as eight, and too large a one as the largest.
std::string why_no_whole_number(const std::string& text, bool may_be_negative) {
  const bool negative = may_be_negative && text.starts_with('-');
  const std::string_view digits = std::string_view(text).substr(negative ? 1 : 0);
  if (digits.empty() || digits.find_first_not_of("0123456789") != std::string_view::npos) {
    return fmt::format("'{}' is no {}", text, may_be_negative ? "whole number" : "whole number of 0 or more");
  }
  if (digits.size() > 1 && digits.starts_with('0')) {
    return fmt::format("'{}' begins with a zero", text);
  }
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
  const bool fits = error == std::errc() && (!may_be_negative || value <= std::numeric_limits<int64_t>::max());
  return fits ? "" : fmt::format("'{}' is too large", text);
}

void check_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options([](const CLI::Option*) { return true; })) {
    const std::string type = option->get_type_name();
    if (type == "INT" || type == "UINT") {
      const bool may_be_negative = type == "INT";
      option->check(CLI::Validator(
          [may_be_negative](const std::string& text) { return why_no_whole_number(text, may_be_negative); }, ""));
    } else if (type == "FLOAT") {
      option->check(
          CLI::Validator([](const std::string& text) { return text.empty() ? "expected a number" : ""; }, ""));
    }
  }
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    check_numbers(*command);
  }
}

// The parser calls the command that it finds, and throws for what asks for help or the version.
void parse_and_run(CLI::App& app, int argc, char** argv) {
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& success) {
    std::ostringstream text;
    app.exit(success, text, text);
    heed::cli::write_output(text.str());
  }
}

}  // namespace

int main(int argc, char** argv) {
  CLI::App app("heed: trains and runs Transformers", "heed");
  app.set_version_flag("--version", heed::version());
  app.require_subcommand(1);
  heed::cli::add_bench(app);
  heed::cli::add_bleu(app);
  heed::cli::add_demo(app, argc > 0 ? argv[0] : "heed");
  heed::cli::add_evaluate(app);
  heed::cli::add_inspect(app);
  heed::cli::add_report(app);
  heed::cli::add_score(app);
  heed::cli::add_tokenizer(app);
  heed::cli::add_train(app);
  heed::cli::add_translate(app);
  check_numbers(app);
  try {
    parse_and_run(app, argc, argv);
    heed::cli::flush_output();
  } catch (const CLI::RequiredError& error) {
    return report_missing(app, error);
  } catch (const CLI::ExtrasError& error) {
    return report_extra(app, error);
  } catch (const CLI::ParseError& error) {
    return report(error);
  } catch (const std::filesystem::filesystem_error& error) {
    return report(std::runtime_error(fmt::format("{}: {}", error.path1().string(), error.code().message())));
  } catch (const std::exception& error) {
    return report(error);
  }
  return 0;
}
