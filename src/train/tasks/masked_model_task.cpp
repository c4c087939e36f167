#include "train/tasks/masked_model_task.h"

#include <algorithm>
#include <utility>

#include "kernels/host_copy.h"
#include "ops/rows/select_rows.h"
#include "text/lines/multiline.h"
#include "text/token_ids.h"

namespace heed {
namespace {

constexpr int64_t kMaskedValidationTokens = 4096;  // about this many in one pass
constexpr size_t kSampleTokens = 64;

class MaskedShard final : public TextShard {
 public:
  using TextShard::TextShard;
  TokenLosses loss(Pass& pass, const AnyModel& model, Smoothing smoothing) const override {
    return model.encoder_only().loss(pass, batch(), smoothing);
  }
  TokenLosses loss_of_hidden(Pass& pass, const AnyModel& model, const Hidden& hidden,
                             Smoothing smoothing) const override {
    return model.encoder_only().loss(pass, hidden, batch().expected, smoothing);
  }
};

// An update without anything to predict would have no mean loss.
void ensure_chosen(std::vector<TokenBatch>& batches, const Masking& masking, std::string_view key) {
  const bool any = std::ranges::any_of(batches, [](const TokenBatch& batch) { return batch.expected.counted() > 0; }) ||
                   std::ranges::any_of(batches, [&](TokenBatch& batch) { return masking.mask_first_maskable(batch); });
  require<FormatError>(any, key, "an update has no token that can be masked");
}

// What a model makes of the chosen rows of a text.
struct Predictions {
  std::vector<int32_t> tokens;  // the likeliest of each chosen row, in order
  double negative_log_likelihood = 0.0;
  int64_t right = 0;
};

int32_t likeliest(const ConstView& logits, int64_t row) {
  const auto values = host<float>(logits);
  int32_t best = 0;
  for (int32_t token = 1; token < logits.columns(); ++token) {
    best = values(row, token) > values(row, best) ? token : best;
  }
  return best;
}

Predictions predict(const Inference& inference, const TokenBatch& text) {
  std::vector<int32_t> rows, expected;
  for (int32_t row = 0; const int32_t token : text.expected.ids()) {
    if (token != Targets::kIgnored) {
      rows.push_back(row);
      expected.push_back(token);
    }
    ++row;
  }
  Predictions found;
  if (rows.empty()) {
    return found;
  }
  const EncoderOnly& model = inference.model.encoder_only();
  Pass pass = Pass::infer(inference.backend, inference.storage);
  const Hidden hidden(select_rows(pass, model.hidden(pass, text.tokens).var(), rows));
  const Logits logits = model.logits(pass, hidden);
  const Targets targets(expected);
  found.negative_log_likelihood = cross_entropy(pass, logits, targets, Smoothing(0.0F)).total_negative_log_likelihood();
  const HostCopy on_host(inference.backend, logits.var().value());
  for (size_t i = 0; i < rows.size(); ++i) {
    found.tokens.push_back(likeliest(on_host.view(), static_cast<int64_t>(i)));
    found.right += found.tokens.back() == expected[i] ? 1 : 0;
  }
  return found;
}

}  // namespace

MaskedModelTask::MaskedModelTask(const Recipe& recipe, const TaskSetup& setup)
    : TextTask(recipe, setup,
               [](const TextCorpus& text, DocumentBorders borders) { return MarkedText(text, borders).size(); }),
      samples_(recipe.of<MaskedModelRecipe>().samples),
      token_types_(recipe.model.token_types),
      key_(RandomKey{seed()}.derive("masking")),
      masking_(tokenizer(), recipe.of<MaskedModelRecipe>().mask_in(tokenizer()),
               recipe.of<MaskedModelRecipe>().masking) {}

TokenBatch MaskedModelTask::batch_of(const MarkedText& text, const ShardRows& rows, RandomKey key) const {
  TokenBatch batch = masking_.apply(text.read(rows.ranges, rows.first_row), key);
  if (token_types_ > 0 && data().columns == TextColumns::pair) {
    const TextMarks marks = text_marks(tokenizer(), data().documents, data().columns);
    batch.tokens.set_types(text.types(rows.ranges, *marks.separator));
  }
  return batch;
}

Update MaskedModelTask::next_update(int64_t number) {
  const MarkedText text = marked(train());
  Update update;
  std::vector<TokenBatch> batches;
  for (const ShardRows& rows : next_shards(number, update)) {
    batches.push_back(batch_of(text, rows, key_.derive(static_cast<uint64_t>(number))));
  }
  ensure_chosen(batches, masking_, "data.train");
  for (TokenBatch& batch : batches) {
    auto shard = std::make_unique<MaskedShard>(std::move(batch));
    if (shard->targets() > 0) {
      update.shards.push_back(std::move(shard));
    }
  }
  return update;
}

// Sequences as long as those in training, masked in the same way each time.
std::vector<TokenBatch> MaskedModelTask::masked_validation() const {
  const MarkedText text = marked(*validation());
  std::vector<TokenBatch> batches;
  for (const std::vector<RowRange>& ranges : cover(text.size(), kMaskedValidationTokens)) {
    batches.push_back(batch_of(text, {ranges, static_cast<uint64_t>(ranges.front().begin)},
                               RandomKey{}.derive("masking of validation")));
  }
  ensure_chosen(batches, masking_, "data.validation");
  return batches;
}

Scores MaskedModelTask::validate(const Inference& inference) const {
  Scores scores;
  double sum = 0.0;
  int64_t counted = 0, right = 0;
  for (const TokenBatch& text : masked_validation()) {
    const Predictions found = predict(inference, text);
    sum += found.negative_log_likelihood;
    right += found.right;
    counted += text.expected.counted();
    auto next = found.tokens.begin();
    const Segments& segments = text.tokens.segments();
    for (int64_t s = 0; s < segments.count(); ++s) {
      const auto begin = text.expected.ids().begin() + segments.begin(s);
      const auto chosen = segments.length(s) - std::count(begin, begin + segments.length(s), Targets::kIgnored);
      if (chosen > 0 && static_cast<int64_t>(scores.samples.size()) < samples_) {
        scores.samples.push_back(sample_of(text, s, {next, next + chosen}));
      }
      next += chosen;
    }
  }
  scores.loss = sum / static_cast<double>(counted);
  scores.value = -scores.loss;
  scores.others.push_back({"accuracy", static_cast<double>(right) / static_cast<double>(counted)});
  return scores;
}

// The beginning of a segment as the model saw it, and with the model's predictions.
Sample MaskedModelTask::sample_of(const TokenBatch& text, int64_t segment, std::span<const int32_t> predicted) const {
  const std::span<const int32_t> tokens = text.tokens.sequence(segment);
  const size_t length = std::min(tokens.size(), kSampleTokens);
  const auto begin = static_cast<size_t>(text.tokens.segments().begin(segment));
  std::vector<int32_t> seen(tokens.begin(), tokens.begin() + static_cast<int64_t>(length));
  std::vector<int32_t> filled = seen;
  for (size_t i = 0, next = 0; i < length; ++i) {
    if (text.expected.ids()[begin + i] != Targets::kIgnored) {
      filled[i] = predicted[next++];
    }
  }
  return {decode_text(tokenizer(), tokens_of(seen)), " => " + decode_text(tokenizer(), tokens_of(filled))};
}

}  // namespace heed
