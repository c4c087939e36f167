#include "train/language_model_task.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "data/even_parts.h"
#include "data/overlap.h"
#include "decode/text_generation.h"
#include "text/multiline.h"

namespace heed {
namespace {

static_assert(RaggedText::kNothing == Targets::kIgnored);

constexpr int64_t kValidationTokens = 8192;  // about so many in one pass

TokenBatch to_batch(RaggedText&& text) {
  return {Sequences(std::move(text.tokens.ids), std::move(text.tokens.segments)), Targets(std::move(text.expected))};
}

class TextShard final : public Shard {
 public:
  explicit TextShard(RaggedText&& text) : batch_(to_batch(std::move(text))), targets_(batch_.expected.counted()) {}

  int64_t targets() const override { return targets_; }
  ShardTexts texts() const override { return {batch_.tokens, batch_.tokens}; }
  TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const override {
    return model.causal_lm().loss(pass, batch_, smoothing);
  }

 private:
  TokenBatch batch_;
  int64_t targets_;
};

constexpr int64_t kTellingBytes = 32;  // shorter lines ("First Citizen:") often occur twice

// The number of tokens that have about kTellingBytes bytes.
int64_t telling_tokens(const TextCorpus& text) {
  return (kTellingBytes * text.tokens() + text.size().bytes - 1) / std::max<int64_t>(1, text.size().bytes);
}

// Calls use(tokens) for each document.
template <class Use>
void for_each_document(const TextCorpus& text, Use use) {
  std::vector<int32_t> document;
  for (int64_t d = 0; d < text.store().size(); ++d) {
    document.clear();
    text.store().read(d, document);
    use(document);
  }
}

// Calls use(tokens) for each line, without the line breaks and the marks of documents.
template <class Use>
void for_each_line(const TextCorpus& text, const TextMarks& marks, Use use) {
  constexpr int64_t kWindow = 1 << 16;  // tokens
  const auto ends_line = [&](int32_t token) {
    return (marks.line_break && token == marks.line_break->value) || (marks.begin && token == marks.begin->value) ||
           (marks.end && token == marks.end->value);
  };
  const int64_t tokens = text.store().tokens();
  std::vector<int32_t> line, window;
  for (int64_t begin = 0; begin < tokens; begin += kWindow) {
    window.clear();
    text.store().read_between(begin, std::min(begin + kWindow, tokens), window);
    for (const int32_t token : window) {
      if (ends_line(token)) {
        use(line);
        line.clear();
      } else {
        line.push_back(token);
      }
    }
  }
  use(line);
}

}  // namespace

LanguageModelTask::LanguageModelTask(const Recipe& recipe, const TaskSetup& setup)
    : recipe_(recipe.of<LanguageModelRecipe>().data),
      samples_(recipe.of<LanguageModelRecipe>().samples),
      seed_(static_cast<uint64_t>(recipe.training.seed)),
      batches_per_update_(recipe.training.accumulate),
      shards_per_batch_(shards_per_batch(recipe.training)) {
  const TextParts parts = setup.stored != nullptr ? stored_text_parts(recipe_) : text_parts(recipe_);
  tokenizers_ = setup.tokenizers != nullptr
                    ? *setup.tokenizers
                    : make_text_tokenizers(recipe.of<LanguageModelRecipe>().tokenizer, parts.train);
  const TextCorpora corpora(recipe_, *tokenizers_.front(), setup);
  train_.emplace(corpora.read(parts.train, "train"), recipe_.borders);
  if (parts.validation) {
    validation_.emplace(corpora.read(*parts.validation, "validation"), recipe_.borders);
    require<FormatError>(validation_->rows.size() > 0, validation_->corpus.names(),
                         "the validation text is a single token, of which nothing can be predicted");
    overlap_ = setup.stored != nullptr ? stored_overlap(*setup.stored) : find_overlap();
  }
  batches_.emplace(train_->rows.size(), recipe_.batches, seed_, train_->corpus.fingerprint());
}

std::string LanguageModelTask::describe_text() const {
  const auto words = [&](const TextCorpus& text) { return describe_size(text, recipe_.documents); };
  std::string text = words(train_->corpus) + (validation_ ? "; validation: " + words(validation_->corpus) : "");
  return text + describe_overlap();
}

std::string LanguageModelTask::describe_overlap() const {
  const auto& [documents, lines] = overlap_;
  if (documents.found + lines.found == 0) {
    return "";
  }
  std::vector<std::string> parts;
  for (const auto& [name, shared] : {std::pair{"documents", documents}, {"lines", lines}}) {
    if (shared.all > 0) {
      parts.push_back(fmt::format("{} of {} {}", shared.found, shared.all, name));
    }
  }
  return fmt::format("; found in the training text too: {} of at least about {} bytes", fmt::join(parts, ", "),
                     kTellingBytes);
}

// Parts with unknown words are not found: they may differ.
LanguageModelTask::Overlap LanguageModelTask::find_overlap() const {
  const Tokenizer& tokenizer = *tokenizers_.front();
  const int64_t min_tokens = telling_tokens(validation_->corpus);
  const auto shared = [&](auto for_each_part) {
    SequenceSearch search;
    Shared counts;
    for_each_part(validation_->corpus, [&](std::span<const int32_t> part) {
      const bool tells = static_cast<int64_t>(part.size()) >= min_tokens;
      counts.all += tells ? 1 : 0;
      if (tells && !std::ranges::count(part, tokenizer.special().unk.value)) {
        search.look_for(part);
      }
    });
    for_each_part(train_->corpus, [&](std::span<const int32_t> part) { search.scan(part); });
    counts.found = search.found();
    return counts;
  };
  Overlap overlap;
  if (recipe_.documents != Documents::none) {
    overlap.documents = shared([](const TextCorpus& text, auto use) { for_each_document(text, use); });
  }
  if (recipe_.documents != Documents::lines) {
    const TextMarks marks = text_marks(tokenizer, recipe_.documents);
    overlap.lines = shared([&](const TextCorpus& text, auto use) { for_each_line(text, marks, use); });
  }
  return overlap;
}

void LanguageModelTask::store(PartsToStore& parts) const {
  train_->corpus.store(parts, "train");
  if (!validation_) {
    return;
  }
  validation_->corpus.store(parts, "validation");
  parts.add_number("overlap.documents.found", overlap_.documents.found);
  parts.add_number("overlap.documents.all", overlap_.documents.all);
  parts.add_number("overlap.lines.found", overlap_.lines.found);
  parts.add_number("overlap.lines.all", overlap_.lines.all);
}

LanguageModelTask::Overlap LanguageModelTask::stored_overlap(const StoredParts& parts) {
  const auto shared = [&](const std::string& name) {
    return Shared{.found = parts.count(name + ".found", 0), .all = parts.count(name + ".all", 0)};
  };
  return {.documents = shared("overlap.documents"), .lines = shared("overlap.lines")};
}

std::vector<std::pair<std::string, int64_t>> LanguageModelTask::sizes() const {
  return {{"train_tokens", train_->corpus.tokens()},
          {"train_bytes", train_->corpus.size().bytes},
          {"validation_tokens", validation_ ? validation_->corpus.tokens() : 0},
          {"validation_bytes", validation_ ? validation_->corpus.size().bytes : 0},
          {"validation_trained_on", overlap_.documents.found},
          {"validation_lines_trained_on", overlap_.lines.found}};
}

Update LanguageModelTask::next_update(int64_t) {
  const auto rows_of = [](const RowRange& range) { return range.end - range.begin; };
  Update update;
  uint64_t first_row = 0;
  for (int64_t i = 0; i < batches_per_update_; ++i) {
    const std::vector<RowRange> ranges = batches_->next();
    std::ranges::transform(ranges, std::back_inserter(update.examples), &RowRange::begin);
    for (const auto part : cut_evenly(std::span(ranges), shards_per_batch_, rows_of)) {
      RaggedText text = train_->rows.read(part, first_row);
      first_row += text.expected.size();
      update.shards.push_back(std::make_unique<TextShard>(std::move(text)));
    }
  }
  return update;
}

void LanguageModelTask::seek(const BatchPosition& position) {
  require<ConfigError>(position.stream == batches_->position().stream, "data.train",
                       "the text is not the one that the run started with");
  batches_->seek(position);
}

RowRange LanguageModelTask::range_at(int64_t first_row) const {
  return {first_row, std::min(first_row + recipe_.batches.context, train_->rows.size())};
}

std::vector<RowRange> LanguageModelTask::ranges_of(const Update& update) const {
  std::vector<RowRange> ranges;
  std::ranges::transform(update.examples, std::back_inserter(ranges), [&](int64_t row) { return range_at(row); });
  return ranges;
}

std::string LanguageModelTask::describe_origins(const Update& update) const {
  return train_->rows.describe(ranges_of(update));
}

std::string LanguageModelTask::list_origins(const Update& update) const { return train_->rows.list(ranges_of(update)); }

Scores LanguageModelTask::validate(const Inference& inference) const {
  const TextRows& rows = validation_->rows;
  const int64_t context = recipe_.batches.context;
  const int64_t sequences = std::max<int64_t>(1, kValidationTokens / context);
  double sum = 0.0;
  int64_t counted = 0;
  for (int64_t begin = 0; begin < rows.size(); begin += sequences * context) {
    std::vector<RowRange> ranges;
    for (int64_t at = begin; at < std::min(begin + sequences * context, rows.size()); at += context) {
      ranges.push_back({at, std::min(at + context, rows.size())});
    }
    const TextShard shard(rows.read(ranges));
    Pass pass = Pass::infer(inference.backend, inference.storage);
    sum += shard.loss(pass, inference.model, Smoothing(0.0F)).total_negative_log_likelihood();
    counted += shard.targets();
  }
  const double loss = sum / static_cast<double>(counted);
  // In a stream, nothing predicts the first token: it is counted with the mean of the others.
  const TextCorpus& text = validation_->corpus;
  const int64_t predicted = text.tokens() - (recipe_.documents == Documents::none ? 0 : text.documents());
  const double bits =
      loss / std::numbers::ln2 * static_cast<double>(predicted) / static_cast<double>(text.size().bytes);
  Scores scores{.loss = loss, .others = {{"bits_per_byte", bits}}, .value = -loss, .samples = {}};
  if (std::isfinite(loss)) {
    scores.samples = write_samples(inference);
  }
  return scores;
}

std::vector<Sample> LanguageModelTask::write_samples(const Inference& inference) const {
  std::vector<Sample> samples;
  if (samples_.tokens == 0) {
    return samples;
  }
  const std::vector<std::string> prompts = samples_.prompts.empty() ? std::vector<std::string>{""} : samples_.prompts;
  Scheduler scheduler(inference);
  const TextGenerator generator{scheduler, *tokenizers_.front(), recipe_.documents};
  const auto found = generate_texts(generator, prompts,
                                    {.sampling = {.temperature = samples_.temperature, .seed = seed_},
                                     .max_tokens = samples_.tokens,
                                     .long_prompts = LongPrompts::cut_left},
                                    [](size_t i) { return fmt::format("validation.prompts, text {}", i + 1); });
  for (size_t i = 0; i < prompts.size(); ++i) {
    samples.push_back({prompts[i], found[i].front().text});
  }
  return samples;
}

}  // namespace heed
