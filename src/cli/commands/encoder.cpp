// heed classify, heed tag, heed embed.
#include "heed/encoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string_view>

#include "cli/commands.h"
#include "cli/options/encoder_options.h"
#include "cli/output/counted.h"
#include "cli/output/json_text.h"
#include "cli/output/standard_output.h"
#include "heed/lines.h"

namespace heed::cli {
namespace {

struct EncoderOptions {
  ModelOptions model;
  std::string input = "-";
  bool pairs = false, scores = false, json = false, evaluate = false;
  WordFormat format = WordFormat::columns;  // of what tag evaluates
};

Option pairs_option(EncoderOptions& options) {
  return flag("--pairs", options.pairs,
              "each line is two texts with a tab between them: for models of earlier versions, which do not say so "
              "themselves");
}

std::vector<TextPair> pairs_of(const std::vector<std::string>& lines, const Encoder::TextName& name) {
  std::vector<TextPair> pairs;
  for (size_t i = 0; i < lines.size(); ++i) {
    pairs.push_back(text_pair(lines[i], name(i)));
  }
  return pairs;
}

// What a line holds: as the model was trained, or else as --pairs says.
TextColumns columns_of(const Encoder& encoder, const EncoderOptions& options) {
  const std::optional<TextColumns> trained = encoder.columns();
  if (options.pairs && trained == TextColumns::one) {
    throw std::runtime_error(
        fmt::format("{}: the model was trained on single texts: leave out --pairs", options.model.directory));
  }
  return trained.value_or(options.pairs ? TextColumns::pair : TextColumns::one);
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

std::string score_name(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string in_json(const LabelFigures& label) {
  return fmt::format(
      "{{\"label\": {}, \"expected\": {}, \"predicted\": {}, \"right\": {}, \"precision\": {:.6f}, \"recall\": {:.6f}, "
      "\"f1\": {:.6f}{}}}",
      json_string(label.label), label.expected, label.predicted, label.right, label.precision(), label.recall(),
      label.f1(),
      label.predicted_as.empty() ? "" : fmt::format(", \"predicted_as\": [{}]", fmt::join(label.predicted_as, ", ")));
}

void print_json(const Encoder& encoder, const LabelReport& report) {
  std::string members = fmt::format("\"loss\": {:.6f}", report.scores.loss);
  for (const NamedScore& score : report.scores.others) {
    members += fmt::format(", \"{}\": {:.6f}", score.name, score.value);
  }
  std::vector<std::string> labels;
  std::ranges::transform(report.scores.labels, std::back_inserter(labels),
                         [](const LabelFigures& label) { return in_json(label); });
  if (!labels.empty()) {
    members += fmt::format(", \"labels\": [{}]", fmt::join(labels, ", "));
  }
  put("{{{}, \"texts\": {}{}, \"seconds\": {:.6g}, \"precision\": \"{}\", \"threads\": {}}}\n", members, report.texts,
      report.words > 0 ? fmt::format(", \"words\": {}", report.words) : "", report.seconds,
      name_of(encoder.precision()), encoder.threads());
}

// Each label's figures; and, where a text has one label, how often it was taken for which.
void print_labels(const std::vector<LabelFigures>& labels) {
  put("\nexpected  predicted  precision  recall      f1  label\n");
  for (const LabelFigures& label : labels) {
    put("{:8}  {:9}  {:9.4f}  {:6.4f}  {:6.4f}  {}\n", label.expected, label.predicted, label.precision(),
        label.recall(), label.f1(), label.label);
  }
  if (labels.front().predicted_as.empty()) {
    return;
  }
  put("\npredicted, in the order of this list, where the label was expected\n");
  for (const LabelFigures& label : labels) {
    for (const int64_t count : label.predicted_as) {
      put("{:8}", count);
    }
    put("  {}\n", label.label);
  }
}

void print_text(const Encoder& encoder, const LabelReport& report) {
  put("loss {:.4f}", report.scores.loss);
  for (const NamedScore& score : report.scores.others) {
    put("  {} {:.4f}", score_name(score.name), score.value);
  }
  put("\n{}{} in {:.2f} s ({}, {})\n", report.words > 0 ? counted(report.words, "word") + " in " : "",
      counted(report.texts, report.words > 0 ? "sentence" : "text"), report.seconds, name_of(encoder.precision()),
      counted(encoder.threads(), "thread"));
  if (!report.scores.labels.empty()) {
    print_labels(report.scores.labels);
  }
}

void show(const LabelReport& report, const Encoder& encoder, const EncoderOptions& options) {
  options.json ? print_json(encoder, report) : print_text(encoder, report);
}

void classify(const EncoderOptions& options) {
  if (options.evaluate && options.scores) {
    throw std::runtime_error("classify: --scores and --evaluate: give one of them");
  }
  const Encoder encoder(options.model.directory, options.model.inference);
  if (options.evaluate) {
    show(encoder.evaluate(LabeledTextFile{options.input, columns_of(encoder, options)}), encoder, options);
    return;
  }
  const TextColumns columns = columns_of(encoder, options);
  for_each_part(options.input, [&](const std::vector<std::string>& lines, const Encoder::TextName& name) {
    const std::vector<TextLabels> all =
        columns == TextColumns::pair ? encoder.classify(pairs_of(lines, name), name) : encoder.classify(lines, name);
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
  if (options.evaluate) {
    show(encoder.evaluate(LabeledWordFile{options.input, options.format}), encoder, options);
    return;
  }
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

// The embedding of each line's text, or pair of texts.
std::vector<std::vector<float>> embeddings_of(const Encoder& encoder, const EmbedOptions& options,
                                              const std::vector<std::string>& lines, const Encoder::TextName& name) {
  return columns_of(encoder, options.encoder) == TextColumns::pair
             ? encoder.embed(pairs_of(lines, name), options.choice, name)
             : encoder.embed(lines, options.choice, name);
}

void print_similarities(const Encoder& encoder, const EmbedOptions& options) {
  std::vector<std::string> left, right;
  for_each_pair(options.encoder.input, options.similarity, [&](const std::string& a, const std::string& b, int64_t) {
    left.push_back(a);
    right.push_back(b);
  });
  const auto name_in = [](const std::string& file) {
    return [file](size_t i) { return fmt::format("{}:{}", file == "-" ? "stdin" : file, i + 1); };
  };
  const auto a = embeddings_of(encoder, options, left, name_in(options.encoder.input));
  const auto b = embeddings_of(encoder, options, right, name_in(options.similarity));
  for (size_t i = 0; i < a.size(); ++i) {
    put("{:.6f}\n", cosine_similarity(a[i], b[i]));
  }
}

void print_numpy_file(const Encoder& encoder, const EmbedOptions& options) {
  std::vector<std::string> lines, places;
  for_each_line(options.encoder.input, [&](const std::string& line, const std::string& where) {
    lines.push_back(line);
    places.push_back(where);
  });
  const auto rows = embeddings_of(encoder, options, lines, [&](size_t i) { return places[i]; });
  write_output(numpy_file(rows, encoder.embedding_width()));
}

void embed(const EmbedOptions& options) {
  if (!options.npy.empty() && !options.similarity.empty()) {
    throw std::runtime_error("embed: --npy and --similarity: give one of them");
  }
  const Encoder encoder(options.encoder.model.directory, options.encoder.model.inference);
  const TextColumns columns = columns_of(encoder, options.encoder);
  if (!options.similarity.empty()) {
    print_similarities(encoder, options);
  } else if (options.npy == "-") {
    print_numpy_file(encoder, options);
  } else if (!options.npy.empty()) {
    embed_file(encoder, {.input = options.encoder.input, .output = options.npy, .columns = columns}, options.choice);
  } else {
    for_each_part(options.encoder.input, [&](const std::vector<std::string>& lines, const Encoder::TextName& name) {
      for (const std::vector<float>& row : embeddings_of(encoder, options, lines, name)) {
        put("[{}]\n", fmt::join(row, ", "));
      }
      flush_output();
    });
  }
}

}  // namespace

Command classify_command() {
  const auto options = std::make_shared<EncoderOptions>();
  return {
      .name = "classify",
      .summary = "label texts, a line each, with an encoder trained for the task classify",
      .options = joined(
          {model_options(options->model),
           encoder_context_options(options->model),
           input_option(options->input, "texts, a line each"),
           {pairs_option(*options), flag("--scores", options->scores, "print each label's probability after the label"),
            flag("--evaluate", options->evaluate,
                 "the lines are those of a recipe's data.validation, with labels: print how well these are predicted"),
            flag(
                "--json", options->json,
                "print one JSON object per line: labels and probabilities, or a number; with --evaluate one in all")}}),
      .run = [options] { classify(*options); },
      .footer = std::string(kEncoderAnswers) + "Example:\n  heed classify --model classifier < texts.txt",
  };
}

Command tag_command() {
  const auto options = std::make_shared<EncoderOptions>();
  return {
      .name = "tag",
      .summary = "label the words of sentences, a line each, with an encoder trained for the task tag",
      .options = joined({model_options(options->model),
                         encoder_context_options(options->model),
                         input_option(options->input, "sentences, a line each, with spaces between words"),
                         {flag("--evaluate", options->evaluate,
                               "the input is a recipe's data.validation, with labels: print how well these are "
                               "predicted"),
                          needing("--evaluate", option("--format NAME", options->format, kWordFormatNames,
                                                       "of what is evaluated: columns or lines, as data.format says")),
                          flag("--json", options->json,
                               "print one JSON array per line, of words and labels; with --evaluate one object")}}),
      .run = [options] { tag(*options); },
      .footer = std::string(kEncoderAnswers) + "Example:\n  heed tag --model tagger < sentences.txt",
  };
}

Command embed_command() {
  const auto options = std::make_shared<EmbedOptions>();
  return {
      .name = "embed",
      .summary = "print an embedding of each line's text, from a model of any kind",
      .options =
          joined({model_options(options->encoder.model),
                  encoder_context_options(options->encoder.model),
                  input_option(options->encoder.input, "texts, a line each"),
                  {pairs_option(options->encoder),
                   option("--pooling NAME", options->choice.pooling, kPoolingNames,
                          "how a text's tokens become one embedding: first, mean, max, last or mean-sqrt-length; by "
                          "default as the model has it: mean, unless it was imported with another"),
                   option("--prompt TEXT", options->choice.prompt, "read this text before each text"),
                   option("--prompt-name NAME", options->choice.prompt_name,
                          "one of the prompts that the model came with; by default the one it names, if any"),
                   flag("--normalize", options->choice.normalized, std::optional(Normalized::yes),
                        "scale each embedding to length 1"),
                   option("--npy FILE", options->npy,
                          "write a NumPy file instead of a JSON array per line; -: to the standard output"),
                   option("--similarity FILE", options->similarity,
                          "print the cosine of each line's embedding and that of the same line in this file")}}),
      .run = [options] { embed(*options); },
      .footer = std::string(kEncoderAnswers) + "Example:\n  heed embed --model encoder --normalize < texts.txt",
  };
}

}  // namespace heed::cli
