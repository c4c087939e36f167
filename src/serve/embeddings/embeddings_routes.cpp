// The interface of Text Embeddings Inference: vectors of texts, texts in the order of a query, labels of texts.
#include <algorithm>
#include <cmath>
#include <iterator>
#include <type_traits>
#include <utility>

#include "heed/version.h"
#include "serve/routes.h"

namespace heed::serve {
namespace {

// Counts texts before they are looked at, so that a client learns that they are too many, whatever they are.
void require_few(const Json& list, const std::string& field, const Call& call) {
  const auto most = static_cast<size_t>(call.settings().texts);
  if (list.is_array() && list.size() > most) {
    throw RequestError(413, field,
                       fmt::format("{}: a list of {}, but at most {} are allowed", field, list.size(), most));
  }
}

// A text, or a list of texts.
std::vector<std::string> take_texts_of(Fields& fields, const char* name, const Call& call) {
  require_few(fields.get(name), name, call);
  return *fields.texts(name, static_cast<size_t>(call.settings().texts));
}

std::string input_name(size_t i) { return fmt::format("inputs[{}]", i); }

// A text or a pair of texts, with its number among the inputs.
struct NumberedText {
  size_t number;
  std::string text;
};
struct NumberedPair {
  size_t number;
  TextPair pair;
};

// What is to be labelled: single texts and pairs, which models read in different ways.
struct Inputs {
  std::vector<NumberedText> texts;
  std::vector<NumberedPair> pairs;
  bool is_batch = false;

  size_t size() const { return texts.size() + pairs.size(); }
};

// Adds `given`: a text, or a list of a text or of the two of a pair.
void add_input(Inputs& inputs, const Json& given, const std::string& name) {
  const Json list = given.is_string() ? Json::array({given}) : given;
  const bool are_texts = list.is_array() && std::ranges::all_of(list, [](const Json& one) { return one.is_string(); });
  if (!are_texts || list.empty() || list.size() > 2) {
    refuse_field(name, "is not a text, nor a list of one text or of the two of a pair");
  }
  const size_t number = inputs.size();
  if (list.size() == 1) {
    inputs.texts.push_back({number, list[0].get<std::string>()});
  } else {
    inputs.pairs.push_back({number, {list[0].get<std::string>(), list[1].get<std::string>()}});
  }
}

// A list of lists is a batch; a list of texts is one input, a pair where it has two.
Inputs take_inputs(Fields& fields, const Call& call) {
  const Json& given = fields.get("inputs");
  Inputs inputs;
  inputs.is_batch = given.is_array() && !given.empty() && given.front().is_array();
  if (!inputs.is_batch) {
    add_input(inputs, given, "inputs");
    return inputs;
  }
  require_few(given, "inputs", call);
  for (const Json& one : given) {
    const std::string name = input_name(inputs.size());
    if (!one.is_array()) {
      refuse_field(name, "is not a list, but others of the batch are");
    }
    add_input(inputs, one, name);
  }
  return inputs;
}

// What happens to texts that are too long.
ReadingOptions take_truncation(Fields& fields, Call& call) {
  ReadingOptions reading = call.reading();
  reading.too_long = fields.flag("truncate").value_or(false) ? TooLong::truncate : TooLong::refuse;
  const std::string direction =
      fields.choice("truncation_direction", {"Right", "right", "Left", "left"}).value_or("Right");
  reading.cut_at = direction == "Left" || direction == "left" ? CutAt::beginning : CutAt::end;
  return reading;
}

double sigmoid(double z) { return 1.0 / (1.0 + std::exp(-z)); }

void embed_inputs(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""), ModelKind::encoder);
  const std::vector<std::string> inputs = take_texts_of(fields, "inputs", call);
  TextEmbeddingOptions options{.normalized =
                                   fields.flag("normalize").value_or(true) ? Normalized::yes : Normalized::no};
  options.prompt_name = fields.text("prompt_name");
  fields.only("dimensions", model.encoder().embedding_width(), "vectors have the width of the model");
  const ReadingOptions reading = take_truncation(fields, call);
  fields.finish();
  call.answer(model.encoder().embed(inputs, options, input_name, reading));
}

void rerank(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""), ModelKind::encoder);
  const std::string query = fields.required_text("query");
  const std::vector<std::string> texts = take_texts_of(fields, "texts", call);
  const bool is_raw = fields.flag("raw_scores").value_or(false);
  const bool returns_text = fields.flag("return_text").value_or(false);
  const ReadingOptions reading = take_truncation(fields, call);
  fields.finish();
  std::vector<TextPair> pairs;
  pairs.reserve(texts.size());
  for (const std::string& text : texts) {
    pairs.push_back({query, text});
  }
  if (!model.encoder().labels().empty()) {
    refuse_field("model", "'{}' has labels, but one that gives a number for a pair is needed", model.name());
  }
  const std::vector<TextLabels> found = model.encoder().classify(
      pairs, [](size_t i) { return fmt::format("texts[{}]", i); }, reading);
  std::vector<size_t> order(found.size());
  for (size_t i = 0; i < order.size(); ++i) {
    order[i] = i;
  }
  std::ranges::stable_sort(order, std::greater(), [&](size_t i) { return found[i].number; });
  Json ranks = Json::array();
  for (const size_t i : order) {
    Json rank{{"index", i}, {"score", is_raw ? found[i].number : sigmoid(found[i].number)}};
    if (returns_text) {
      rank["text"] = texts[i];
    }
    ranks.push_back(std::move(rank));
  }
  call.answer(ranks);
}

Json labels_in_order(const TextLabels& found) {
  std::vector<LabelScore> scores = found.scores;
  std::ranges::stable_sort(scores, std::greater(), &LabelScore::probability);
  Json list = Json::array();
  for (const LabelScore& score : scores) {
    list.push_back({{"score", score.probability}, {"label", score.label}});
  }
  return list;
}

// Labels of all inputs, in their order. Errors name an input by its place in the request.
std::vector<TextLabels> classify_inputs(const Encoder& encoder, const Inputs& inputs, const ReadingOptions& reading) {
  std::vector<TextLabels> found(inputs.size());
  const auto classify_some = [&](const auto& numbered, auto member) {
    std::vector<std::decay_t<decltype(numbered.front().*member)>> some;
    std::ranges::transform(numbered, std::back_inserter(some), member);
    const auto name = [&](size_t i) {
      return inputs.is_batch ? input_name(numbered[i].number) : std::string("inputs");
    };
    std::vector<TextLabels> labels = encoder.classify(some, name, reading);
    for (size_t i = 0; i < labels.size(); ++i) {
      found[numbered[i].number] = std::move(labels[i]);
    }
  };
  if (!inputs.texts.empty()) {
    classify_some(inputs.texts, &NumberedText::text);
  }
  if (!inputs.pairs.empty()) {
    classify_some(inputs.pairs, &NumberedPair::pair);
  }
  return found;
}

void predict(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""), ModelKind::encoder);
  const Inputs inputs = take_inputs(fields, call);
  fields.only("raw_scores", false, "scores are probabilities");
  const ReadingOptions reading = take_truncation(fields, call);
  fields.finish();
  const std::vector<TextLabels> found = classify_inputs(model.encoder(), inputs, reading);
  Json lists = Json::array();
  for (const TextLabels& labels : found) {
    lists.push_back(labels_in_order(labels));
  }
  call.answer(inputs.is_batch ? lists : lists.front());
}

void info(Call& call) {
  const ServedModel& model = call.model("", ModelKind::encoder);
  call.answer({{"model_id", model.name()},
               {"model_dtype", name_of(model.encoder().precision())},
               {"max_input_length", model.max_length()},
               {"max_client_batch_size", call.settings().texts},
               {"max_concurrent_requests", call.settings().requests},
               {"version", version()}});
}

}  // namespace

Routes embeddings_routes() {
  constexpr ErrorForm kForm = ErrorForm::embeddings;
  return {{"POST", "/embed", kForm, "embeddings", embed_inputs},
          {"POST", "/rerank", kForm, "embeddings", rerank},
          {"POST", "/predict", kForm, "embeddings", predict},
          {"GET", "/info", kForm, "embeddings", info}};
}

}  // namespace heed::serve
