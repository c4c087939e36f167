#include "serve/libretranslate/request_fields.h"

#include "serve/http/form.h"

namespace heed::serve {

Json request_fields(const HttpRequest& request) {
  if (request.header("Content-Type").starts_with("application/json")) {
    return parse_json(request.body);
  }
  Json fields = Json::object();
  for (auto& [name, value] : form_fields(request)) {
    if (!fields.contains(name)) {
      fields[name] = std::move(value);
    } else if (fields[name].is_string()) {
      fields[name] = Json::array({fields[name], std::move(value)});
    } else {
      fields[name].push_back(std::move(value));
    }
  }
  // What is not UTF-8 is replaced, since JSON can't have it.
  return parse_json(to_text(fields));
}

std::string api_key_of(const HttpRequest& request) {
  const Json fields = request_fields(request);
  const auto found = fields.find("api_key");
  return found != fields.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace heed::serve
