#include "serve/openai/openai_paths.h"
#include "serve/routes.h"

namespace heed::serve {

Routes openai_routes() {
  const auto route = [](std::string_view method, std::string_view path, void (*handle)(Call&)) {
    return Route{method, path, ErrorForm::openai, "openai", handle};
  };
  return {
      route("POST", "/v1/completions", openai::complete), route("POST", "/v1/chat/completions", openai::complete_chat),
      route("POST", "/v1/responses", openai::respond),    route("POST", "/v1/embeddings", openai::embed),
      route("GET", "/v1/models", openai::list_models),    route("GET", "/v1/models/*", openai::describe_model)};
}

}  // namespace heed::serve
