#include "serve/openai/response_format.h"

#include "serve/request_error.h"

namespace heed::serve::openai {

void read_format(const Json& format, const std::string& field, std::string& regex) {
  Fields fields(format, field + ".");
  const std::string type = fields.required_text("type");
  if (type == "regex") {
    regex = fields.required_text("regex");
    if (regex.empty()) {
      refuse_field(fields.path_of("regex"), "is empty");
    }
  } else if (type != "text") {
    refuse_field(fields.path_of("type"), "is \"{}\", expected text or regex", type);
  }
  fields.finish();
}

}  // namespace heed::serve::openai
