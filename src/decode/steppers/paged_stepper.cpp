#include "decode/steppers/paged_stepper.h"

#include <algorithm>
#include <utility>

#include "ops/rows/select_rows.h"

namespace heed {
namespace {

constexpr int64_t kPassRows = 1024;  // tokens in one pass: enough for products at full rate

// Hypotheses of a beam share whole pages, and copy the one that they are about to write to. Small pages are shared
// sooner, copied faster and less empty. Long texts of one writer want long runs of memory instead.
constexpr int64_t kPageOfTranslations = 4, kPageOfTexts = 16;

int64_t token_count(const NewTokens& new_tokens) { return static_cast<int64_t>(new_tokens.tokens.size()); }
int64_t wanted_rows(const NewTokens& new_tokens) {
  return new_tokens.wanted == RowsWanted::all ? token_count(new_tokens) : new_tokens.wanted == RowsWanted::last ? 1 : 0;
}

// The tensor's own memory if it can be read here, or else a copy.
HostView<float> on_host(Backend& backend, const View& values, Tensor& copy) {
  if (backend.device() == Device::cpu && values.type() == DType::f32) {
    return host<float>(values);
  }
  copy = Tensor({values.rows(), values.columns()}, DType::f32);
  backend.copy(values, copy.view());
  return host<float>(copy.view());
}

std::vector<int64_t> linear_layers_that_run(const ModelConfig& config, const StepperOptions& options) {
  std::vector<int64_t> layers = config.linear_layers_of_decoder();
  std::erase_if(layers, [&](int64_t layer) { return layer >= layers_that_run(config, options); });
  return layers;
}

CacheShape target_cache_shape(const ModelConfig& config, const StepperOptions& options) {
  CacheShape shape = cache_shape(config, options);
  shape.window = config.cached_window();
  shape.roll_back = options.roll_back;
  shape.linear_layers = linear_layers_that_run(config, options);
  shape.linear_feature = config.linear_feature;
  if (config.is_recurrent()) {  // cells, in two parts, take the place of keys and values
    shape.width = shape.value_width = config.model;
    shape.heads = 1;
    shape.heads_of_layers.clear();
  }
  return shape;
}

}  // namespace

CacheShape pool_shape(const ModelConfig& config, const StepperOptions& options) {
  CacheShape shape = cache_shape(config, options);
  const CacheShape target = target_cache_shape(config, options);
  shape.width = std::max(shape.width, target.width);
  shape.value_width = std::max(shape.width_of_values(), target.width_of_values());
  return shape;
}

CacheShape cache_shape(const ModelConfig& config, const StepperOptions& options) {
  const int64_t layers = layers_that_run(config, options), heads = config.most_heads_of_keys(layers);
  CacheShape shape{.layers = layers,
                   .width = heads * config.width_of_head(),
                   .value_width = heads * config.width_of_values(),
                   .max_tokens = options.max_tokens,
                   .begin_with = options.begin_with,
                   .page_tokens = config.architecture == Architecture::seq2seq ? kPageOfTranslations : kPageOfTexts,
                   .heads = heads};
  for (int64_t layer = 0; !config.key_value_heads.is_uniform() && layer < layers; ++layer) {
    shape.heads_of_layers.push_back(config.heads_of_keys(layer));
  }
  return shape;
}

int64_t layers_that_run(const ModelConfig& config, const StepperOptions& options) {
  const int64_t layers = options.layers == 0 ? config.decoder_layers : options.layers;
  require<ConfigError>(layers >= 1 && layers <= config.decoder_layers, "stepper", "{} of the decoder's {} layers",
                       layers, config.decoder_layers);
  return layers;
}

PagedStepper::PagedStepper(const Inference& inference, const StepperOptions& options)
    : config_(inference.model.config()),
      pass_(Pass::infer(inference.backend, inference.storage)),
      pool_(inference.backend, inference.cache_type(), pool_shape(config_, options)),
      cache_(inference.backend, pool_, target_cache_shape(config_, options)) {
  require_cache_type(inference);
}

void PagedStepper::write_log_probs(const Hidden& /*hidden*/, std::span<const SequenceId> /*sequences*/,
                                   View /*log_probs*/) {
  fail<InternalError>("stepper", "this model's sequences have no candidates");
}

void PagedStepper::drop_results() {
  hidden_ = {};
  logits_ = {};
  log_probs_ = {};
  candidate_log_probs_ = {};
  all_logits_ = {};
  all_log_probs_ = {};
}

NextTokens PagedStepper::next(std::span<const NewTokens> new_tokens) {
  const int64_t tokens = check(new_tokens);
  drop_results();
  candidate_columns_ = columns_of_candidates(new_tokens);
  wants_logits_ = candidate_columns_ == 0 && std::ranges::any_of(new_tokens, [](const NewTokens& f) {
                    return f.wanted != RowsWanted::none && f.scores == ScoresWanted::logits_too;
                  });
  if (tokens > kPassRows) {
    return next_in_passes(new_tokens);
  }
  inputs_.clear();
  for (const NewTokens& f : new_tokens) {
    inputs_.push_back({f.sequence, f.tokens, wanted_rows(f)});
  }
  const int64_t rows = run(inputs_);
  if (rows == 0) {
    return {};
  }
  if (candidate_columns_ > 0) {
    candidate_log_probs_ = pass_.allocate_master({rows, candidate_columns_});
    write_log_probs(hidden_, wanted_sequences_, candidate_log_probs_.view());
    return {{}, on_host(backend(), candidate_log_probs_.view(), all_log_probs_)};
  }
  logits_ = logits(hidden_);
  log_probs_ = log_softmax(pass_, logits_);
  return {wants_logits_ ? on_host(backend(), logits_.var().value(), all_logits_) : HostView<float>{},
          on_host(backend(), log_probs_.var().value(), all_log_probs_)};
}

// The number of tokens.
int64_t PagedStepper::check(std::span<const NewTokens> new_tokens) const {
  int64_t tokens = 0;
  for (const NewTokens& f : new_tokens) {
    const int64_t before = length(f.sequence);
    require(!f.tokens.empty(), "stepper", "sequence {} has no new token", f.sequence.value);
    require(before + token_count(f) <= max_length(), "stepper",
            "{} tokens after {} of a sequence, but the model takes at most {}", token_count(f), before, max_length());
    tokens += token_count(f);
  }
  require(tokens > 0, "stepper", "no sequence to continue");
  return tokens;
}

// One pass. Returns the number of wanted rows, which hidden_ then holds.
int64_t PagedStepper::run(std::span<const PassInput> inputs) {
  extensions_.clear();
  continuations_.clear();
  wanted_rows_.clear();
  wanted_sequences_.clear();
  int32_t end = 0;
  for (const PassInput& input : inputs) {
    const auto tokens = static_cast<int64_t>(input.tokens.size());
    extensions_.push_back({input.sequence, tokens});
    continuations_.push_back({input.tokens, length(input.sequence)});
    end += static_cast<int32_t>(tokens);
    for (int32_t row = end - static_cast<int32_t>(input.wanted); row < end; ++row) {
      wanted_rows_.push_back(row);
      wanted_sequences_.push_back(input.sequence);
    }
  }
  const std::vector<KeyValueView>& caches = cache_.extend(extensions_);
  Hidden last = hidden(Sequences::continuing(continuations_), extensions_, caches);
  const auto wanted = static_cast<int64_t>(wanted_rows_.size());
  if (wanted == 0) {
    return 0;
  }
  hidden_ = wanted < last.var().rows() ? Hidden(select_rows(pass_, last.var(), wanted_rows_)) : std::move(last);
  return wanted;
}

// Each pass takes as many tokens as fit. Of a sequence that is split over several passes and of which only the last row
// is wanted, the passes before the last want none.
NextTokens PagedStepper::next_in_passes(std::span<const NewTokens> new_tokens) {
  extensions_.clear();
  int64_t wanted = 0;
  for (const NewTokens& f : new_tokens) {
    extensions_.push_back({f.sequence, token_count(f)});
    wanted += wanted_rows(f);
  }
  cache_.require_room(extensions_, kPassRows);
  const bool has_candidates = candidate_columns_ > 0;
  all_logits_ = wants_logits_ ? Tensor({wanted, vocabulary()}, DType::f32) : Tensor();
  all_log_probs_ = Tensor({wanted, has_candidates ? candidate_columns_ : vocabulary()}, DType::f32);
  int64_t done = 0, room = kPassRows;
  inputs_.clear();
  for (const NewTokens& f : new_tokens) {
    for (auto rest = f.tokens; !rest.empty();) {
      const auto taken = std::min(room, static_cast<int64_t>(rest.size()));
      const bool last = taken == static_cast<int64_t>(rest.size());
      inputs_.push_back({f.sequence, rest.first(static_cast<size_t>(taken)),
                         f.wanted == RowsWanted::all ? taken
                         : last                      ? wanted_rows(f)
                                                     : 0});
      rest = rest.subspan(static_cast<size_t>(taken));
      room -= taken;
      if (room == 0) {
        done += run_and_keep(inputs_, done);
        inputs_.clear();
        room = kPassRows;
      }
    }
  }
  if (!inputs_.empty()) {
    run_and_keep(inputs_, done);
  }
  return {wants_logits_ ? host<float>(all_logits_.view()) : HostView<float>{}, host<float>(all_log_probs_.view())};
}

int64_t PagedStepper::run_and_keep(std::span<const PassInput> inputs, int64_t first_row) {
  const int64_t rows = run(inputs);
  if (rows > 0 && candidate_columns_ > 0) {
    candidate_log_probs_ = pass_.allocate_master({rows, candidate_columns_});
    write_log_probs(hidden_, wanted_sequences_, candidate_log_probs_.view());
    backend().copy(candidate_log_probs_.view(), all_log_probs_.view().row_range(first_row, rows));
  } else if (rows > 0) {
    logits_ = logits(hidden_);
    log_probs_ = log_softmax(pass_, logits_);
    if (wants_logits_) {
      backend().copy(logits_.var().value(), all_logits_.view().row_range(first_row, rows));
    }
    backend().copy(log_probs_.var().value(), all_log_probs_.view().row_range(first_row, rows));
  }
  return rows;
}

}  // namespace heed
