// The heed program.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "cli/commands.h"
#include "cli/output/build.h"
#include "cli/output/standard_output.h"
#include "command_line/parse.h"
#include "heed/ranks.h"
#include "heed/version.h"

namespace heed::cli {
namespace {

// The message on one line, whatever the quoted words contain.
void report(std::string message) {
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::ranges::replace_if(message, is_control, ' ');
  std::cerr << fmt::format("heed: {}\n", message);
}

Command program(const std::string& called) {
  return {.name = "heed",
          .summary = "trains and runs Transformers",
          .commands = {bench_command(),     bleu_command(),       chat_command(),       choose_command(),
                       classify_command(),  demo_command(called), embed_command(),      evaluate_command(),
                       export_command(),    fill_command(),       generate_command(),   import_command(),
                       inspect_command(),   merge_command(),      perplexity_command(), plan_command(),
                       prepare_command(),   quantize_command(),   recipe_command(),     report_command(),
                       score_command(),     serve_command(),      shortlist_command(),  tag_command(),
                       tokenizer_command(), train_command(),      translate_command(),  tune_command()},
          .footer = "heed COMMAND --help shows a command's options.",
          .version = fmt::format("heed {}\n{}", version(), build())};
}

void run(std::span<const std::string> words, const std::string& called) {
  Command heed = program(called);
  heed.commands.push_back(self_describe_command(heed));
  const Request request = parse(heed, words);
  const RankOfJob ranks = rank_of_job();
  if (request.run) {
    if (request.processes == Processes::one && !ranks.is_alone()) {
      throw std::runtime_error(
          fmt::format("{} runs in one process, but was started as {} ranks", request.command, ranks.count));
    }
    request.run();
  } else if (ranks.is_first()) {
    write_output(request.text);
  }
  flush_output();
}

void run_words(std::span<const std::string> words) {
  const bool is_named = !words.empty();
  try {
    run(words.subspan(is_named ? 1 : 0), is_named ? words.front() : "heed");
  } catch (const std::filesystem::filesystem_error& error) {
    throw std::runtime_error(fmt::format("{}: {}", error.path1().string(), error.code().message()));
  }
}

}  // namespace
}  // namespace heed::cli

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv, argv + argc);
  return heed::run_as_rank([&] { heed::cli::run_words(words); }, heed::cli::report);
}
