#include "interchange/huggingface/generation_settings.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "interchange/huggingface/written_tokenizers.h"

namespace heed {
namespace {

constexpr const char* kGenerationFile = "generation_config.json";
// heed's own setting, for its own models: the probability of a forced end counts.
constexpr std::string_view kForcedEndCounts = "forced_eos_counts";
constexpr int64_t kOriginalTopK = 50;  // the library's default, where tokens are drawn and the file has no top_k

// Which languages the tokenizer knows: "m2m100", or as heed writes it "none"; empty where the file does not say.
std::string language_codes(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / "tokenizer_config.json";
  return std::filesystem::exists(file) ? ConfigFile(file).text("language_codes", "") : "";
}

// What a translator's file has as "max_length" where nothing but the model limits translations: without it the original
// library would end them after 20 tokens. The token that the decoder reads first is one of these.
int64_t longest_translation(const ModelConfig& config) { return config.max_length + 1; }

// How the family spells languages as tokens.
std::string language_form(const std::filesystem::path& folder, ConfigFile& file) {
  const std::string type = file.text("model_type"), codes = language_codes(folder);
  if (type == "marian") {
    return ">>{}<<";
  }
  if ((type != "m2m_100" && type != "mbart") || codes == kNoLanguages) {
    return "";
  }
  return type == "m2m_100" && (std::filesystem::exists(folder / "vocab.json") || !codes.empty()) ? "__{}__" : "{}";
}

// What a text begins and ends with is looked for in both files. Other settings come from one file: from config.json
// where there is no generation_config.json, which came later and replaces it.
class GenerationReader {
 public:
  GenerationReader(const std::filesystem::path& folder, ConfigFile& file, ForeignModel& model)
      : file_(file), model_(model) {
    if (std::filesystem::exists(folder / kGenerationFile)) {
      generation_.emplace(folder / kGenerationFile);
    }
  }

  // The tokens of a key; FormatError for one that the model's vocabulary lacks.
  std::vector<int32_t> tokens(std::string_view key) {
    ConfigFile& from = generation_ && generation_->has(key) ? *generation_ : file_;
    file_.pass_over({key});
    return tokens_in(from, key);
  }

  void read_marks_of_translator(const std::filesystem::path& folder) {
    model_.marks.target_start = tokens("decoder_start_token_id");
    model_.marks.language_form = language_form(folder, file_);
    require<FormatError>(model_.marks.target_start.size() == 1, file_.where(),
                         "has no \"decoder_start_token_id\", with which translations begin, and neither has {}",
                         kGenerationFile);
    const std::vector<int32_t> forced = tokens_in(from(), "forced_bos_token_id");
    model_.marks.target_start.insert(model_.marks.target_start.end(), forced.begin(), forced.end());
    model_.marks.at_limit = tokens_in(from(), "forced_eos_token_id").empty() ? AtLimit::cut
                            : from().flag(kForcedEndCounts, false)           ? AtLimit::end
                                                                             : AtLimit::free_end;
  }

  void read_search() {
    DecodingDefaults& decoding = model_.decoding;
    take("num_beams", decoding.beam);
    take("length_penalty", decoding.length_penalty);
    decoding.early_stopping = early_stopping();
    take("max_length", decoding.max_tokens);
    if (decoding.max_tokens == longest_translation(model_.config)) {
      decoding.max_tokens.reset();
    }
    if (decoding.max_tokens) {
      // The library counts the token that the decoder reads first.
      decoding.max_tokens = std::max<int64_t>(1, *decoding.max_tokens - 1);
    }
    take("max_new_tokens", decoding.max_tokens);
    take("min_length", decoding.min_tokens);
    read_rules();
  }

  void read_sampling() {
    DecodingDefaults& decoding = model_.decoding;
    take("max_new_tokens", decoding.max_tokens);
    read_rules();
    if (!from().has("do_sample")) {
      take("num_beams", decoding.beam);
    } else if (from().flag("do_sample")) {
      take("temperature", decoding.temperature);
      take("top_p", decoding.top_p);
      take("min_p", decoding.min_p);
      decoding.top_k = from().integer("top_k", kOriginalTopK);
    } else {
      take("num_beams", decoding.beam);
      decoding.temperature = 0.0;
    }
    if (decoding.beam.value_or(1) > 1) {
      decoding.temperature = {};  // no sampling
    }
  }

  void finish() {
    if (!generation_) {
      return;
    }
    generation_->pass_over({"bos_token_id", "eos_token_id", "pad_token_id", "decoder_start_token_id", "do_sample",
                            "transformers_version", "use_cache", "cache_implementation", "_from_model_config",
                            "return_dict_in_generate", "output_scores", "output_attentions", "output_hidden_states",
                            "output_logits"});
    const std::vector<SettingOrigin>& origins = generation_->origins();
    model_.origins.insert(model_.origins.end(), origins.begin(), origins.end());
    for (const std::string& key : generation_->unread()) {
      if (generation_->has(key)) {
        model_.unread.push_back(std::string(kGenerationFile) + " " + key);
      }
    }
  }

 private:
  ConfigFile& from() { return generation_ ? *generation_ : file_; }

  std::vector<int32_t> tokens_in(ConfigFile& from, std::string_view key) const {
    std::vector<int32_t> found;
    for (const int64_t token : from.integers(key)) {
      found.push_back(token_of(from, key, token));
    }
    return found;
  }

  int32_t token_of(const ConfigFile& from, std::string_view key, int64_t token) const {
    const int64_t vocabulary = model_.config.target_vocabulary;
    require<FormatError>(token >= 0 && token < vocabulary, from.where(),
                         "\"{}\" is {}, but the vocabulary has the tokens 0 to {}", key, token, vocabulary - 1);
    return static_cast<int32_t>(token);
  }

  void take(std::string_view key, std::optional<int64_t>& value) {
    if (from().has(key)) {
      value = from().integer(key);
    }
  }
  void take(std::string_view key, std::optional<double>& value) {
    if (from().has(key)) {
      value = from().number(key);
    }
  }

  EarlyStopping early_stopping() {
    constexpr std::string_view kKey = "early_stopping";
    if (from().is_text(kKey)) {
      require<FormatError>(from().text(kKey) == "never", from().where(),
                           "\"{}\" is \"{}\", expected true, false or \"never\"", kKey, from().text(kKey));
      return EarlyStopping::never;
    }
    return from().flag(kKey, false) ? EarlyStopping::on : EarlyStopping::off;
  }

  // What both kinds of models have.
  void read_rules() {
    std::optional<int64_t> min_new_tokens;
    take("min_new_tokens", min_new_tokens);
    if (min_new_tokens) {
      model_.decoding.min_tokens = *min_new_tokens + 1;  // here the end counts too
    }
    take("no_repeat_ngram_size", model_.decoding.no_repeat_ngram);
    take("repetition_penalty", model_.decoding.repetition_penalty);
    model_.marks.suppressed = tokens_in(from(), "suppress_tokens");
    for (const std::vector<int64_t>& word : from().integer_lists("bad_words_ids")) {
      std::vector<int32_t> tokens;
      tokens.reserve(word.size());
      for (const int64_t token : word) {
        tokens.push_back(token_of(from(), "bad_words_ids", token));
      }
      if (tokens.size() == 1) {
        model_.marks.suppressed.push_back(tokens.front());
      } else if (!tokens.empty()) {
        model_.marks.bad_words.push_back(std::move(tokens));
      }
    }
  }

  ConfigFile& file_;
  ForeignModel& model_;
  std::optional<ConfigFile> generation_;
};

}  // namespace

void read_generation_settings(const std::filesystem::path& folder, ConfigFile& file, ForeignModel& model) {
  GenerationReader reader(folder, file, model);
  if (model.config.architecture == Architecture::causal_lm) {
    model.marks.ends = reader.tokens("eos_token_id");
    reader.read_sampling();
  } else {
    reader.read_marks_of_translator(folder);
    reader.read_search();
  }
  reader.finish();
}

namespace {

template <class Value>
void write_one(ConfigFile& file, std::string_view key, const std::optional<Value>& value) {
  if (value) {
    file.write(key, *value);
  }
}

void write_search(const ExportedModel& model, ConfigFile& file) {
  const DecodingDefaults& decoding = model.decoding;
  write_one(file, "num_beams", decoding.beam);
  write_one(file, "length_penalty", decoding.length_penalty);
  const EarlyStopping early_stopping = decoding.early_stopping.value_or(TranslationOptions().early_stopping);
  if (early_stopping == EarlyStopping::never) {
    file.write("early_stopping", "never");
  } else {
    file.write("early_stopping", early_stopping == EarlyStopping::on);
  }
  if (!decoding.max_tokens) {
    file.write("max_length", longest_translation(model.config));
  }
  // As here, the end counts, and the token that the decoder reads first does not.
  write_one(file, "min_length", decoding.min_tokens);
  if (model.marks.at_limit != AtLimit::cut) {
    file.write("forced_eos_token_id", model.tokenizers.back()->special().eos.value);
  }
  if (model.marks.at_limit == AtLimit::end) {
    file.write(kForcedEndCounts, true);
  }
}

// Models that draw tokens have top_k.
void write_sampling(const DecodingDefaults& decoding, ConfigFile& file) {
  const bool is_greedy = decoding.temperature == 0.0;
  if (decoding.top_k || is_greedy) {
    file.write("do_sample", !is_greedy);
  }
  if (!is_greedy) {
    write_one(file, "temperature", decoding.temperature);
    write_one(file, "top_k", decoding.top_k);
    write_one(file, "top_p", decoding.top_p);
    write_one(file, "min_p", decoding.min_p);
  }
  write_one(file, "num_beams", decoding.beam);
  if (decoding.min_tokens) {
    file.write("min_new_tokens", *decoding.min_tokens - 1);
  }
}

}  // namespace

void write_decoding(const ExportedModel& model, ConfigFile& file) {
  write_one(file, "max_new_tokens", model.decoding.max_tokens);
  write_one(file, "no_repeat_ngram_size", model.decoding.no_repeat_ngram);
  write_one(file, "repetition_penalty", model.decoding.repetition_penalty);
  if (!model.marks.suppressed.empty()) {
    file.write("suppress_tokens", model.marks.suppressed);
  }
  if (!model.marks.bad_words.empty()) {
    file.write("bad_words_ids", model.marks.bad_words);
  }
  if (model.config.architecture == Architecture::causal_lm) {
    write_sampling(model.decoding, file);
  } else {
    write_search(model, file);
  }
}

}  // namespace heed
