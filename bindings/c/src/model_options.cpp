#include "model_options.h"

namespace heed::c {

InferenceOptions inference_options(OptionReader& options) {
  InferenceOptions inference;
  options.named(HEED_PRECISION, inference.precision, kPrecisionNames);
  options.integer(HEED_THREADS, inference.threads);
  options.text(HEED_DEVICE, inference.device);
  options.integer(HEED_CONTEXT_LENGTH, inference.context.max_length);
  options.named(HEED_ROTARY_SCALING, inference.context.rotary_scaling, kRotaryScalingNames);
  return inference;
}

void add_writing_options(OptionReader& options, InferenceOptions& inference) {
  options.named(HEED_CACHE, inference.cache, kCacheTypeNames);
  options.texts(HEED_ENSEMBLE, inference.ensemble);
}

DraftOptions draft_options(OptionReader& options) {
  DraftOptions drafts;
  options.text(HEED_DRAFT_MODEL, drafts.model);
  options.integer(HEED_DRAFT_LAYERS, drafts.layers);
  options.choice(HEED_DRAFT_PROMPT, drafts.by, Drafts::none, Drafts::prompt);
  options.integer(HEED_DRAFT_TOKENS, drafts.tokens);
  const bool has_model = options.has(HEED_DRAFT_MODEL), has_layers = options.has(HEED_DRAFT_LAYERS);
  const int sources = int{has_model} + int{has_layers} + int{drafts.by == Drafts::prompt};
  if (sources > 1) {
    throw ConfigError("HEED_DRAFT_MODEL, HEED_DRAFT_LAYERS, HEED_DRAFT_PROMPT: drafts come from one source");
  }
  if (options.has(HEED_DRAFT_TOKENS) && sources == 0) {
    throw ConfigError("HEED_DRAFT_TOKENS: nothing says where drafts come from");
  }
  if (has_model) {
    drafts.by = Drafts::model;
  } else if (has_layers) {
    drafts.by = Drafts::layers;
  }
  return drafts;
}

void read_rules(OptionReader& options, WritingRules& rules) {
  options.integer(HEED_MIN_TOKENS, rules.min_length);
  options.integer(HEED_NO_REPEAT_NGRAM, rules.no_repeat_ngram);
  options.texts(HEED_SUPPRESS, rules.suppress);
}

}  // namespace heed::c
