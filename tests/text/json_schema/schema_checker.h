// Whether a JSON value is valid against a schema, read from the specification and not from heed's own code: for the
// keywords that heed supports.
#pragma once

#include <nlohmann/json.hpp>

namespace heed::testing_json {

using Json = nlohmann::ordered_json;

bool is_valid(const Json& value, const Json& schema, const Json& root);

}  // namespace heed::testing_json
