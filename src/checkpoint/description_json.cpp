#include "checkpoint/description_json.h"

#include <algorithm>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "base/text/names.h"

namespace heed {

using nlohmann::json;

void require_known_keys(const json& object, const std::vector<std::string_view>& names, std::string_view what,
                        const std::string& where) {
  for (const auto& [key, value] : object.items()) {
    require<FormatError>(std::ranges::count(names, key) == 1, where, "{} has no key '{}'{}", what, key,
                         suggest_name(key, names));
  }
}

const json& member(const json& object, const char* name, json::value_t type, const std::string& where) {
  const bool there = object.is_object() && object.contains(name) && object.at(name).type() == type;
  require<FormatError>(there, where, "expected \"{}\", {}", name, json(type).type_name());
  return object.at(name);
}

namespace {

template <class Names>
auto named_in(const json& object, const char* name, const Names& names, const std::string& where) {
  const auto text = member(object, name, json::value_t::string, where).get<std::string>();
  const auto it = std::ranges::find(names, text, &Names::value_type::first);
  require<FormatError>(it != names.end(), where, "\"{}\" is \"{}\", which is unknown", name, shown(text));
  return it->second;
}

// Tokens of the vocabulary that the model writes.
std::vector<int32_t> tokens_of_list(const json& tokens, const char* name, const ModelConfig& config,
                                    const std::string& where) {
  const bool fit =
      tokens.is_array() && std::ranges::all_of(tokens, [&](const json& token) {
        return token.is_number_unsigned() && token.get<uint64_t>() < static_cast<uint64_t>(config.target_vocabulary);
      });
  require<FormatError>(fit, where, "marks.{} is {}, expected a list of the model's tokens", name, shown(tokens.dump()));
  return tokens.get<std::vector<int32_t>>();
}

std::vector<int32_t> parse_tokens(const json& object, const char* name, const ModelConfig& config,
                                  const std::string& where) {
  return tokens_of_list(member(object, name, json::value_t::array, where), name, config, where);
}

}  // namespace

ModelMarks parse_marks(const json& object, const ModelConfig& config, const std::string& where) {
  require_known_keys(
      object,
      {"target_start", "language_form", "ends", "suppressed", "bad_words", "at_limit", "family", "output_layer"},
      "marks", where);
  ModelMarks marks{.target_start = parse_tokens(object, "target_start", config, where),
                   .language_form = member(object, "language_form", json::value_t::string, where).get<std::string>()};
  // Models that were imported by earlier versions have none of these.
  if (object.contains("ends")) {
    marks.ends = parse_tokens(object, "ends", config, where);
  }
  if (object.contains("suppressed")) {
    marks.suppressed = parse_tokens(object, "suppressed", config, where);
  }
  if (object.contains("bad_words")) {
    for (const json& word : member(object, "bad_words", json::value_t::array, where)) {
      marks.bad_words.push_back(tokens_of_list(word, "bad_words", config, where));
      require<FormatError>(marks.bad_words.back().size() > 1, where, "marks.bad_words has {}, expected several tokens",
                           shown(word.dump()));
    }
  }
  if (object.contains("at_limit")) {
    marks.at_limit = named_in(object, "at_limit", kAtLimitNames, where);
  }
  if (object.contains("family")) {
    marks.family = member(object, "family", json::value_t::string, where).get<std::string>();
  }
  if (object.contains("output_layer")) {
    marks.output_layer = named_in(object, "output_layer", kOutputLayerNames, where);
  }
  return marks;
}

// {"texts": {"query": "query: "}, "chosen": "query", "pooled": true}
TextPrompts parse_prompts(const json& object, const std::string& where) {
  require_known_keys(object, {"texts", "chosen", "pooled"}, "prompts", where);
  TextPrompts prompts{.chosen = member(object, "chosen", json::value_t::string, where).get<std::string>()};
  if (!member(object, "pooled", json::value_t::boolean, where).get<bool>()) {
    prompts.pooled = PooledPrompt::no;
  }
  for (const auto& [name, text] : member(object, "texts", json::value_t::object, where).items()) {
    require<FormatError>(text.is_string(), where, "prompts.texts.{} is {}, expected a string", shown(name),
                         shown(text.dump()));
    prompts.all.push_back({name, text.get<std::string>()});
  }
  require<FormatError>(
      prompts.chosen.empty() || std::ranges::count(prompts.all, prompts.chosen, &TextPrompt::name) == 1, where,
      "prompts.chosen is \"{}\", which is not among the prompts", shown(prompts.chosen));
  return prompts;
}

DecodingDefaults parse_decoding(const json& object, const std::string& where) {
  DecodingDefaults decoding;
  std::vector<std::string_view> names;
  for_each_default(decoding, [&]<class Value>(std::string_view name, std::optional<Value>& value) {
    names.push_back(name);
    const auto it = object.find(name);
    if (it == object.end()) {
      return;
    }
    if constexpr (std::is_same_v<Value, EarlyStopping>) {
      value = named_in(object, it.key().c_str(), kEarlyStoppingNames, where);
    } else {
      const bool fits = std::is_same_v<Value, double> ? it->is_number() : it->is_number_integer();
      require<FormatError>(fits, where, "decoding.{} is {}, expected a number", name, shown(it->dump()));
      value = it->template get<Value>();
    }
  });
  require_known_keys(object, names, "decoding", where);
  return decoding;
}

json to_json(const DecodingDefaults& decoding) {
  json object = json::object();
  for_each_default(decoding, [&]<class Value>(std::string_view name, const std::optional<Value>& value) {
    if (!value) {
      return;
    }
    if constexpr (std::is_same_v<Value, EarlyStopping>) {
      object[name] = name_among(kEarlyStoppingNames, *value);
    } else {
      object[name] = *value;
    }
  });
  return object;
}

json to_json(const ModelMarks& marks) {
  json object{{"target_start", marks.target_start}, {"language_form", marks.language_form}, {"ends", marks.ends}};
  if (!marks.suppressed.empty()) {
    object["suppressed"] = marks.suppressed;
  }
  if (!marks.bad_words.empty()) {
    object["bad_words"] = marks.bad_words;
  }
  if (marks.at_limit != AtLimit::end) {
    object["at_limit"] = name_among(kAtLimitNames, marks.at_limit);
  }
  if (!marks.family.empty()) {
    object["family"] = marks.family;
  }
  if (marks.output_layer != OutputLayer::present) {
    object["output_layer"] = name_among(kOutputLayerNames, marks.output_layer);
  }
  return object;
}

json to_json(const TextPrompts& prompts) {
  json texts = json::object();
  for (const TextPrompt& prompt : prompts.all) {
    texts[prompt.name] = prompt.text;
  }
  return {{"texts", texts}, {"chosen", prompts.chosen}, {"pooled", prompts.pooled == PooledPrompt::yes}};
}

}  // namespace heed
