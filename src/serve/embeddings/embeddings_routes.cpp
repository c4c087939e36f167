// The interface of Text Embeddings Inference: vectors of texts, texts in the order of a query, labels of texts.
#include <algorithm>
#include <cmath>

#include "heed/version.h"
#include "serve/routes.h"

namespace heed::serve {
namespace {

struct Inputs {
  std::vector<std::string> texts;
  std::vector<TextPair> pairs;
  bool is_list = false;
};

std::string input_name(size_t i) { return fmt::format("inputs[{}]", i); }

// A text, a list of texts, or a list of pairs of texts.
Inputs take_inputs(Fields& fields, const Call& call) {
  const Json& given = fields.get("inputs");
  Inputs inputs{.texts = {}, .pairs = {}, .is_list = given.is_array()};
  const auto most = static_cast<size_t>(call.settings().texts);
  if (given.is_array() && given.size() > most) {
    throw RequestError(413, "inputs",
                       fmt::format("inputs: a list of {}, but at most {} are allowed", given.size(), most));
  }
  const bool are_pairs = given.is_array() && !given.empty() && given.front().is_array();
  if (!are_pairs) {
    inputs.texts = *fields.texts("inputs", most);
    return inputs;
  }
  for (const Json& pair : given) {
    if (!pair.is_array() || pair.size() != 2 || !pair[0].is_string() || !pair[1].is_string()) {
      refuse_field(input_name(inputs.pairs.size()), "is not a list of two texts");
    }
    inputs.pairs.push_back({pair[0].get<std::string>(), pair[1].get<std::string>()});
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
  const Inputs inputs = take_inputs(fields, call);
  TextEmbeddingOptions options{.normalized =
                                   fields.flag("normalize").value_or(true) ? Normalized::yes : Normalized::no};
  options.prompt_name = fields.text("prompt_name");
  fields.only("dimensions", model.encoder().embedding_width(), "vectors have the width of the model");
  const ReadingOptions reading = take_truncation(fields, call);
  fields.finish();
  if (!inputs.pairs.empty()) {
    refuse_field("inputs", "is a list of pairs, expected texts");
  }
  call.answer(model.encoder().embed(inputs.texts, options, input_name, reading));
}

void rerank(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""), ModelKind::encoder);
  const std::string query = fields.required_text("query");
  fields.get("texts");
  const std::vector<std::string> texts = *fields.texts("texts", static_cast<size_t>(call.settings().texts));
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

void predict(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""), ModelKind::encoder);
  const Inputs inputs = take_inputs(fields, call);
  fields.only("raw_scores", false, "scores are probabilities");
  const ReadingOptions reading = take_truncation(fields, call);
  fields.finish();
  const std::vector<TextLabels> found = inputs.pairs.empty()
                                            ? model.encoder().classify(inputs.texts, input_name, reading)
                                            : model.encoder().classify(inputs.pairs, input_name, reading);
  Json lists = Json::array();
  for (const TextLabels& labels : found) {
    lists.push_back(labels_in_order(labels));
  }
  call.answer(inputs.is_list ? lists : lists.front());
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
