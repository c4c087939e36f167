#include "train/tasks/denoising_task.h"

#include <algorithm>
#include <utility>

#include "decode/texts/translation/translation_frame.h"
#include "train/corpus/translation_data.h"
#include "train/tasks/pair_shard.h"

namespace heed {
namespace {

constexpr int64_t kNoisedValidationTokens = 4096;  // about this many in one pass

SentenceMarks marks_of_run(const Tokenizers& tokenizers, const ModelMarks& marks) {
  const TranslationTokenizers pair = TranslationTokenizers::of(tokenizers);
  const TranslationFrame frame(pair, marks, {});
  require<ConfigError>(!frame.lacks_target(), "training.from", "the model writes several languages");
  return marks_of(pair, frame);
}

// Without the marks of a document around it.
std::span<const int32_t> without_marks(std::span<const int32_t> ids, const SpecialTokens& special) {
  const auto is_mark = [&](int32_t id) { return id == special.bos.value || id == special.eos.value; };
  while (!ids.empty() && is_mark(ids.front())) {
    ids = ids.subspan(1);
  }
  while (!ids.empty() && is_mark(ids.back())) {
    ids = ids.first(ids.size() - 1);
  }
  return ids;
}

// The sides of pairs, end to end.
struct Sides {
  std::vector<int32_t> source, input, expected;
  std::vector<int64_t> source_lengths, target_lengths;

  void add(const NoisedText& text, const SentenceMarks& marks) {
    const auto append = [](std::vector<int32_t>& to, const std::vector<int32_t>& ids) {
      to.insert(to.end(), ids.begin(), ids.end());
    };
    const auto source_begin = std::ssize(source), target_begin = std::ssize(input);
    append(source, marks.before_source);
    append(source, text.source);
    append(source, marks.after_source);
    input.push_back(marks.begin.value);
    append(input, marks.before_target);
    append(input, text.target);
    append(expected, marks.before_target);
    append(expected, text.target);
    expected.push_back(marks.end.value);
    source_lengths.push_back(std::ssize(source) - source_begin);
    target_lengths.push_back(std::ssize(input) - target_begin);
  }
};

}  // namespace

DenoisingTask::DenoisingTask(const Recipe& recipe, const TaskSetup& setup)
    : TextTask(recipe, setup,
               [](const TextCorpus& text, DocumentBorders borders) { return MarkedText(text, borders).size(); }),
      key_(RandomKey{seed()}.derive("noise")),
      noising_(recipe.of<DenoisingRecipe>().noise, recipe.of<DenoisingRecipe>().marks_in(tokenizer())),
      marks_(marks_of_run(tokenizers(), setup.marks)) {
  const auto has_pair = [this](const ShardRows& rows) {
    FirstRows first;
    return batch_of(*validation(), rows, {}, first).has_value();
  };
  require<FormatError>(!can_validate() || std::ranges::any_of(validation_rows(), has_pair), "data.validation",
                       "has no text of two tokens or more");
}

std::vector<TextTask::ShardRows> DenoisingTask::validation_rows() const {
  std::vector<ShardRows> shards;
  for (std::vector<RowRange>& ranges :
       cover(MarkedText(*validation(), data().borders).size(), kNoisedValidationTokens)) {
    const auto first_row = static_cast<uint64_t>(ranges.front().begin);
    shards.push_back({std::move(ranges), first_row});
  }
  return shards;
}

std::optional<PairBatch> DenoisingTask::batch_of(const TextCorpus& text, const ShardRows& rows, RandomKey key,
                                                 FirstRows& first) const {
  const Sequences read = MarkedText(text, data().borders).read(rows.ranges, rows.first_row);
  Sides sides;
  for (int64_t s = 0; s < read.segments().count(); ++s) {
    const std::span<const int32_t> ids = without_marks(read.sequence(s), tokenizer().special());
    if (ids.size() >= 2) {
      const uint64_t row = rows.first_row + static_cast<uint64_t>(read.segments().begin(s));
      sides.add(noising_.apply(ids, key.derive(row)), marks_);
    }
  }
  if (sides.expected.empty()) {
    return std::nullopt;
  }
  const FirstRows own = first;
  first.source += sides.source.size();
  first.target += sides.input.size();
  return PairBatch{SourceSequences(std::move(sides.source), Segments(sides.source_lengths, own.source)),
                   TargetSequences(std::move(sides.input), Segments(sides.target_lengths, own.target)),
                   Targets(std::move(sides.expected))};
}

Update DenoisingTask::next_update(int64_t number) {
  Update update;
  FirstRows first;
  for (const ShardRows& rows : next_shards(number, update)) {
    if (auto batch = batch_of(train(), rows, key_.derive(static_cast<uint64_t>(number)), first)) {
      update.shards.push_back(std::make_unique<PairShard>(std::move(*batch)));
    }
  }
  require<FormatError>(!update.shards.empty(), "data.train", "an update has no text of two tokens or more");
  return update;
}

Scores DenoisingTask::validate(const Inference& inference) const {
  double sum = 0.0;
  int64_t counted = 0;
  FirstRows first;
  for (const ShardRows& rows : validation_rows()) {
    if (auto batch = batch_of(*validation(), rows, RandomKey{}.derive("noise of validation"), first)) {
      const PairShard shard(std::move(*batch));
      Pass pass = Pass::infer(inference.backend, inference.storage);
      sum += shard.loss(pass, inference.model, Smoothing(0.0F)).total_negative_log_likelihood();
      counted += shard.targets();
    }
  }
  const double loss = sum / static_cast<double>(counted);
  return {.loss = loss, .others = {}, .value = -loss, .samples = {}, .labels = {}};
}

}  // namespace heed
