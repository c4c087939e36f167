#include <fmt/format.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/commands.h"
#include "cli/options/draft_options.h"
#include "cli/options/sampling_options.h"
#include "cli/options/translator_options.h"
#include "cli/output/standard_output.h"
#include "heed/chat.h"
#include "heed/errors.h"
#include "heed/generator.h"
#include "heed/lines.h"

namespace heed::cli {
namespace {

struct ConversationOptions {
  ModelOptions model;
  GenerationOptions generation{.max_tokens = 1000, .marks = PromptMarks::spelled};
  GivenOptions given;
  DraftOptions drafts;
  std::string system;
};

// Shows an answer while it is written.
class AnswerDisplay final : public GenerationListener {
 public:
  void on_piece(const Text& /*text*/, std::string_view piece) override { show_output(piece); }
  void on_completion(const Text& /*text*/, const Completion& /*completion*/) override { show_output("\n"); }
};

// What has been said, and what is to be answered next.
class ChatSession {
 public:
  ChatSession(const ConversationOptions& options, const Generator& generator, const ChatFormat& format)
      : options_(options), generator_(generator), format_(format), system_(options.system) {
    reset();
  }

  // Whether the conversation goes on after this line.
  bool take(const std::string& line, const std::string& where) {
    if (line == "/quit") {
      return false;
    }
    if (line == "/reset") {
      reset();
    } else if (line == "/system" || line.starts_with("/system ")) {
      system_ = line.size() > kSystem.size() ? line.substr(kSystem.size()) : "";
      reset();
    } else if (line.starts_with('/')) {
      throw ConfigError(fmt::format("{}: '{}' is not a command: expected /reset, /system TEXT or /quit", where, line));
    } else if (!line.empty()) {
      answer(line, where);
    }
    return true;
  }

 private:
  static constexpr std::string_view kSystem = "/system ";

  void reset() {
    messages_.clear();
    if (!system_.empty()) {
      messages_.push_back({"system", system_});
    }
  }

  // A question that could not be answered is not part of the conversation.
  void answer(const std::string& question, const std::string& where) {
    std::vector<ChatMessage> messages = messages_;
    messages.push_back({"user", question});
    const std::array prompts{format_.prompt(messages)};
    AnswerDisplay display;
    const auto answers = generator_.generate(prompts, options_.generation, &display, [&](size_t) { return where; });
    flush_output();
    messages.push_back({"assistant", answers.front().front().text});
    messages_ = std::move(messages);
  }

  const ConversationOptions& options_;
  const Generator& generator_;
  const ChatFormat& format_;
  std::string system_;
  std::vector<ChatMessage> messages_;
};

// On a terminal a person sees what was wrong with a line, and goes on; elsewhere the program ends.
enum class Talk : uint8_t { terminal, lines };

bool take_line(ChatSession& session, const std::string& line, const std::string& where, Talk talk) {
  const auto take = [&] { return naming_cut_prompt([&] { return session.take(line, where); }); };
  if (talk == Talk::lines) {
    return take();
  }
  try {
    return take();
  } catch (const Error& error) {
    show_output(fmt::format("{}\n", error.what()));
    return true;
  }
}

void chat(ConversationOptions& options) {
  const Generator generator(options.model.directory, options.model.inference, options.drafts);
  take_defaults(options.given, generator.with_defaults(options.generation), options.generation);
  const ChatFormat format(options.model.directory);
  // Refuses options that make no sense before anyone has typed a line.
  generator.generate({}, options.generation);
  ChatSession session(options, generator, format);
  const Talk talk = isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0 ? Talk::terminal : Talk::lines;
  AvailableLines input("-");
  while (true) {
    if (talk == Talk::terminal) {
      show_output("> ");
    }
    const std::vector<std::string> lines = input.next(1);
    if (lines.empty()) {
      show_output(talk == Talk::terminal ? "\n" : "");
      break;
    }
    if (!take_line(session, lines.front(), input.name(0), talk)) {
      break;
    }
  }
  flush_output();
  report_drafts(options.drafts, generator.drafts());
}

}  // namespace

Command chat_command() {
  const auto options = std::make_shared<ConversationOptions>();
  GenerationOptions& generation = options->generation;
  return {
      .name = "chat",
      .summary = "talk with a language model that has a chat template",
      .options = options->given.noted(
          joined({model_options(options->model),
                  {context_option(options->model), rotary_scaling_option(options->model), cache_option(options->model),
                   option("--system TEXT", options->system, "what the model is told before the conversation"),
                   option("--max-tokens N", generation.max_tokens, "tokens of an answer at most"),
                   option("--stop TEXT", generation.stop, "end an answer before this string")},
                  sampling_options(generation.sampling),
                  rule_options(generation.rules),
                  draft_options(options->drafts),
                  {flag("--cut-prompt", generation.too_long, TooLong::truncate,
                        "cut a conversation that is too long for the model, from the left")}})),
      .run = [options] { chat(*options); },
      .footer =
          "Each line is a message. /reset begins anew, /system TEXT too, with other words before the conversation;\n"
          "/quit or the end of the input ends it.\n\n"
          "Example:\n  heed chat --model model --temperature 0.7 --system \"Answer briefly.\"",
  };
}

}  // namespace heed::cli
