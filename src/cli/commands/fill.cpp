// heed fill.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/options/encoder_options.h"
#include "cli/output/json_text.h"
#include "cli/output/standard_output.h"
#include "heed/encoder.h"

namespace heed::cli {
namespace {

struct FillCommand {
  ModelOptions model;
  std::string input = "-", text;
  FillOptions fill;
  bool json = false;
};

std::string guess_in_json(const MaskGuess& guess) {
  return fmt::format("{{\"token\": {}, \"id\": {}, \"probability\": {:.6f}, \"text\": {}}}", json_string(guess.token),
                     guess.id, guess.probability, json_string(guess.text));
}

std::string filled_in_json(const FilledText& filled) {
  std::vector<std::string> masks;
  for (const std::vector<MaskGuess>& guesses : filled.masks) {
    std::vector<std::string> list;
    std::ranges::transform(guesses, std::back_inserter(list), guess_in_json);
    masks.push_back(fmt::format("[{}]", fmt::join(list, ", ")));
  }
  return fmt::format("{{\"text\": {}, \"masks\": [{}]}}\n", json_string(filled.text), fmt::join(masks, ", "));
}

// The text, and a column for each mask.
std::string filled_in_columns(const FilledText& filled) {
  std::string line = filled.text;
  std::ranges::replace_if(
      line, [](char c) { return c == '\n' || c == '\t'; }, ' ');
  for (const std::vector<MaskGuess>& guesses : filled.masks) {
    std::vector<std::string> list;
    list.reserve(guesses.size());
    for (const MaskGuess& guess : guesses) {
      list.push_back(fmt::format("{}={:.6f}", guess.token, guess.probability));
    }
    line += fmt::format("\t{}", fmt::join(list, " "));
  }
  return line + "\n";
}

void fill(const FillCommand& options) {
  const Encoder encoder(options.model.directory, options.model.inference);
  const auto print = [&](const std::vector<std::string>& lines, const Encoder::TextName& name) {
    for (const FilledText& filled : encoder.fill(lines, options.fill, name)) {
      write_output(options.json ? filled_in_json(filled) : filled_in_columns(filled));
    }
    flush_output();
  };
  if (options.text.empty()) {
    for_each_part(options.input, print);
  } else if (options.input == "-") {
    print({options.text}, [](size_t) { return std::string("--text"); });
  } else {
    throw std::runtime_error("fill: --text and --input: give one of them");
  }
}

}  // namespace

Command fill_command() {
  const auto options = std::make_shared<FillCommand>();
  return {
      .name = "fill",
      .summary = "guess the masked words of texts, a line each, with a masked language model",
      .options = joined(
          {model_options(options->model),
           encoder_context_options(options->model),
           input_option(options->input, "texts with masks, a line each"),
           {option("--text TEXT", options->text, "this text instead"),
            option("--top N", options->fill.top, "guesses for each mask"),
            option("--mask TEXT", options->fill.mask,
                   "how a mask is written (it must be a token); by default as the tokenizer has it, <mask> or [MASK]"),
            flag("--json", options->json, "print one JSON object per line: text, and for each mask its guesses")}}),
      .run = [options] { fill(*options); },
      .footer =
          "A line's answer is the text with the likeliest tokens, and after a tab for each mask its likeliest "
          "tokens,\nas TOKEN=PROBABILITY. " +
          std::string(kEncoderAnswers) +
          "Example:\n  heed fill --model encoder --text \"A man is sleeping on a <mask>.\"",
  };
}

}  // namespace heed::cli
