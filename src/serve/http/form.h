// Fields that clients send as forms.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "serve/http/message.h"

namespace heed::serve {

using FormFields = std::vector<std::pair<std::string, std::string>>;

// "a=b&c=d", of a query or of a body.
FormFields parse_form(std::string_view text);
// The fields of a request's query and then of its body, where that is a form (multipart/form-data included). Files, and
// parts that cannot be read, are left out.
FormFields form_fields(const HttpRequest& request);

}  // namespace heed::serve
