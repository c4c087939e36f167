#include "train/tasks/language_model_task.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

#include "data/corpus/overlap.h"
#include "decode/texts/text_generation.h"
#include "text/lines/multiline.h"

namespace heed {
namespace {

constexpr int64_t kValidationTokens = 8192;  // about this many in one pass

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
    : TextTask(recipe, setup,
               [](const TextCorpus& text, DocumentBorders borders) { return TextRows(text, borders).size(); }),
      ahead_(recipe.of<LanguageModelRecipe>().ahead),
      samples_(recipe.of<LanguageModelRecipe>().samples) {
  if (validation()) {
    require<FormatError>(rows_of(*validation()).size() > 0, validation()->names(),
                         "the validation text has one token, too few to predict one from another");
    overlap_ = setup.stored != nullptr ? stored_overlap(*setup.stored) : find_overlap();
  }
}

std::string LanguageModelTask::describe_text() const { return TextTask::describe_text() + describe_overlap(); }

std::string LanguageModelTask::describe_overlap() const {
  const auto& [documents, lines] = overlap_;
  if (documents.found + lines.found == 0) {
    return "";
  }
  std::vector<std::string> shares;
  for (const auto& [name, shared] : {std::pair{"documents", documents}, {"lines", lines}}) {
    if (shared.all > 0) {
      shares.push_back(fmt::format("{} of {} {}", shared.found, shared.all, name));
    }
  }
  return fmt::format("; found in the training text too: {} of at least about {} bytes", fmt::join(shares, ", "),
                     kTellingBytes);
}

// Passages with unknown words are not found: they may differ.
LanguageModelTask::Overlap LanguageModelTask::find_overlap() const {
  const int64_t min_tokens = telling_tokens(*validation());
  const auto shared = [&](auto for_each_part) {
    SequenceSearch search;
    Shared counts;
    for_each_part(*validation(), [&](std::span<const int32_t> part) {
      const bool tells = static_cast<int64_t>(part.size()) >= min_tokens;
      counts.all += tells ? 1 : 0;
      if (tells && !std::ranges::count(part, tokenizer().special().unk.value)) {
        search.look_for(part);
      }
    });
    for_each_part(train(), [&](std::span<const int32_t> part) { search.scan(part); });
    counts.found = search.found();
    return counts;
  };
  Overlap overlap;
  if (data().documents != Documents::none) {
    overlap.documents = shared([](const TextCorpus& text, auto use) { for_each_document(text, use); });
  }
  if (data().documents != Documents::lines) {
    const TextMarks marks = text_marks(tokenizer(), data().documents);
    overlap.lines = shared([&](const TextCorpus& text, auto use) { for_each_line(text, marks, use); });
  }
  return overlap;
}

void LanguageModelTask::store(FieldsToStore& fields) const {
  TextTask::store(fields);
  if (validation()) {
    fields.add_number("overlap.documents.found", overlap_.documents.found);
    fields.add_number("overlap.documents.all", overlap_.documents.all);
    fields.add_number("overlap.lines.found", overlap_.lines.found);
    fields.add_number("overlap.lines.all", overlap_.lines.all);
  }
}

LanguageModelTask::Overlap LanguageModelTask::stored_overlap(const StoredFields& fields) {
  const auto shared = [&](const std::string& name) {
    return Shared{.found = fields.count(name + ".found", 0), .all = fields.count(name + ".all", 0)};
  };
  return {.documents = shared("overlap.documents"), .lines = shared("overlap.lines")};
}

std::vector<std::pair<std::string, int64_t>> LanguageModelTask::sizes() const {
  std::vector<std::pair<std::string, int64_t>> sizes = TextTask::sizes();
  sizes.emplace_back("validation_trained_on", overlap_.documents.found);
  sizes.emplace_back("validation_lines_trained_on", overlap_.lines.found);
  return sizes;
}

// Those of update `number`; none once they are 0.
std::vector<double> LanguageModelTask::ahead_weights(int64_t number) const {
  const double left =
      ahead_.updates == 0 ? 1.0 : 1.0 - static_cast<double>(number) / static_cast<double>(ahead_.updates);
  std::vector<double> weights;
  for (const double weight : left > 0.0 ? ahead_.weights : std::vector<double>{}) {
    weights.push_back(left * weight);
  }
  return weights;
}

Update LanguageModelTask::next_update(int64_t number) {
  const TextRows rows = rows_of(train());
  const std::vector<double> ahead = ahead_weights(number);
  Update update;
  for (const auto& [ranges, first_row] : next_shards(number, update)) {
    update.shards.push_back(std::make_unique<CausalShard>(rows.read(ranges, first_row), ahead));
  }
  return update;
}

Scores LanguageModelTask::validate(const Inference& inference) const {
  const TextRows rows = rows_of(*validation());
  double sum = 0.0;
  int64_t counted = 0;
  for (const std::vector<RowRange>& ranges : cover(rows.size(), kValidationTokens)) {
    const CausalShard shard(rows.read(ranges));
    Pass pass = Pass::infer(inference.backend, inference.storage);
    sum += shard.loss(pass, inference.model, Smoothing(0.0F)).total_negative_log_likelihood();
    counted += shard.targets();
  }
  const double loss = sum / static_cast<double>(counted);
  // In a stream, nothing predicts the first token: it is counted with the mean of the others.
  const TextCorpus& text = *validation();
  const int64_t predicted = text.tokens() - (data().documents == Documents::none ? 0 : text.documents());
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
  const TextGenerator generator{scheduler, tokenizer(), data().documents};
  const auto found = generate_texts(generator, prompts,
                                    {.sampling = {.temperature = samples_.temperature, .seed = seed()},
                                     .max_tokens = samples_.tokens,
                                     .too_long = TooLong::truncate},
                                    [](size_t i) { return fmt::format("validation.prompts, text {}", i + 1); });
  for (size_t i = 0; i < prompts.size(); ++i) {
    samples.push_back({prompts[i], found[i].front().text});
  }
  return samples;
}

}  // namespace heed
