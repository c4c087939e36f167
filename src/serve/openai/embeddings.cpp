// /v1/embeddings
#include <cmath>
#include <numeric>
#include <span>

#include "serve/json/float_bytes.h"
#include "serve/openai/answers.h"
#include "serve/openai/openai_paths.h"
#include "serve/openai/text_request.h"
#include "serve/request_error.h"

namespace heed::serve::openai {
namespace {

constexpr size_t kMaxInputs = 2048;

std::vector<std::string> read_inputs(Fields& fields, const Call& call) {
  const Json& input = fields.get("input");
  if (input.is_array() && !input.empty() && (input[0].is_number() || input[0].is_array())) {
    refuse_field("input",
                 "has token ids of another tokenizer, expected a text or a list of texts: in LangChain say "
                 "check_embedding_ctx_length=False");
  }
  return *fields.texts("input", std::min(kMaxInputs, static_cast<size_t>(call.settings().texts)));
}

double length_of_row(std::span<const float> row) {
  return std::sqrt(std::accumulate(row.begin(), row.end(), 0.0, [](double sum, float value) {
    return sum + static_cast<double>(value) * static_cast<double>(value);
  }));
}

// The first columns, made as long as all of them: a row of length 1 stays one.
void shorten(std::vector<float>& row, size_t dimensions) {
  const double before = length_of_row(row);
  row.resize(dimensions);
  const double after = length_of_row(row);
  for (float& value : row) {
    value = after > 0.0 ? static_cast<float>(static_cast<double>(value) * before / after) : value;
  }
}

}  // namespace

void embed(Call& call) {
  const Json body = parse_json(call.request().body);
  Fields fields(body);
  const ServedModel& model = call.model(fields.text("model").value_or(""));
  const Encoder& encoder = model.encoder();
  const std::vector<std::string> inputs = read_inputs(fields, call);
  const bool is_base64 = fields.choice("encoding_format", {"float", "base64"}).value_or("float") == "base64";
  const auto dimensions = fields.integer("dimensions", 1, encoder.embedding_width());
  fields.text("user");
  fields.finish();
  const auto name = [&](size_t i) { return inputs.size() == 1 ? "input" : fmt::format("input[{}]", i); };
  Json data = Json::array();
  naming_fields("input", [&] {
    for (std::vector<float>& row : encoder.embed(inputs, {}, name, call.reading())) {
      if (dimensions) {
        shorten(row, static_cast<size_t>(*dimensions));
      }
      data.push_back({{"object", "embedding"},
                      {"index", data.size()},
                      {"embedding", is_base64 ? Json(in_base64(row)) : Json(row)}});
    }
  });
  call.answer({{"object", "list"},
               {"data", std::move(data)},
               {"model", model.name()},
               {"usage", {{"prompt_tokens", call.read()}, {"total_tokens", call.read()}}}});
}

}  // namespace heed::serve::openai
