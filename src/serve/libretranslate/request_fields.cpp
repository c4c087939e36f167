#include "serve/libretranslate/request_fields.h"

#include <utility>

#include "serve/http/form.h"
#include "text/unicode/unicode.h"

namespace heed::serve {
namespace {

// A translation of replacement characters would look like an answer.
void require_utf8(const std::string& name, const std::string& value) {
  if (find_invalid_utf8(name)) {
    throw RequestError(400, "", "the name of a field is not UTF-8");
  }
  if (find_invalid_utf8(value)) {
    refuse_field(name, "is not UTF-8");
  }
}

}  // namespace

Json request_fields(const HttpRequest& request) {
  if (request.has_type("application/json")) {
    return parse_json(request.body);
  }
  Json fields = Json::object();
  for (auto& [name, value] : form_fields(request)) {
    require_utf8(name, value);
    if (!fields.contains(name)) {
      fields[name] = std::move(value);
    } else if (fields[name].is_string()) {
      fields[name] = Json::array({fields[name], std::move(value)});
    } else {
      fields[name].push_back(std::move(value));
    }
  }
  return fields;
}

std::string api_key_of(const HttpRequest& request) {
  const Json fields = request_fields(request);
  const auto found = fields.find("api_key");
  return found != fields.end() && found->is_string() ? found->get<std::string>() : "";
}

}  // namespace heed::serve
