#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <stdexcept>
#include <utility>

#include "cli/commands.h"
#include "cli/options/draft_options.h"
#include "cli/options/sampling_options.h"
#include "cli/options/translator_options.h"
#include "cli/output/json_text.h"
#include "cli/output/standard_output.h"
#include "heed/chat.h"
#include "heed/generator.h"
#include "heed/json_schema.h"
#include "heed/lines.h"
#include "heed/ranks.h"

namespace heed::cli {
namespace {

constexpr size_t kPromptsTogether = 1000;  // prompts of the standard input that are taken at once
constexpr double kMaxTimeout = 1e9;        // seconds

struct GenerateOptions {
  ModelOptions model;
  GenerationOptions generation;
  GivenOptions given;
  DraftOptions drafts;
  std::optional<std::string> prompt, regex;
  std::string prompts, choices, json_schema;
  double timeout = 0.0;
  bool json = false;
};

// For texts that begin now.
GenerationOptions generation_options(const GenerateOptions& options) {
  GenerationOptions generation = options.generation;
  if (options.timeout > 0.0) {
    const std::chrono::duration<double> limit(options.timeout);
    generation.interruption.deadline =
        std::chrono::steady_clock::now() + std::chrono::duration_cast<std::chrono::steady_clock::duration>(limit);
  }
  return generation;
}

std::string in_json(const LikelyToken& token) {
  return fmt::format("\"token\": {}, \"log_probability\": {:.6f}", json_string(token.piece), token.log_probability);
}

std::vector<std::string> in_json(const std::vector<ScoredToken>& tokens) {
  std::vector<std::string> objects;
  objects.reserve(tokens.size());
  for (const ScoredToken& token : tokens) {
    std::vector<std::string> likeliest;
    std::ranges::transform(token.likeliest, std::back_inserter(likeliest),
                           [](const LikelyToken& one) { return "{" + in_json(one) + "}"; });
    const std::string listed =
        likeliest.empty() ? "" : fmt::format(", \"likeliest\": [{}]", fmt::join(likeliest, ", "));
    objects.push_back("{" + in_json(token) + listed + "}");
  }
  return objects;
}

std::string in_json(const std::string& prompt, const Completion& completion, const GenerateOptions& options) {
  const std::string drafts = options.drafts.by == Drafts::none ? ""
                                                               : fmt::format(", \"drafted\": {}, \"accepted\": {}",
                                                                             completion.drafted, completion.accepted);
  const std::string each = options.generation.each == EachToken::listed
                               ? fmt::format(", \"each\": [{}]", fmt::join(in_json(completion.each), ", "))
                               : "";
  return fmt::format(
      "{{\"prompt\": {}, \"text\": {}, \"tokens\": {}, \"log_probability\": {:.6f}, \"reason\": \"{}\"{}{}}}\n",
      json_string(prompt), json_string(completion.text), completion.tokens, completion.log_probability,
      name_of(completion.reason), drafts, each);
}

// Shows one text while it is generated.
class Streaming final : public GenerationListener {
 public:
  void on_piece(const Text& /*text*/, std::string_view piece) override { show_output(piece); }
  void on_completion(const Text& /*text*/, const Completion& /*completion*/) override { show_output("\n"); }
};

// Shows texts in the order of the prompts, each as soon as it and those before it are complete.
class InOrder final : public GenerationListener {
 public:
  using Show = std::function<void(const std::string& text)>;
  InOrder(const std::vector<std::string>& prompts, const GenerateOptions& options, Show show)
      : prompts_(prompts),
        options_(options),
        show_(std::move(show)),
        done_(prompts.size() * static_cast<size_t>(options.generation.samples)) {}

  void on_completion(const Text& text, const Completion& completion) override {
    const auto samples = static_cast<size_t>(options_.generation.samples);
    done_[text.prompt * samples + static_cast<size_t>(text.sample)] =
        options_.json ? in_json(prompts_[text.prompt], completion, options_) : completion.text + "\n";
    for (; next_ < done_.size() && done_[next_]; ++next_) {
      show_(*done_[next_]);
      done_[next_]->clear();
    }
  }

 private:
  const std::vector<std::string>& prompts_;
  const GenerateOptions& options_;
  Show show_;
  std::vector<std::optional<std::string>> done_;
  size_t next_ = 0;
};

void read_choices(GenerateOptions& options) {
  for_each_line(options.choices, [&](const std::string& line, const std::string&) {
    if (!line.empty()) {
      options.generation.choices.push_back(line);
    }
  });
  if (options.generation.choices.empty()) {
    throw std::runtime_error(options.choices + ": no choices: expected one on each line");
  }
}

// With --json, lines may be conversations: all of them, or none. Those are put into the words of the model's template.
class Conversations {
 public:
  explicit Conversations(GenerateOptions& options) : options_(options) {}

  void render(std::vector<std::string>& prompts, const Generator::PromptName& name) {
    for (size_t i = 0; i < prompts.size() && options_.json; ++i) {
      const bool conversation = is_conversation(prompts[i]);
      if (conversation != known_.value_or(conversation)) {
        throw std::runtime_error(name(i) + ": expected conversations on all lines, or on none");
      }
      known_ = conversation;
      if (conversation) {
        prompts[i] = format().prompt(prompts[i], name(i));
        options_.generation.marks = PromptMarks::spelled;
      }
    }
  }

 private:
  static bool is_conversation(std::string_view line) {
    const size_t begin = line.find_first_not_of(" \t");
    return begin != std::string_view::npos && line[begin] == '{' && line.find("\"messages\"") != std::string_view::npos;
  }

  const ChatFormat& format() {
    if (!format_) {
      format_.emplace(options_.model.directory);
    }
    return *format_;
  }

  GenerateOptions& options_;
  std::optional<ChatFormat> format_;
  std::optional<bool> known_;  // whether the lines so far are conversations
};

void write_texts(const Generator& generator, const std::vector<std::string>& prompts, const GenerateOptions& options,
                 const Generator::PromptName& name) {
  if (prompts.size() == 1 && options.generation.samples == 1 && !options.json) {
    Streaming listener;
    generator.generate(prompts, generation_options(options), &listener, name);
  } else {
    InOrder listener(prompts, options, show_output);
    generator.generate(prompts, generation_options(options), &listener, name);
  }
  flush_output();
}

std::string line_name(const GenerateOptions& options, size_t line) {
  return fmt::format("{}:{}", options.prompts, line + 1);
}

std::vector<std::string> read_prompts(GenerateOptions& options) {
  std::vector<std::string> prompts;
  for_each_line(options.prompts, [&](const std::string& line, const std::string&) { prompts.push_back(line); });
  Conversations(options).render(prompts, [&](size_t line) { return line_name(options, line); });
  return prompts;
}

// All ranks know all prompts, so a chunk is a range of them.
struct PromptRange {
  size_t begin = 0, end = 0;
  static constexpr auto members() { return std::tuple(&PromptRange::begin, &PromptRange::end); }
};

void share_prompts(const Generator& generator, GenerateOptions& options) {
  const std::vector<std::string> prompts = read_prompts(options);
  const GenerationOptions generation = generation_options(options);
  const size_t at_once = lines_at_once(kPromptsTogether);
  size_t next = 0;
  const auto work = [&](const PromptRange& range) {
    const std::vector<std::string> some(prompts.begin() + static_cast<int64_t>(range.begin),
                                        prompts.begin() + static_cast<int64_t>(range.end));
    std::string text;
    InOrder listener(some, options, [&](const std::string& one) { text += one; });
    generator.generate(some, generation, &listener, [&](size_t i) { return line_name(options, range.begin + i); });
    return text;
  };
  share_work(SharedWork<PromptRange, std::string>{
      .next = [&]() -> std::optional<PromptRange> {
        const size_t begin = std::exchange(next, std::min(next + at_once, prompts.size()));
        return begin < next ? std::optional(PromptRange{begin, next}) : std::nullopt;
      },
      .work = work,
      .take = [](const std::string& text) { show_output(text); }});
  flush_output();
}

void converse(const Generator& generator, const GenerateOptions& options) {
  AvailableLines input("-");
  while (true) {
    show_output("> ");
    const std::vector<std::string> lines = input.next(1);
    if (lines.empty()) {
      show_output("\n");
      return;
    }
    write_texts(generator, lines, options, [&](size_t line) { return input.name(line); });
  }
}

void take_regex(GenerateOptions& options) {
  if (options.regex->empty()) {
    throw std::runtime_error("generate: --regex is empty: leave it out, or give an expression");
  }
  options.generation.regex = *options.regex;
}

void take_json_schema(GenerateOptions& options) {
  if (options.regex) {
    throw std::runtime_error("generate: --regex and --json-schema: give one of them");
  }
  std::string schema;
  for_each_line(options.json_schema, [&](const std::string& line, const std::string&) { schema += line + "\n"; });
  options.generation.regex = regex_of_json_schema(schema, options.json_schema);
}

void write_lines(const Generator& generator, GenerateOptions& options) {
  AvailableLines input("-");
  Conversations conversations(options);
  const auto name = [&](size_t line) { return input.name(line); };
  for (auto lines = input.next(kPromptsTogether); !lines.empty(); lines = input.next(kPromptsTogether)) {
    conversations.render(lines, name);
    write_texts(generator, lines, options, name);
  }
}

void generate(GenerateOptions& options) {
  if (options.prompt && !options.prompts.empty()) {
    throw std::runtime_error("generate: --prompt and --prompts: give one of them");
  }
  if (!(options.timeout >= 0.0 && options.timeout <= kMaxTimeout)) {
    throw std::runtime_error(
        fmt::format("generate: --timeout is {}, expected 0 to {} seconds", options.timeout, kMaxTimeout));
  }
  if (options.prompts.empty() && !rank_of_job().is_alone()) {
    throw std::runtime_error("generate: several ranks need --prompts FILE, whose lines they share out");
  }
  const Generator generator(options.model.directory, options.model.inference, options.drafts);
  take_defaults(options.given, generator.with_defaults(options.generation), options.generation);
  // Refuses options that make no sense before anyone has typed a line.
  generator.generate({}, options.generation);
  if (!rank_of_job().is_alone()) {
    share_prompts(generator, options);
    return;
  }
  if (options.prompt) {
    write_texts(generator, {*options.prompt}, options, [](size_t) { return std::string("--prompt"); });
  } else if (!options.prompts.empty()) {
    const std::vector<std::string> prompts = read_prompts(options);
    write_texts(generator, prompts, options, [&](size_t i) { return line_name(options, i); });
  } else if (isatty(STDIN_FILENO) != 0 && isatty(STDOUT_FILENO) != 0) {
    converse(generator, options);
  } else {
    write_lines(generator, options);
  }
  report_drafts(options.drafts, generator.drafts());
}

}  // namespace

Command generate_command() {
  const auto options = std::make_shared<GenerateOptions>();
  GenerationOptions& generation = options->generation;
  return {
      .name = "generate",
      .summary = "generate text with a language model",
      .options = options->given.noted(
          joined({model_options(options->model),
                  {context_option(options->model), rotary_scaling_option(options->model)},
                  {ensemble_option(options->model), cache_option(options->model),
                   option("--prompt TEXT", options->prompt, "the beginning of the text; it is not printed"),
                   option("--prompts FILE", options->prompts,
                          "a file with one prompt per line; by default prompts are read from standard input"),
                   option("--max-tokens N", generation.max_tokens, "tokens to generate at most"),
                   option("--stop TEXT", generation.stop, "end the text before this string"),
                   option("--timeout S", options->timeout,
                          "end texts that are not finished after S seconds of writing; 0: never"),
                   option("--n N", generation.samples, "texts per prompt, at most 1024"),
                   option("--beam N", generation.beam, "beam width; above 1: beam search instead of sampling")},
                  sampling_options(generation.sampling),
                  {min_tokens_option(generation.rules)},
                  rule_options(generation.rules),
                  {option("--regex EXPRESSION", options->regex,
                          "a regular expression that the text matches from beginning to end"),
                   option("--json-schema FILE", options->json_schema,
                          "a JSON schema: the text is JSON that is valid against it"),
                   option("--choices FILE", options->choices, "the text is one of this file's lines"),
                   option("--force TEXT", generation.force, "with --beam: every text contains this text")},
                  draft_options(options->drafts),
                  {flag("--cut-prompt", generation.too_long, TooLong::truncate,
                        "cut prompts that are too long for the model, from the left"),
                   flag("--json", options->json,
                        "print one JSON object per line: prompt, text, tokens, log_probability, reason (end, "
                        "stop, length or deadline); with drafts, drafted and accepted. Lines of prompts may be "
                        "conversations then: {\"messages\": [{\"role\": \"user\", \"content\": \"...\"}]}"),
                   needing("--json", flag("--token-scores", generation.each, EachToken::listed,
                                          "add the tokens and their log-probabilities")),
                   needing("--token-scores", option("--likeliest N", generation.likeliest,
                                                    "add the N likeliest tokens at the place of each, at most 20"))}})),
      .processes = Processes::several,
      .run =
          [options] {
            if (!options->choices.empty()) {
              read_choices(*options);
            }
            if (options->regex) {
              take_regex(*options);
            }
            if (!options->json_schema.empty()) {
              take_json_schema(*options);
            }
            naming_cut_prompt([&] { generate(*options); });
          },
      .footer = "Example:\n  heed generate --model model --prompt \"Once upon a time\" --temperature 0.8 --top-p 0.95",
  };
}

}  // namespace heed::cli
