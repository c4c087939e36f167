#include "serve/openai/response_format.h"

#include "heed/json_schema.h"
#include "serve/openai/answers.h"
#include "serve/request_error.h"

namespace heed::serve::openai {
namespace {

std::string regex_of_schema(Fields& fields) {
  fields.required_text("name");
  fields.text("description");
  fields.flag("strict");  // texts are always valid
  const Json& schema = fields.get("schema");
  const std::string where = fields.path_of("schema");
  try {
    return regex_of_json_schema(to_text(schema), where);
  } catch (const ConfigError& error) {
    throw RequestError(400, where, error.what());
  } catch (const FormatError& error) {
    throw RequestError(400, where, error.what());
  }
}

}  // namespace

void read_format(const Json& format, const std::string& field, SchemaPlace place, std::string& regex) {
  Fields fields(format, field + ".");
  fields.get("type");
  const std::string type = *fields.choice("type", {"text", "json_object", "json_schema", "regex"});
  if (type == "json_object") {
    regex = regex_of_json_object();
  } else if (type == "json_schema" && place == SchemaPlace::beside) {
    regex = regex_of_schema(fields);
  } else if (type == "json_schema") {
    Fields inside(fields.get("json_schema"), fields.path_of("json_schema."));
    regex = regex_of_schema(inside);
    inside.finish();
  } else if (type == "regex") {
    regex = fields.required_text("regex");
    if (regex.empty()) {
      refuse_field(fields.path_of("regex"), "is empty");
    }
  }
  fields.finish();
}

}  // namespace heed::serve::openai
