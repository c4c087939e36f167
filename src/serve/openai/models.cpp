// /v1/models
#include "serve/http/url.h"
#include "serve/openai/openai_paths.h"
#include "serve/request_error.h"

namespace heed::serve::openai {
namespace {

constexpr std::string_view kModels = "/v1/models/";

Json description_of(const ModelStore::Known& known) {
  return {{"id", known.settings.name},
          {"object", "model"},
          {"created", known.model ? known.model->created() : 0},
          {"owned_by", "heed"}};
}

}  // namespace

void list_models(Call& call) {
  Json models = Json::array();
  for (const ModelStore::Known& known : call.models().list()) {
    if (call.may_use(known.settings.name)) {
      models.push_back(description_of(known));
    }
  }
  call.answer({{"object", "list"}, {"data", std::move(models)}});
}

void describe_model(Call& call) {
  const std::string name = decoded_url(call.request().path().substr(kModels.size()));
  for (const ModelStore::Known& known : call.models().list()) {
    if (known.settings.name == name && call.may_use(name)) {
      call.answer(description_of(known));
      return;
    }
  }
  throw RequestError(404, "model", fmt::format("model: there is no model '{}'", name));
}

}  // namespace heed::serve::openai
