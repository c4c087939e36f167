#include "serve/heed/heed_json.h"
#include "serve/heed/heed_paths.h"

namespace heed::serve {
namespace {

std::string text_number(size_t i) { return fmt::format("texts[{}]", i); }
std::string pair_number(size_t i) { return fmt::format("pairs[{}]", i); }

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
  Json scores = Json::array();
  for (const LabelScore& score : labels.scores) {
    scores.push_back({{"label", score.label}, {"probability", score.probability}});
  }
  return {{"labels", labels.labels}, {"scores", std::move(scores)}, {"number", labels.number}};
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
  const std::vector<TextLabels> found = with_inputs(fields, call, [&](const auto& inputs, const auto& name) {
    return encoder.classify(inputs, name, call.reading());
  });
  Json results = Json::array();
  for (const TextLabels& labels : found) {
    results.push_back(to_json(labels));
  }
  call.answer({{"model", model.name()}, {"results", std::move(results)}});
}

void tag(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  const Json& list = fields.get("sentences");
  fields.finish();
  if (!list.is_array() || list.empty() || list.size() > static_cast<size_t>(call.settings().texts)) {
    refuse_field("sentences", "is not a list of 1 to {} lists of words", call.settings().texts);
  }
  std::vector<std::vector<std::string>> sentences;
  sentences.reserve(list.size());
  const auto name = [](size_t i) { return fmt::format("sentences[{}]", i); };
  for (const Json& words : list) {
    const bool are_words =
        words.is_array() && std::ranges::all_of(words, [](const Json& word) { return word.is_string(); });
    if (!are_words) {
      refuse_field(name(sentences.size()), "is not a list of words");
    }
    sentences.push_back(words.get<std::vector<std::string>>());
  }
  call.answer({{"model", model.name()}, {"results", model.encoder().tag(sentences, name, call.reading())}});
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
  fields.finish();
  Json results = Json::array();
  for (const FilledText& filled : model.encoder().fill(texts, options, text_number, call.reading())) {
    Json masks = Json::array();
    for (const std::vector<MaskGuess>& guesses : filled.masks) {
      Json of_mask = Json::array();
      for (const MaskGuess& guess : guesses) {
        of_mask.push_back(
            {{"token", guess.token}, {"id", guess.id}, {"probability", guess.probability}, {"text", guess.text}});
      }
      masks.push_back(std::move(of_mask));
    }
    results.push_back({{"text", filled.text}, {"masks", std::move(masks)}});
  }
  call.answer({{"model", model.name()}, {"results", std::move(results)}});
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
  const auto found = with_inputs(fields, call, [&](const auto& inputs, const auto& name) {
    return encoder.embed(inputs, options, name, call.reading());
  });
  call.answer({{"model", model.name()}, {"width", encoder.embedding_width()}, {"embeddings", found}});
}

}  // namespace heed::serve
