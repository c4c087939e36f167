// Parts of a model's config.json.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "models/config.h"
#include "text/decoding_defaults.h"
#include "text/model_marks.h"
#include "text/text_prompts.h"

namespace heed {

// FormatError, with the name that was probably meant, for a key that is not among the names. `what` names the object.
void require_known_keys(const nlohmann::json& object, const std::vector<std::string_view>& names, std::string_view what,
                        const std::string& where);
// FormatError where it is missing or has another type.
const nlohmann::json& member(const nlohmann::json& object, const char* name, nlohmann::json::value_t type,
                             const std::string& where);

// FormatError for tokens that the model does not have, and for unknown keys and names.
ModelMarks parse_marks(const nlohmann::json& object, const ModelConfig& config, const std::string& where);
TextPrompts parse_prompts(const nlohmann::json& object, const std::string& where);
DecodingDefaults parse_decoding(const nlohmann::json& object, const std::string& where);

nlohmann::json to_json(const ModelMarks& marks);
nlohmann::json to_json(const TextPrompts& prompts);
nlohmann::json to_json(const DecodingDefaults& decoding);

}  // namespace heed
