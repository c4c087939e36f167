// What models do inside: attention, and the next token's candidates.
#include "serve/heed/heed_json.h"
#include "serve/heed/heed_paths.h"
#include "serve/json/float_bytes.h"

namespace heed::serve {
namespace {

constexpr int64_t kMostListed = 10000;  // of the next token's candidates

std::vector<int64_t> take_numbers(Fields& fields, const char* name) {
  const Json* const list = fields.find(name);
  if (list == nullptr) {
    return {};
  }
  const auto is_number = [](const Json& one) {
    return one.is_number_unsigned() && one.get<uint64_t>() < (uint64_t{1} << 31);
  };
  if (!list->is_array() || !std::ranges::all_of(*list, is_number)) {
    refuse_field(name, "is not a list of integers, 0 or more");
  }
  return list->get<std::vector<int64_t>>();
}

AttentionRequest take_attention_request(Call& call, Fields& fields) {
  AttentionRequest request{.layers = take_numbers(fields, "layers"), .heads = take_numbers(fields, "heads")};
  Fields::take(fields.choice("kind", kAttentionKindNames), request.kind);
  request.norms = fields.flag("norms").value_or(false) ? AttentionNorms::computed : AttentionNorms::left_out;
  Fields::take(fields.integer("at_most", 0, INT32_MAX), request.at_most);
  request.interruption = call.interruption();
  request.sharing = call.sharing();
  return request;
}

Json to_json(const AttentionMap& map) {
  return {{"layer", map.layer},
          {"head", map.head},
          {"rows", map.rows},
          {"columns", map.columns},
          {"weights", in_base64(map.weights)},
          {"norms", map.norms.empty() ? Json() : Json(in_base64(map.norms))}};
}

Json to_json(const TextAttention& found) {
  return {{"rows", found.rows},
          {"columns", found.columns},
          {"layers", found.layers},
          {"heads", found.heads},
          {"maps", list_of(found.maps, [](const AttentionMap& map) { return to_json(map); })}};
}

}  // namespace

void attention(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  AttentionRequest request = take_attention_request(call, fields);
  const Delivery delivery = take_delivery(fields);
  if (delivery == Delivery::streamed) {
    request.on_map = [&call](const AttentionMap& map) { call.send_event(to_text({{"map", to_json(map)}})); };
  }
  TextAttention found;
  if (model.kind() == ModelKind::translator) {
    const std::string source = fields.required_text("source"), target = fields.required_text("target");
    const LanguagePair languages{fields.text("source_language").value_or(""),
                                 fields.text("target_language").value_or("")};
    fields.finish();
    found = model.translator().attention(source, target, request, languages);
  } else {
    const std::string text = fields.required_text("text");
    fields.finish();
    found = model.kind() == ModelKind::encoder ? model.encoder().attention(text, request)
                                               : model.generator().attention(text, request, {}, "text");
  }
  call.count(found.tokens, 0);
  answer(call, to_json(found), delivery);
}

void next_tokens(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  GenerationOptions options;
  const std::string prompt = take_prompt(fields, model, options);
  const int64_t top = fields.integer("top", 1, kMostListed).value_or(10);
  const Delivery delivery = take_delivery(fields);
  fields.finish();
  options.interruption = call.interruption();
  options.sharing = call.sharing();
  const LikelyTokens found = model.generator().next_tokens(prompt, top, options);
  Json tokens = Json::array();
  for (const NextToken& token : found.tokens) {
    tokens.push_back({{"piece", token.piece},
                      {"id", token.id},
                      {"text", token.text},
                      {"logit", token.logit},
                      {"log_probability", token.log_probability}});
  }
  call.count(std::ssize(found.prompt), 0);
  answer(call, {{"model", model.name()}, {"tokens", std::move(tokens)}, {"prompt_ids", found.prompt}}, delivery);
}

}  // namespace heed::serve
