#include "serve/json/fields.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/text/json_depth.h"

namespace heed::serve {
namespace {

constexpr std::string_view kBody = "body";

std::string found(const Json& value) {
  constexpr size_t kMost = 60;
  std::string text = to_text(value);
  return text.size() <= kMost ? text : std::string(value.type_name());
}

// Refuses an object that has a field twice, of which one would be ignored. Called by the parser as it goes.
class OnceOnly {
 public:
  bool operator()(int /*depth*/, Json::parse_event_t event, const Json& parsed) {
    if (event == Json::parse_event_t::object_start) {
      open_.emplace_back();
    } else if (event == Json::parse_event_t::object_end) {
      open_.pop_back();
    } else if (event == Json::parse_event_t::key) {
      const auto& name = parsed.get_ref<const std::string&>();
      if (!open_.back().insert(name).second) {
        refuse_field(name, "is given twice");
      }
    }
    return true;
  }

 private:
  std::vector<std::set<std::string>> open_;  // the names in each object that has not ended
};

}  // namespace

std::string to_text(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

Json parse_json(std::string_view text) {
  require_shallow_json(text, kBody);
  Json parsed;
  try {
    parsed = Json::parse(text, OnceOnly());
  } catch (const Json::exception& error) {
    throw RequestError(400, "", fmt::format("the body is not JSON: {}", error.what()));
  }
  if (!parsed.is_object()) {
    throw RequestError(400, "", fmt::format("the body is {}, expected an object", parsed.type_name()));
  }
  return parsed;
}

Fields::Fields(const Json& object, std::string path) : object_(object), path_(std::move(path)) {
  if (!object_.is_object()) {
    const std::string name = path_.empty() ? "body" : path_.substr(0, path_.size() - 1);
    refuse_field(name, "is {}, expected an object", found(object_));
  }
}

const Json* Fields::find(const char* name) {
  asked_.insert(name);
  const auto field = object_.find(name);
  return field == object_.end() || field->is_null() ? nullptr : &*field;
}

const Json& Fields::get(const char* name) {
  const Json* field = find(name);
  if (field == nullptr) {
    refuse_field(path_of(name), "is missing");
  }
  return *field;
}

std::optional<std::string> Fields::text(const char* name) {
  const Json* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (!field->is_string()) {
    refuse_field(path_of(name), "is {}, expected a text", found(*field));
  }
  return field->get<std::string>();
}

std::string Fields::required_text(const char* name) {
  get(name);
  return *text(name);
}

std::optional<bool> Fields::flag(const char* name) {
  const Json* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (!field->is_boolean()) {
    refuse_field(path_of(name), "is {}, expected true or false", found(*field));
  }
  return field->get<bool>();
}

std::optional<int64_t> Fields::integer(const char* name, int64_t least, int64_t most) {
  const Json* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  // Some clients write whole numbers as 1.0.
  const bool is_whole =
      field->is_number_integer() || (field->is_number_float() && std::abs(field->get<double>()) < 1e15 &&
                                     std::trunc(field->get<double>()) == field->get<double>());
  const bool fits = is_whole && (!field->is_number_unsigned() || field->get<uint64_t>() <= uint64_t{INT64_MAX});
  const int64_t value = fits ? field->get<int64_t>() : 0;
  if (!fits || value < least || value > most) {
    refuse_field(path_of(name), "is {}, expected an integer from {} to {}", found(*field), least, most);
  }
  return value;
}

std::optional<double> Fields::number(const char* name, double least, double most) {
  const Json* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  const double value = field->is_number() ? field->get<double>() : 0.0;
  if (!field->is_number() || !(value >= least && value <= most)) {
    refuse_field(path_of(name), "is {}, expected a number from {} to {}", found(*field), least, most);
  }
  return value;
}

std::optional<std::vector<std::string>> Fields::texts(const char* name, size_t most) {
  const Json* field = find(name);
  if (field == nullptr) {
    return std::nullopt;
  }
  if (field->is_string()) {
    return std::vector{field->get<std::string>()};
  }
  if (!field->is_array() || field->empty() || field->size() > most) {
    refuse_field(path_of(name), "is {}, expected a text or a list of 1 to {} texts",
                 field->is_array() ? fmt::format("a list of {}", field->size()) : found(*field), most);
  }
  std::vector<std::string> texts;
  texts.reserve(field->size());
  for (const Json& one : *field) {
    if (!one.is_string()) {
      refuse_field(fmt::format("{}[{}]", path_of(name), texts.size()), "is {}, expected a text", found(one));
    }
    texts.push_back(one.get<std::string>());
  }
  return texts;
}

std::optional<std::string> Fields::choice(const char* name, const std::vector<std::string_view>& names) {
  std::optional<std::string> chosen = text(name);
  if (chosen && std::ranges::find(names, *chosen) == names.end()) {
    refuse_field(path_of(name), "is \"{}\", expected one of {}", *chosen, fmt::join(names, ", "));
  }
  return chosen;
}

void Fields::only(const char* name, const Json& value, std::string_view why) {
  const Json* field = find(name);
  if (field != nullptr && *field != value) {
    refuse_field(path_of(name), "is {}: {}", found(*field), why);
  }
}

void Fields::accept(std::initializer_list<const char*> names) { asked_.insert(names.begin(), names.end()); }

void Fields::finish() const {
  for (const auto& [name, value] : object_.items()) {
    if (!value.is_null() && !asked_.contains(name)) {
      refuse_field(path_of(name), "is not known");
    }
  }
}

}  // namespace heed::serve
