// What clients of LibreTranslate send, as JSON, as a form or in the address.
#pragma once

#include "serve/http/message.h"
#include "serve/json/fields.h"

namespace heed::serve {

// A field that a form has several times is a list. RequestError, with the field's name, for what is not UTF-8.
Json request_fields(const HttpRequest& request);

// The key, which these clients send as a field; empty where there is none.
std::string api_key_of(const HttpRequest& request);

}  // namespace heed::serve
