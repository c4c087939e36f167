#include "cli/options/translator_options.h"

namespace heed::cli {

std::vector<Option> model_options(ModelOptions& options) {
  return {required(option("--model DIR", options.directory, "the model directory")),
          option("--precision NAME", options.inference.precision, kPrecisionNames, "f32, bf16 or auto"),
          option("--threads N", options.inference.threads, "threads to use; 0: one per processor"),
          option("--device NAME", options.inference.device, "cpu, cuda, or cuda:N for another NVIDIA GPU")};
}

Option cache_option(ModelOptions& options) {
  return option("--cache TYPE", options.inference.cache, kCacheTypeNames,
                "key-value cache in bf16 or int8; auto: as --precision");
}

Option ensemble_option(ModelOptions& options) {
  return option("--ensemble DIR", options.inference.ensemble,
                "another model with the same vocabulary: the probability of each token is the mean of all models'");
}

Option shortlist_option(std::string& file) {
  return option("--shortlist FILE", file,
                "each line's translations have only the tokens that this file of heed shortlist, or of Marian's "
                "lexical shortlists, leaves it; scores are among these");
}

Option context_option(ModelOptions& options) {
  return option("--context N", options.inference.context.max_length,
                "tokens that the model takes at most; may exceed the trained length; 0: the model's own");
}

Option rotary_scaling_option(ModelOptions& options) {
  return option("--rotary-scaling KIND", options.inference.context.rotary_scaling, kRotaryScalingNames,
                "slow rotary positions down for a larger --context: linear, ntk, yarn, llama3 or none");
}

Option min_tokens_option(WritingRules& rules) {
  return option("--min-tokens N", rules.min_length, "minimum number of tokens, the end included");
}

std::vector<Option> rule_options(WritingRules& rules) {
  return {option("--no-repeat-ngram N", rules.no_repeat_ngram, "never repeat a sequence of N tokens; 0: off"),
          option("--suppress TEXT", rules.suppress, "this text is never written")};
}

void SearchChoice::take_defaults(const TranslationOptions& of_model) {
  given.take("--beam", of_model.beam, options.beam);
  given.take("--length-penalty", of_model.length_penalty, options.length_penalty);
  given.take("--early-stopping", of_model.early_stopping, options.early_stopping);
  given.take("--max-tokens", of_model.max_length, options.max_length);
  given.take("--min-tokens", of_model.rules.min_length, options.rules.min_length);
  given.take("--no-repeat-ngram", of_model.rules.no_repeat_ngram, options.rules.no_repeat_ngram);
  given.take("--repetition-penalty", of_model.repetition_penalty, options.repetition_penalty);
}

std::vector<Option> search_options(SearchChoice& choice) {
  TranslationOptions& options = choice.options;
  return choice.given.noted(joined(
      {{option("--beam N", options.beam, "beam width; 1 is greedy"),
        option("--length-penalty A", options.length_penalty, "score = sum of log-probabilities / length^A"),
        option("--early-stopping WHEN", options.early_stopping, kEarlyStoppingNames,
               "end a search: true: when beam * patience hypotheses have ended; false: when the best other one scores "
               "no better than the worst of them; never: when it can no longer score better"),
        option("--max-tokens N", options.max_length,
               "tokens at most, the end included; 0: 16 more than twice the source or than what must be written"),
        min_tokens_option(options.rules)},
       rule_options(options.rules),
       {option("--coverage-penalty A", options.coverage_penalty,
               "add A * (sum over source tokens of ln min(1, attention paid to it)) to the score"),
        option("--repetition-penalty A", options.repetition_penalty,
               "multiply the log-probabilities of tokens that the translation has already; 1: off"),
        option("--patience A", options.patience, "stop after A * beam finished hypotheses"),
        option("--unknown NAME", options.unknown, kUnknownWordsNames,
               "unknown words: keep, avoid, or copy the source word that they attend to most")}}));
}

std::vector<Option> language_options(LanguagePair& languages) {
  return {option("--source-language NAME", languages.source,
                 "of a model that knows several, as its vocabulary has it: de, deu_Latn, de_DE"),
          option("--target-language NAME", languages.target, "the language to translate into, likewise")};
}

}  // namespace heed::cli
