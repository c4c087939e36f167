#include <algorithm>
#include <functional>

#include "serve/heed/heed_json.h"
#include "serve/heed/heed_paths.h"

namespace heed::serve {
namespace {

std::string text_number(size_t i) { return fmt::format("texts[{}]", i); }
std::string pair_number(size_t i) { return fmt::format("pairs[{}]", i); }
std::string sentence_number(size_t i) { return fmt::format("sentences[{}]", i); }

// [["first", "second"], ...]
std::optional<std::vector<TextPair>> take_pairs(Fields& fields, const Call& call) {
  const Json* const list = fields.find("pairs");
  if (list == nullptr) {
    return std::nullopt;
  }
  if (!list->is_array() || list->empty() || list->size() > static_cast<size_t>(call.settings().texts)) {
    refuse_field("pairs", "is not a list of 1 to {} pairs", call.settings().texts);
  }
  std::vector<TextPair> pairs;
  pairs.reserve(list->size());
  for (const Json& pair : *list) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      refuse_field(pair_number(pairs.size()), "is not a list of two texts");
    }
    pairs.push_back({pair[0].get<std::string>(), pair[1].get<std::string>()});
  }
  return pairs;
}

Json to_json(const TextLabels& labels) {
  const auto json_of_score = [](const LabelScore& score) -> Json {
    return {{"label", score.label}, {"probability", score.probability}};
  };
  return {{"labels", labels.labels}, {"scores", list_of(labels.scores, json_of_score)}, {"number", labels.number}};
}

Json json_of_words(const std::vector<TextLabels>& words) { return list_of(words, to_json); }

Json json_of_mask(const std::vector<MaskGuess>& guesses) {
  return list_of(guesses, [](const MaskGuess& guess) -> Json {
    return {{"token", guess.token}, {"id", guess.id}, {"probability", guess.probability}, {"text", guess.text}};
  });
}

Json json_of_filled(const FilledText& filled) {
  return {{"text", filled.text}, {"masks", list_of(filled.masks, json_of_mask)}};
}

// Lists of words.
std::vector<std::vector<std::string>> take_sentences(Fields& fields, const Call& call) {
  const Json& list = fields.get("sentences");
  if (!list.is_array() || list.empty() || list.size() > static_cast<size_t>(call.settings().texts)) {
    refuse_field("sentences", "is not a list of 1 to {} lists of words", call.settings().texts);
  }
  std::vector<std::vector<std::string>> sentences;
  sentences.reserve(list.size());
  for (const Json& words : list) {
    const bool are_words =
        words.is_array() && std::ranges::all_of(words, [](const Json& word) { return word.is_string(); });
    if (!are_words) {
      refuse_field(sentence_number(sentences.size()), "is not a list of words");
    }
    sentences.push_back(words.get<std::vector<std::string>>());
  }
  return sentences;
}

// Calls use(texts, names) or use(pairs, names), whichever the request has.
template <class Use>
auto with_inputs(Fields& fields, const Call& call, Use use) {
  if (const auto pairs = take_pairs(fields, call)) {
    fields.finish();
    return use(std::span<const TextPair>(*pairs), pair_number);
  }
  const std::vector<std::string> texts = take_texts(fields, "texts", "text", call);
  fields.finish();
  return use(std::span<const std::string>(texts), text_number);
}

}  // namespace

void classify(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  const Encoder& encoder = model.encoder();
  const Delivery delivery = take_delivery(fields);
  const auto events = events_of_results<TextLabels>(call, delivery, "result", to_json);
  const std::vector<TextLabels> found = with_inputs(fields, call, [&](const auto& inputs, const auto& name) {
    return encoder.classify(inputs, name, call.reading(), events);
  });
  answer(call, {{"model", model.name()}, {"results", list_of(found, to_json)}}, delivery);
}

void tag(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  const Encoder& encoder = model.encoder();
  const std::vector<std::vector<std::string>> sentences = take_sentences(fields, call);
  const bool lists_probabilities = fields.flag("probabilities").value_or(false);
  const Delivery delivery = take_delivery(fields);
  fields.finish();
  Json results;
  if (lists_probabilities) {
    const auto events = events_of_results<std::vector<TextLabels>>(call, delivery, "result", json_of_words);
    results = list_of(encoder.tag_scores(sentences, sentence_number, call.reading(), events), json_of_words);
  } else {
    const auto events = events_of_results<std::vector<std::string>>(call, delivery, "result", std::identity());
    results = encoder.tag(sentences, sentence_number, call.reading(), events);
  }
  answer(call, {{"model", model.name()}, {"results", std::move(results)}}, delivery);
}

void fill(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  FillOptions options;
  if (const auto top = fields.integer("top", 1, 1000)) {
    options.top = static_cast<int>(*top);
  }
  Fields::take(fields.text("mask"), options.mask);
  const std::vector<std::string> texts = take_texts(fields, "texts", "text", call);
  const Delivery delivery = take_delivery(fields);
  fields.finish();
  const auto events = events_of_results<FilledText>(call, delivery, "result", json_of_filled);
  const std::vector<FilledText> filled = model.encoder().fill(texts, options, text_number, call.reading(), events);
  answer(call, {{"model", model.name()}, {"results", list_of(filled, json_of_filled)}}, delivery);
}

void embed(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  const Encoder& encoder = model.encoder();
  TextEmbeddingOptions options;
  if (const auto normalized = fields.flag("normalized")) {
    options.normalized = *normalized ? Normalized::yes : Normalized::no;
  }
  options.pooling = fields.choice("pooling", kPoolingNames);
  options.prompt = fields.text("prompt");
  options.prompt_name = fields.text("prompt_name");
  const Delivery delivery = take_delivery(fields);
  const auto events = events_of_results<std::vector<float>>(call, delivery, "embedding", std::identity());
  const auto found = with_inputs(fields, call, [&](const auto& inputs, const auto& name) {
    return encoder.embed(inputs, options, name, call.reading(), events);
  });
  answer(call, {{"model", model.name()}, {"width", encoder.embedding_width()}, {"embeddings", found}}, delivery);
}

}  // namespace heed::serve
