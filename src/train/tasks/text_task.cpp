#include "train/tasks/text_task.h"

#include <algorithm>
#include <utility>

#include "base/system/threads.h"
#include "base/text/plural.h"
#include "data/batches/even_parts.h"

namespace heed {
namespace {

int64_t size_of_range(const RowRange& range) { return range.end - range.begin; }

// Before time is spent on reading the text.
Tokenizers tokenizers_for(const TextRecipe& recipe, const TaskSetup& setup, const TextRules& train) {
  Tokenizers tokenizers = setup.tokenizers != nullptr ? *setup.tokenizers : recipe.make_tokenizers(train);
  recipe.require_tokens(*tokenizers.front());
  return tokenizers;
}

std::vector<WeightedRows> weighted_rows(const TextCorpus& text, const TextDataRecipe& data, int64_t all) {
  std::vector<WeightedRows> sources;
  if (data.weights.empty()) {
    return sources;
  }
  const TextRows rows(text, data.borders);
  const std::vector<int64_t> begins = text.file_begins();
  for (size_t file = 0; file < data.weights.size(); ++file) {
    const auto row_at = [&](int64_t token) { return token < text.tokens() ? std::min(rows.row_of(token), all) : all; };
    const int64_t begin = row_at(begins[file]);
    const int64_t end = file + 1 < begins.size() ? row_at(begins[file + 1]) : all;
    sources.push_back({.begin = begin, .end = end, .weight = data.weights[file], .name = text.files()[file].string()});
  }
  return sources;
}

// Each row's token `distance` rows further on in its sequence.
Targets further_on(const TokenBatch& batch, int64_t distance) {
  const std::span<const int32_t> next = batch.expected.ids();
  std::vector<int32_t> found(next.size(), Targets::kIgnored);
  const Segments& sequences = batch.tokens.segments();
  for (int64_t s = 0; s < sequences.count(); ++s) {
    for (int64_t row = sequences.begin(s); row + distance < sequences.end(s); ++row) {
      found[static_cast<size_t>(row)] = next[static_cast<size_t>(row + distance)];
    }
  }
  return Targets(std::move(found));
}

}  // namespace

TextTask::TextTask(const Recipe& recipe, const TaskSetup& setup, RowsOf rows_of)
    : data_(recipe.of<TextRecipe>().data),
      seed_(static_cast<uint64_t>(recipe.training.seed)),
      batches_per_update_(recipe.training.accumulate),
      shards_per_batch_(shards_per_batch(recipe.training)),
      split_(setup.stored != nullptr ? stored_text_split(data_) : text_split(data_)),
      tokenizers_(tokenizers_for(recipe.of<TextRecipe>(), setup, split_.train)),
      train_(read(split_.train, "train", setup)),
      rows_(rows_of(train_, data_.borders)),
      batches_(rows_, data_.batch_rules(), seed_, train_.fingerprint(), weighted_rows(train_, data_, rows_)) {
  if (split_.validation) {
    validation_.emplace(read(*split_.validation, "validation", setup));
  }
}

TextCorpus TextTask::read(const TextRules& rules, const std::string& name, const TaskSetup& setup) const {
  if (setup.stored != nullptr) {
    return TextCorpus::stored(*setup.stored, name, rules, tokenizer());
  }
  ThreadPool pool(setup.threads);
  return read_text_corpus(
      rules, tokenizer(), {pool, setup.ranks},
      {.memory_bytes = static_cast<size_t>(data_.memory_megabytes) << 20, .folder = setup.spill_folder});
}

// "300 tokens in 5 documents of 1200 bytes".
std::string TextTask::describe(const TextCorpus& text) const {
  const int64_t tokens = text.tokens(), number = text.documents(), bytes = text.size().bytes;
  const std::string parts = fmt::format(" in {} document{}", number, plural(number));
  return fmt::format("{} token{}{} of {} byte{}", tokens, plural(tokens),
                     data_.documents == Documents::none ? "" : parts, bytes, plural(bytes));
}

std::string TextTask::describe_text() const {
  return describe(train_) + (validation_ ? "; validation: " + describe(*validation_) : "");
}

std::vector<std::pair<std::string, int64_t>> TextTask::sizes() const {
  return {{"train_tokens", train_.tokens()},
          {"train_bytes", train_.size().bytes},
          {"validation_tokens", validation_ ? validation_->tokens() : 0},
          {"validation_bytes", validation_ ? validation_->size().bytes : 0}};
}

void TextTask::store(FieldsToStore& fields) const {
  train_.store(fields, "train");
  if (validation_) {
    validation_->store(fields, "validation");
  }
}

std::vector<TextTask::ShardRows> TextTask::next_shards(int64_t number, Update& update) {
  std::vector<ShardRows> shards;
  update.rows_of_example = batches_.size_at(number).context;
  uint64_t first_row = 0;
  for (int64_t i = 0; i < batches_per_update_; ++i) {
    const std::vector<RowRange> batch = batches_.next(number);
    std::ranges::transform(batch, std::back_inserter(update.examples), &RowRange::begin);
    for (const auto part : cut_evenly(std::span(batch), shards_per_batch_, size_of_range)) {
      shards.push_back({{part.begin(), part.end()}, first_row});
      for (const RowRange& range : part) {
        first_row += static_cast<uint64_t>(size_of_range(range));
      }
    }
  }
  return shards;
}

std::vector<std::vector<RowRange>> TextTask::cover(int64_t rows, int64_t group_rows) const {
  const int64_t context = data_.batches.context;
  const int64_t step = std::max<int64_t>(1, group_rows / context) * context;
  std::vector<std::vector<RowRange>> groups;
  for (int64_t begin = 0; begin < rows; begin += step) {
    std::vector<RowRange>& group = groups.emplace_back();
    for (int64_t at = begin; at < std::min(begin + step, rows); at += context) {
      group.push_back({at, std::min(at + context, rows)});
    }
  }
  return groups;
}

std::vector<RowRange> TextTask::ranges_of(const Update& update) const {
  std::vector<RowRange> ranges;
  std::ranges::transform(update.examples, std::back_inserter(ranges), [&](int64_t begin) {
    return RowRange{begin, std::min(begin + update.rows_of_example, rows_)};
  });
  return ranges;
}

std::string TextTask::describe_origins(const Update& update) const { return origins().describe(ranges_of(update)); }

std::string TextTask::list_origins(const Update& update) const { return origins().list(ranges_of(update)); }

CausalShard::CausalShard(TokenBatch&& tokens, std::span<const double> ahead_weights) : TextShard(std::move(tokens)) {
  for (const double weight : ahead_weights) {
    ahead_.push_back({further_on(batch(), static_cast<int64_t>(ahead_.size()) + 1), weight});
  }
}

TokenLosses CausalShard::loss_of_hidden(Pass& pass, const AnyModel& model, const Hidden& hidden,
                                        Smoothing smoothing) const {
  TokenLosses next = model.causal_lm().loss(pass, hidden, batch().expected, smoothing);
  for (const auto& [expected, weight] : ahead_) {
    model.causal_lm().loss(pass, hidden, expected, smoothing, weight);
  }
  return next;
}

}  // namespace heed
