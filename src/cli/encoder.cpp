// heed classify, heed tag, heed embed.
#include "heed/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>

#include "cli/commands.h"
#include "cli/json_text.h"
#include "cli/standard_output.h"
#include "cli/translator_options.h"
#include "heed/lines.h"

namespace heed::cli {
namespace {

constexpr size_t kTextsPerCall = 4096;  // that share batches

struct EncoderOptions {
  ModelOptions model;
  std::string input = "-";
  bool pairs = false, scores = false, json = false;
};

std::vector<Option> input_option(EncoderOptions& options, const std::string& what) {
  return {option("--input FILE", options.input, what + ", plain or gzip; -: standard input")};
}

// Calls use(lines, name) for the lines of a file, many at a time.
template <class Use>
void for_each_part(const std::string& path, Use use) {
  ArrivingLines input(path);
  for (auto lines = input.next(kTextsPerCall); !lines.empty(); lines = input.next(kTextsPerCall)) {
    use(lines, [&](size_t line) { return input.name(line); });
  }
}

std::vector<TextPair> pairs_of(const std::vector<std::string>& lines, const Encoder::TextName& name) {
  std::vector<TextPair> pairs;
  for (size_t i = 0; i < lines.size(); ++i) {
    const size_t tab = lines[i].find('\t');
    if (tab == std::string::npos || lines[i].find('\t', tab + 1) != std::string::npos) {
      const int64_t columns = std::ranges::count(lines[i], '\t') + 1;
      throw std::runtime_error(fmt::format("{}: {} column{}, expected 2: two texts with a tab between them", name(i),
                                           columns, columns == 1 ? "" : "s"));
    }
    pairs.push_back({lines[i].substr(0, tab), lines[i].substr(tab + 1)});
  }
  return pairs;
}

std::string in_json(const TextLabels& found) {
  if (found.scores.empty()) {
    return fmt::format("{{\"number\": {:.6f}}}\n", found.number);
  }
  std::vector<std::string> labels, scores;
  for (const std::string& label : found.labels) {
    labels.push_back(json_string(label));
  }
  for (const LabelScore& score : found.scores) {
    scores.push_back(fmt::format("{}: {:.6f}", json_string(score.label), score.probability));
  }
  return fmt::format("{{\"labels\": [{}], \"probabilities\": {{{}}}}}\n", fmt::join(labels, ", "),
                     fmt::join(scores, ", "));
}

std::string in_columns(const TextLabels& found, const EncoderOptions& options) {
  std::string line =
      found.scores.empty() ? fmt::format("{:.6f}", found.number) : fmt::format("{}", fmt::join(found.labels, ","));
  for (const LabelScore& score : found.scores) {
    line += options.scores ? fmt::format("\t{}={:.6f}", score.label, score.probability) : "";
  }
  return line + "\n";
}

void classify(const EncoderOptions& options) {
  const Encoder encoder(options.model.directory, options.model.inference);
  for_each_part(options.input, [&](const std::vector<std::string>& lines, const Encoder::TextName& name) {
    const std::vector<TextLabels> all =
        options.pairs ? encoder.classify(pairs_of(lines, name), name) : encoder.classify(lines, name);
    for (const TextLabels& found : all) {
      write_output(options.json ? in_json(found) : in_columns(found, options));
    }
    flush_output();
  });
}

std::vector<std::string> words_between_spaces(const std::string& line) {
  std::vector<std::string> words;
  for (size_t begin = line.find_first_not_of(" \t"); begin != std::string::npos;) {
    const size_t end = std::min(line.find_first_of(" \t", begin), line.size());
    words.push_back(line.substr(begin, end - begin));
    begin = line.find_first_not_of(" \t", end);
  }
  return words;
}

std::string tagged_line(const std::vector<std::string>& words, const std::vector<std::string>& labels,
                        const EncoderOptions& options) {
  if (!options.json) {
    return fmt::format("{}\n", fmt::join(labels, " "));
  }
  std::vector<std::string> parts;
  for (size_t i = 0; i < words.size(); ++i) {
    parts.push_back(fmt::format("{{\"word\": {}, \"label\": {}}}", json_string(words[i]), json_string(labels[i])));
  }
  return fmt::format("[{}]\n", fmt::join(parts, ", "));
}

void tag(const EncoderOptions& options) {
  const Encoder encoder(options.model.directory, options.model.inference);
  for_each_part(options.input, [&](const std::vector<std::string>& lines, const Encoder::TextName& name) {
    std::vector<std::vector<std::string>> sentences;
    std::vector<size_t> numbers;  // of the lines that hold words
    for (size_t i = 0; i < lines.size(); ++i) {
      if (auto words = words_between_spaces(lines[i]); !words.empty()) {
        sentences.push_back(std::move(words));
        numbers.push_back(i);
      }
    }
    const auto labels = encoder.tag(sentences, [&](size_t i) { return name(numbers[i]); });
    for (size_t i = 0, next = 0; i < lines.size(); ++i) {
      const bool has_words = next < numbers.size() && numbers[next] == i;
      write_output(has_words ? tagged_line(sentences[next], labels[next], options) : options.json ? "[]\n" : "\n");
      next += has_words ? 1 : 0;
    }
    flush_output();
  });
}

struct EmbedOptions {
  EncoderOptions encoder;
  TextEmbeddingOptions choice;
  std::string npy, similarity;
};

void print_similarities(const Encoder& encoder, const EmbedOptions& options) {
  std::vector<std::string> left, right;
  for_each_pair(options.encoder.input, options.similarity, [&](const std::string& a, const std::string& b, int64_t) {
    left.push_back(a);
    right.push_back(b);
  });
  const auto name_in = [](const std::string& file) {
    return [file](size_t i) { return fmt::format("{}:{}", file, i + 1); };
  };
  const auto a = encoder.embed(left, options.choice, name_in(options.encoder.input));
  const auto b = encoder.embed(right, options.choice, name_in(options.similarity));
  for (size_t i = 0; i < a.size(); ++i) {
    put("{:.6f}\n", cosine_similarity(a[i], b[i]));
  }
}

void embed(const EmbedOptions& options) {
  if (!options.npy.empty() && !options.similarity.empty()) {
    throw std::runtime_error("embed: --npy and --similarity: give one of them");
  }
  const Encoder encoder(options.encoder.model.directory, options.encoder.model.inference);
  if (!options.similarity.empty()) {
    print_similarities(encoder, options);
    return;
  }
  if (!options.npy.empty()) {
    embed_file(encoder, {.input = options.encoder.input, .output = options.npy}, options.choice);
    return;
  }
  for_each_part(options.encoder.input, [&](const std::vector<std::string>& lines, const Encoder::TextName& name) {
    const auto rows = encoder.embed(lines, options.choice, name);
    for (const std::vector<float>& row : rows) {
      put("[{}]\n", fmt::join(row, ", "));
    }
    flush_output();
  });
}

}  // namespace

Command classify_command() {
  const auto options = std::make_shared<EncoderOptions>();
  return {
      .name = "classify",
      .summary = "label texts, a line each, with an encoder trained for the task classify",
      .options = joined(
          {model_options(options->model),
           context_options(options->model),
           input_option(*options, "texts, a line each"),
           {flag("--pairs", options->pairs, "each line is two texts with a tab between them"),
            flag("--scores", options->scores, "print each label's probability after the label"),
            flag("--json", options->json, "print one JSON object per line: labels and probabilities, or a number")}}),
      .run = [options] { classify(*options); },
      .footer = "Example:\n  heed classify --model classifier < texts.txt",
  };
}

Command tag_command() {
  const auto options = std::make_shared<EncoderOptions>();
  return {
      .name = "tag",
      .summary = "label the words of sentences, a line each, with an encoder trained for the task tag",
      .options = joined({model_options(options->model),
                         context_options(options->model),
                         input_option(*options, "sentences, a line each, with spaces between words"),
                         {flag("--json", options->json, "print one JSON array per line, of words and labels")}}),
      .run = [options] { tag(*options); },
      .footer = "Example:\n  heed tag --model tagger < sentences.txt",
  };
}

Command embed_command() {
  const auto options = std::make_shared<EmbedOptions>();
  return {
      .name = "embed",
      .summary = "print an embedding of each line's text, from any encoder",
      .options =
          joined({model_options(options->encoder.model),
                  context_options(options->encoder.model),
                  input_option(options->encoder, "texts, a line each"),
                  {option("--pooling NAME", options->choice.pooling, kPoolingNames,
                          "how a text's tokens become one embedding: first, mean or max"),
                   flag("--normalize", options->choice.normalized, Normalized::yes, "scale each embedding to length 1"),
                   option("--npy FILE", options->npy, "write a NumPy file instead of a JSON array per line"),
                   option("--similarity FILE", options->similarity,
                          "print the cosine of each line's embedding and that of the same line in this file")}}),
      .run = [options] { embed(*options); },
      .footer = "Example:\n  heed embed --model encoder --normalize < texts.txt",
  };
}

}  // namespace heed::cli
