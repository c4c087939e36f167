#include "heed/encoder.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "api/inside/forward.h"
#include "api/inside/text_attention.h"
#include "base/system/clock.h"
#include "base/system/files.h"
#include "base/told_results.h"
#include "checkpoint/stored_model.h"
#include "encode/text_readings.h"
#include "heed/lines.h"
#include "kernels/cpu/precision.h"
#include "kernels/devices/device_choice.h"
#include "text/lines/text_pair.h"
#include "train/tasks/labeled_scores.h"

namespace heed {
namespace {

ModelFolder folder_of_encoder(const std::string& directory, const InferenceOptions& options) {
  require<ConfigError>(options.ensemble.empty(), "encoder", "only models that write text form ensembles");
  return {directory};
}

// The tokenizer of texts: an encoder-decoder reads them as sources.
const Tokenizer& reading_tokenizer(const StoredModel& stored) {
  return stored.config().architecture == Architecture::seq2seq ? stored.source() : stored.text();
}

std::string text_name(const Encoder::TextName& name, size_t i) {
  return name ? name(i) : fmt::format("text {}", i + 1);
}

// Softmax of one label's scores, sigmoids of several labels'.
TextLabels labels_of(const ModelConfig& config, std::span<const float> scores) {
  TextLabels found;
  if (config.head == Head::number) {
    found.number = static_cast<double>(scores.front());
    return found;
  }
  const double most = static_cast<double>(*std::ranges::max_element(scores));
  double sum = 0.0;
  for (const float score : scores) {
    sum += std::exp(static_cast<double>(score) - most);
  }
  for (size_t k = 0; k < scores.size(); ++k) {
    const auto z = static_cast<double>(scores[k]);
    const bool one = config.head != Head::several_labels;
    found.scores.push_back({config.labels[k], one ? std::exp(z - most) / sum : 1.0 / (1.0 + std::exp(-z))});
    if (!one && z > 0.0) {
      found.labels.push_back(config.labels[k]);
    }
  }
  if (config.head != Head::several_labels) {
    found.labels = {config.labels[static_cast<size_t>(std::ranges::max_element(scores) - scores.begin())]};
  }
  return found;
}

FilledText filled_text(const Tokenizer& tokenizer, const EncodedText& text, const MaskGuesses& guesses) {
  std::vector<TokenId> tokens;
  std::ranges::transform(text.ids, std::back_inserter(tokens), [](int32_t id) { return TokenId(id); });
  const auto token_at = [&](size_t mask) -> TokenId& { return tokens[static_cast<size_t>(text.masks[mask])]; };
  for (size_t mask = 0; mask < guesses.size(); ++mask) {
    token_at(mask) = guesses[mask].empty() ? token_at(mask) : guesses[mask].front().token;
  }
  FilledText filled{.text = tokenizer.decode(tokens), .masks = {}};
  for (size_t mask = 0; mask < guesses.size(); ++mask) {
    std::vector<MaskGuess>& found = filled.masks.emplace_back();
    const TokenId likeliest = token_at(mask);
    for (const auto& [token, probability] : guesses[mask]) {
      token_at(mask) = token;
      found.push_back({std::string(tokenizer.piece(token)), token.value, probability, tokenizer.decode(tokens)});
    }
    token_at(mask) = likeliest;
  }
  return filled;
}

double length_of(std::span<const float> values) {
  return std::sqrt(
      std::inner_product(values.begin(), values.end(), values.begin(), 0.0, std::plus(),
                         [](float a, float b) { return static_cast<double>(a) * static_cast<double>(b); }));
}

}  // namespace

struct Encoder::State {
  State(const std::string& model, const InferenceOptions& options)
      : directory(model),
        backend(make_backend(options.device, options.threads)),
        storage(inference_type(options.precision, *backend)),
        stored(folder_of_encoder(directory, options), *backend, storage, {}, options.context) {}

  void require_head(bool fits, std::string_view what, std::string_view task) const {
    const bool is_encoder = stored.config().architecture == Architecture::encoder;
    require<FormatError>(is_encoder && fits, directory, "has no head for {}: train one with training.task = \"{}\"",
                         what, task);
  }
  void require_encoder() const {
    require<ConfigError>(stored.config().architecture == Architecture::encoder, directory, "is not an encoder");
  }
  void require_text_labels() const { require_head(classifies(), "labels of texts", "classify"); }
  void require_word_labels() const {
    require_head(stored.config().head == Head::token_labels, "labels of words", "tag");
  }
  bool classifies() const {
    const Head head = stored.config().head;
    return head == Head::one_label || head == Head::several_labels || head == Head::number;
  }
  void require_reads(TextColumns columns) const {
    const std::optional<TextColumns> trained = stored.columns();
    const bool pairs = columns == TextColumns::pair;
    require<ConfigError>(!trained || *trained == columns, directory, "the model was trained on {}, not on {}",
                         pairs ? "single texts" : "pairs of texts", pairs ? "pairs of them" : "single ones");
    require<ConfigError>(!pairs || stored.config().token_types != 1, directory,
                         "model.token_types is 1, but the two texts of a pair have types of their own");
  }
  ReadingLimit limit(const ReadingOptions& options) const {
    return {stored.config().max_length, options.too_long, options.cut_at};
  }
  std::vector<EncodedText> encoded(std::span<const std::string> texts, const TextName& name,
                                   const ReadingOptions& options) const {
    require_reads(TextColumns::one);
    std::vector<EncodedText> found;
    for (size_t i = 0; i < texts.size(); ++i) {
      found.push_back(encode_text_or_pair(stored.text(), {texts[i]}, limit(options), text_name(name, i)));
    }
    return found;
  }
  std::vector<EncodedText> encoded(std::span<const TextPair> pairs, const TextName& name,
                                   const ReadingOptions& options) const {
    require_reads(TextColumns::pair);
    std::vector<EncodedText> found;
    for (size_t i = 0; i < pairs.size(); ++i) {
      found.push_back(
          encode_text_or_pair(stored.text(), {pairs[i].first, &pairs[i].second}, limit(options), text_name(name, i)));
    }
    return found;
  }
  std::string prompt_of(const TextEmbeddingOptions& choice) const {
    const TextPrompts& prompts = stored.prompts();
    require<ConfigError>(!choice.prompt || !choice.prompt_name, directory,
                         "a prompt and a prompt's name: give one of them");
    const std::string name = choice.prompt_name.value_or(prompts.chosen);
    if (choice.prompt || name.empty()) {
      return choice.prompt.value_or("");
    }
    const auto found = std::ranges::find(prompts.all, name, &TextPrompt::name);
    std::vector<std::string> names;
    std::ranges::transform(prompts.all, std::back_inserter(names), &TextPrompt::name);
    require<ConfigError>(found != prompts.all.end(), directory, "has no prompt '{}'; {}", name,
                         names.empty() ? "it has none" : fmt::format("it has {}", fmt::join(names, ", ")));
    return found->text;
  }
  PromptedReading reading(const TextEmbeddingOptions& choice, const ReadingOptions& options) const {
    return {.architecture = stored.config().architecture,
            .tokenizer = reading_tokenizer(stored),
            .documents = stored.documents(),
            .limit = limit(options),
            .prompt = prompt_of(choice),
            .pooled = stored.prompts().pooled};
  }
  std::vector<EncodedText> prompted(std::span<const std::string> texts, const TextEmbeddingOptions& choice,
                                    const TextName& name, const ReadingOptions& options = {}) const {
    require_reads(TextColumns::one);
    const PromptedReading with_prompt = reading(choice, options);
    std::vector<EncodedText> encoded;
    encoded.reserve(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      encoded.push_back(encode_prompted(with_prompt, {texts[i]}, text_name(name, i)));
    }
    return encoded;
  }
  std::vector<EncodedText> prompted(std::span<const TextPair> pairs, const TextEmbeddingOptions& choice,
                                    const TextName& name, const ReadingOptions& options = {}) const {
    require_reads(TextColumns::pair);
    const PromptedReading with_prompt = reading(choice, options);
    std::vector<EncodedText> encoded;
    encoded.reserve(pairs.size());
    for (size_t i = 0; i < pairs.size(); ++i) {
      encoded.push_back(encode_prompted(with_prompt, {pairs[i].first, &pairs[i].second}, text_name(name, i)));
    }
    return encoded;
  }
  std::vector<std::vector<float>> embed(std::span<const EncodedText> texts, const TextEmbeddingOptions& choice,
                                        const ReadingOptions& options, const OnResult<std::vector<float>>& on_result) {
    ToldResults<std::vector<float>> found(texts.size(), on_result);
    const auto take = [&](size_t text, std::span<const float> values) {
      std::vector<float> own(values.begin(), values.end());
      normalize(own, choice);
      found.add(text, std::move(own));
    };
    read_embeddings(reader, texts, choice.pooling, take, options);
    return found.take();
  }
  void embed_into(std::span<float> to, std::span<const EncodedText> texts, const TextEmbeddingOptions& choice,
                  const ReadingOptions& options) {
    const auto width = static_cast<size_t>(embedding_width());
    require<ConfigError>(to.size() == texts.size() * width, "embeddings",
                         "room for {} numbers, but {} texts have {} each", to.size(), texts.size(), width);
    read_embeddings(
        reader, texts, choice.pooling,
        [&](size_t text, std::span<const float> values) {
          const std::span<float> own = to.subspan(text * width, width);
          std::ranges::copy(values, own.begin());
          normalize(own, choice);
        },
        options);
  }
  int64_t embedding_width() const {
    const ModelConfig& config = stored.config();
    return config.text_width > 0 ? config.text_width : config.model;
  }
  void normalize(std::span<float> values, const TextEmbeddingOptions& choice) const {
    if (choice.normalized.value_or(stored.config().text_normalized) == Normalized::no) {
      return;
    }
    const double length = length_of(values);
    for (float& value : values) {
      value = length > 0.0 ? static_cast<float>(static_cast<double>(value) / length) : value;
    }
  }
  std::vector<TextLabels> classify(std::span<const EncodedText> texts, const ReadingOptions& options,
                                   const OnResult<TextLabels>& on_result) {
    ToldResults<TextLabels> found(texts.size(), on_result);
    read_head_scores(
        reader, texts,
        [&](size_t text, std::span<const float> scores) { found.add(text, labels_of(stored.config(), scores)); },
        options);
    return found.take();
  }

  // What `label` makes of the scores of all labels for each word.
  template <class Label, class Make>
  std::vector<std::vector<Label>> tag(std::span<const std::vector<std::string>> sentences, const TextName& name,
                                      const ReadingOptions& options, const OnResult<std::vector<Label>>& on_result,
                                      const Make& label) {
    require_word_labels();
    std::vector<EncodedText> encoded;
    for (size_t i = 0; i < sentences.size(); ++i) {
      encoded.push_back(encode_words(stored.text(), sentences[i], stored.config().max_length, text_name(name, i)));
    }
    const size_t labels = stored.config().labels.size();
    ToldResults<std::vector<Label>> found(sentences.size(), on_result);
    const auto take = [&](size_t sentence, std::span<const float> scores) {
      std::vector<Label> words;
      for (size_t word = 0; word < sentences[sentence].size(); ++word) {
        words.push_back(label(scores.subspan(word * labels, labels)));
      }
      found.add(sentence, std::move(words));
    };
    read_head_scores(reader, encoded, take, options);
    return found.take();
  }

  TokenId mask_of(const FillOptions& options) const {
    require<ConfigError>(options.top >= 1, "fill", "{} guesses for each mask, expected at least 1", options.top);
    const Tokenizer& tokenizer = stored.text();
    const TokenId mask =
        options.mask.empty() ? tokenizer.mask() : tokenizer.find(show_piece(options.mask)).value_or(kNoToken);
    require<ConfigError>(mask != kNoToken, directory, "its tokenizer has no token {}",
                         options.mask.empty() ? "\"<mask>\" or \"[MASK]\": say how a mask is written"
                                              : fmt::format("\"{}\"", options.mask));
    return mask;
  }
  std::vector<FilledText> fill(std::span<const std::string> texts, const FillOptions& options, const TextName& name,
                               const ReadingOptions& reading, const OnResult<FilledText>& on_result) {
    require_head(stored.config().head == Head::tokens, "masked tokens", "masked-lm");
    const Tokenizer& tokenizer = stored.text();
    const TokenId mask = mask_of(options);
    std::vector<EncodedText> encoded;
    for (size_t i = 0; i < texts.size(); ++i) {
      encoded.push_back(encode_masked(tokenizer, texts[i], mask, stored.config().max_length, text_name(name, i)));
    }
    // Tokens that add nothing to a text are not words.
    const auto is_word = [&](TokenId token) {
      return token != mask && token != tokenizer.special().unk && !tokenizer.decode({&token, 1}).empty();
    };
    ToldResults<FilledText> filled(texts.size(), on_result);
    const auto take = [&](size_t text, const MaskGuesses& guesses) {
      filled.add(text, filled_text(tokenizer, encoded[text], guesses));
    };
    read_mask_guesses(reader, encoded, {.count = options.top, .allowed = is_word}, take, reading);
    return filled.take();
  }

  LabelReport evaluate(const std::string& file, TextColumns columns, WordFormat format) {
    const double begin = seconds_now();
    const ModelConfig& config = stored.config();
    const LabeledReading labeled{.tokenizer = stored.text(),
                                 .head = config.head,
                                 .max_length = config.max_length,
                                 .columns = columns,
                                 .format = format};
    const std::vector<LabeledExample> examples =
        with_label_ids(read_examples({file}, labeled), {config.labels, "the model's labels", ""});
    LabelReport report{.scores = score_examples(reader, examples), .texts = std::ssize(examples)};
    for (const LabeledExample& example : examples) {
      report.words += std::ssize(example.text.first_of_words);
    }
    report.seconds = seconds_now() - begin;
    return report;
  }

  std::string directory;
  std::unique_ptr<Backend> backend;
  DType storage;
  StoredModel stored;
  TextReader reader{stored.model(), storage, *backend};
};

Encoder::Encoder(const std::string& directory, const InferenceOptions& options)
    : state_(std::make_unique<State>(directory, options)) {}
Encoder::~Encoder() = default;
Encoder::Encoder(Encoder&& other) noexcept = default;
Encoder& Encoder::operator=(Encoder&& other) noexcept = default;

Precision Encoder::precision() const { return precision_of(state_->storage); }
int Encoder::threads() const { return state_->backend->threads(); }
int64_t Encoder::parameters() const { return state_->stored.parameters(); }
int64_t Encoder::max_length() const { return state_->stored.config().max_length; }
int64_t Encoder::embedding_width() const { return state_->embedding_width(); }
Workload Encoder::workload() const { return state_->reader.workload(); }
std::optional<TextColumns> Encoder::columns() const { return state_->stored.columns(); }
std::vector<std::string> Encoder::labels() const { return state_->stored.config().labels; }
std::string Encoder::task() const {
  const ModelConfig& config = state_->stored.config();
  const bool encodes = config.architecture == Architecture::encoder;
  return encodes && state_->classifies()                ? "classify"
         : encodes && config.head == Head::token_labels ? "tag"
         : encodes && config.head == Head::tokens       ? "masked-lm"
                                                        : "";
}

std::vector<TextLabels> Encoder::classify(std::span<const std::string> texts, const TextName& name,
                                          const ReadingOptions& reading, const OnResult<TextLabels>& on_result) const {
  state_->require_text_labels();
  return state_->classify(state_->encoded(texts, name, reading), reading, on_result);
}

std::vector<TextLabels> Encoder::classify(std::span<const TextPair> pairs, const TextName& name,
                                          const ReadingOptions& reading, const OnResult<TextLabels>& on_result) const {
  state_->require_text_labels();
  return state_->classify(state_->encoded(pairs, name, reading), reading, on_result);
}

std::vector<std::vector<std::string>> Encoder::tag(std::span<const std::vector<std::string>> sentences,
                                                   const TextName& name, const ReadingOptions& reading,
                                                   const OnResult<std::vector<std::string>>& on_result) const {
  return state_->tag(sentences, name, reading, on_result, [this](std::span<const float> scores) {
    return state_->stored.config().labels[static_cast<size_t>(std::ranges::max_element(scores) - scores.begin())];
  });
}

std::vector<std::vector<TextLabels>> Encoder::tag_scores(std::span<const std::vector<std::string>> sentences,
                                                         const TextName& name, const ReadingOptions& reading,
                                                         const OnResult<std::vector<TextLabels>>& on_result) const {
  return state_->tag(sentences, name, reading, on_result,
                     [this](std::span<const float> scores) { return labels_of(state_->stored.config(), scores); });
}

std::vector<std::vector<float>> Encoder::embed(std::span<const std::string> texts, const TextEmbeddingOptions& choice,
                                               const TextName& name, const ReadingOptions& reading,
                                               const OnResult<std::vector<float>>& on_result) const {
  return state_->embed(state_->prompted(texts, choice, name, reading), choice, reading, on_result);
}

std::vector<std::vector<float>> Encoder::embed(std::span<const TextPair> pairs, const TextEmbeddingOptions& choice,
                                               const TextName& name, const ReadingOptions& reading,
                                               const OnResult<std::vector<float>>& on_result) const {
  return state_->embed(state_->prompted(pairs, choice, name, reading), choice, reading, on_result);
}

std::vector<int64_t> Encoder::count_tokens(std::span<const std::string> texts, const TextEmbeddingOptions& choice,
                                           const TextName& name) const {
  std::vector<int64_t> counts;
  counts.reserve(texts.size());
  for (const EncodedText& text : state_->prompted(texts, choice, name)) {
    counts.push_back(std::ssize(text.ids));
  }
  return counts;
}

std::vector<FilledText> Encoder::fill(std::span<const std::string> texts, const FillOptions& options,
                                      const TextName& name, const ReadingOptions& reading,
                                      const OnResult<FilledText>& on_result) const {
  return state_->fill(texts, options, name, reading, on_result);
}

void Encoder::embed_into(std::span<float> to, std::span<const std::string> texts, const TextEmbeddingOptions& choice,
                         const TextName& name, const ReadingOptions& reading) const {
  state_->embed_into(to, state_->prompted(texts, choice, name, reading), choice, reading);
}

TextAttention Encoder::attention(const std::string& text, const AttentionRequest& request,
                                 const std::string& where) const {
  const ModelConfig& config = state_->stored.config();
  state_->require_encoder();
  const EncodedText encoded = encode_text_or_pair(state_->stored.text(), {text}, {config.max_length}, where);
  const EncodedText* const one = &encoded;
  const Sequences tokens = sequences_of(std::span(&one, 1), config.token_types);
  TextAttention found;
  const auto attend = [&](size_t /*task*/, Backend& backend) {
    found = attention_of_text({state_->stored.model(), backend, state_->storage}, state_->stored.text(), tokens,
                              encoded.ids, request);
  };
  state_->reader.lanes().run(1, attend, request.interruption, request.sharing);
  return found;
}

std::vector<int32_t> Encoder::tokens(const std::string& text, const ReadingOptions& reading,
                                     const std::string& where) const {
  state_->require_encoder();
  return encode_text_or_pair(state_->stored.text(), {text}, state_->limit(reading), where).ids;
}

ForwardResult Encoder::forward(std::span<const int32_t> tokens, const ForwardRequest& request) const {
  state_->require_encoder();
  ForwardResult found;
  state_->reader.lanes().run(1, [&](size_t /*task*/, Backend& backend) {
    found = forward_of_text({state_->stored.model(), backend, state_->storage}, tokens, request);
  });
  return found;
}

std::string Encoder::mask() const {
  const Tokenizer& tokenizer = reading_tokenizer(state_->stored);
  const bool fills =
      state_->stored.config().architecture == Architecture::encoder && state_->stored.config().head == Head::tokens;
  return fills && tokenizer.mask() != kNoToken ? std::string(tokenizer.piece(tokenizer.mask())) : "";
}

LabelReport Encoder::evaluate(const LabeledTextFile& test) const {
  state_->require_text_labels();
  state_->require_reads(test.columns);
  return state_->evaluate(test.file, test.columns, WordFormat::columns);
}

LabelReport Encoder::evaluate(const LabeledWordFile& test) const {
  state_->require_word_labels();
  return state_->evaluate(test.file, TextColumns::one, test.format);
}

// NumPy's format 1.0: a magic number, a header padded to 64 bytes, and the numbers row by row.
std::string numpy_file(const std::vector<std::vector<float>>& rows, int64_t width) {
  constexpr size_t kPrefix = 10, kAlignment = 64;
  std::string header =
      fmt::format("{{'descr': '<f4', 'fortran_order': False, 'shape': ({}, {}), }}", rows.size(), width);
  header.append((kAlignment - (kPrefix + header.size() + 1) % kAlignment) % kAlignment, ' ').append("\n");
  std::string file = "\x93NUMPY";
  file.append({'\1', '\0', static_cast<char>(header.size() % 256), static_cast<char>(header.size() / 256)});
  file += header;
  for (const std::vector<float>& row : rows) {
    file.append(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float));
  }
  return file;
}

void embed_file(const Encoder& encoder, const EmbeddingFiles& files, const TextEmbeddingOptions& choice) {
  require_other_file(files.output, {files.input});
  std::vector<std::string> lines;
  std::vector<TextPair> pairs;
  for_each_line(files.input, [&](const std::string& line, const std::string& where) {
    if (files.columns == TextColumns::pair) {
      pairs.push_back(text_pair(line, where));
    } else {
      lines.push_back(line);
    }
  });
  const auto name = [&](size_t i) { return fmt::format("{}:{}", files.input == "-" ? "stdin" : files.input, i + 1); };
  const auto rows =
      files.columns == TextColumns::pair ? encoder.embed(pairs, choice, name) : encoder.embed(lines, choice, name);
  write_file(files.output, numpy_file(rows, encoder.embedding_width()));
}

TextPair text_pair(const std::string& line, const std::string& where) { return split_pair(line, where); }

double cosine_similarity(std::span<const float> a, std::span<const float> b) {
  require(a.size() == b.size(), "similarity", "the embeddings have {} and {} numbers, expected as many", a.size(),
          b.size());
  double product = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    product += static_cast<double>(a[i]) * static_cast<double>(b[i]);
  }
  const double lengths = length_of(a) * length_of(b);
  return lengths > 0.0 ? product / lengths : 0.0;
}

}  // namespace heed
