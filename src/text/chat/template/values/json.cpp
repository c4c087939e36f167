#include "text/chat/template/values/json.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <unordered_set>

#include "text/chat/template/values/python_text.h"

namespace heed::chat {
namespace {

// Builds values while nlohmann reads: without its own tree, and in the order of the file.
class ValueReader final : public nlohmann::json_sax<nlohmann::json> {
 public:
  explicit ValueReader(std::string_view where) : where_(where) { levels_.emplace_back(); }

  bool null() override { return put(None{}); }
  bool boolean(bool value) override { return put(value); }
  bool number_integer(number_integer_t value) override { return put(value); }
  bool number_unsigned(number_unsigned_t value) override {
    require<FormatError>(value <= static_cast<uint64_t>(INT64_MAX), where_, "{} is too large for a whole number",
                         value);
    return put(static_cast<int64_t>(value));
  }
  bool number_float(number_float_t value, const string_t& digits) override {
    require<FormatError>(digits.find_first_of(".eE") != std::string::npos, where_, "{} is too large for a whole number",
                         digits);
    return put(value);
  }
  bool string(string_t& value) override { return put(constant(value)); }
  bool binary(binary_t& /*value*/) override { return false; }

  bool start_object(size_t /*items*/) override { return open(); }
  bool start_array(size_t /*items*/) override { return open(); }
  bool key(string_t& name) override {
    require<FormatError>(levels_.back().known.insert(name).second, where_, "the key \"{}\" stands twice in one object",
                         name);
    levels_.back().keys.push_back(constant(name));
    return true;
  }
  bool end_object() override {
    Open level = close();
    std::vector<std::pair<Value, Value>> items;
    items.reserve(level.values.size());
    for (size_t i = 0; i < level.values.size(); ++i) {
      items.emplace_back(std::move(level.keys[i]), std::move(level.values[i]));
    }
    Run unlimited(where_);
    return put(make_dict(unlimited, std::move(items)));
  }
  bool end_array() override {
    Run unlimited(where_);
    return put(make_list(unlimited, std::move(close().values)));
  }
  bool parse_error(size_t position, const std::string& /*token*/, const nlohmann::detail::exception& error) override {
    std::string_view what = error.what();
    const size_t colon = what.find("; last read");
    what = what.substr(0, colon);
    const size_t reason = what.rfind(": ");
    fail<FormatError>(where_, "not JSON at byte {}: {}", position,
                      reason == std::string_view::npos ? what : what.substr(reason + 2));
  }

  Value take() { return std::move(levels_.front().values.front()); }

 private:
  struct Open {
    std::vector<Value> keys, values;
    std::unordered_set<std::string> known;
  };

  bool put(Value value) {
    levels_.back().values.push_back(std::move(value));
    return true;
  }
  bool open() {
    require<FormatError>(levels_.size() <= static_cast<size_t>(kMaxValueDepth), where_,
                         "lists and objects are more than {} deep, the limit", kMaxValueDepth);
    levels_.emplace_back();
    return true;
  }
  Open close() {
    Open level = std::move(levels_.back());
    levels_.pop_back();
    return level;
  }

  std::string_view where_;
  std::vector<Open> levels_;
};

class JsonWriter {
 public:
  JsonWriter(Run& run, const JsonLayout& layout) : run_(run), layout_(layout) {}

  void write(const Value& value) {
    run_.step();
    if (const std::string* text = value.text()) {
      put_text(*text);
    } else if (value.list() != nullptr && value.list()->kind <= ListKind::tuple) {
      write_list(*value.list());
    } else if (const Dict* dict = value.dict()) {
      write_dict(*dict);
    } else {
      put(scalar(value));
    }
  }

  std::string written;

 private:
  void put(std::string_view text) {
    run_.make(text.size());
    written += text;
  }

  std::string scalar(const Value& value) const {
    if (const double* number = value.as<double>()) {
      return std::isnan(*number)   ? "NaN"
             : std::isinf(*number) ? (*number < 0 ? "-Infinity" : "Infinity")
                                   : show_number(*number);
    }
    if (const bool* truth = value.as<bool>()) {
      return *truth ? "true" : "false";
    }
    if (const int64_t* integer = value.as<int64_t>()) {
      return std::to_string(*integer);
    }
    if (!value.is<None>()) {
      run_.refuse("tojson: a {} can't be written as JSON", type_name(value));
    }
    return "null";
  }

  void put_text(std::string_view text) {
    std::string quoted = "\"";
    const auto is_plain = [](char c) { return static_cast<unsigned char>(c) >= 32 && c != '"' && c != '\\'; };
    for (auto at = text.begin(); at != text.end();) {
      const auto plain = std::find_if_not(at, text.end(), is_plain);
      quoted.append(at, plain);
      at = plain;
      if (at == text.end()) {
        break;
      }
      run_.step();
      const char c = *at++;
      quoted += c == '"'    ? "\\\""
                : c == '\\' ? "\\\\"
                : c == '\n' ? "\\n"
                : c == '\r' ? "\\r"
                : c == '\t' ? "\\t"
                : c == '\b' ? "\\b"
                : c == '\f' ? "\\f"
                            : fmt::format("\\u{:04x}", static_cast<unsigned char>(c));
    }
    put(quoted + '"');
  }

  void new_line() {
    if (layout_.indent) {
      put("\n");
      for (int i = 0; i < depth_; ++i) {
        put(*layout_.indent);
      }
    }
  }

  template <class Items, class Write>
  void write_items(const Items& items, char open, char close, const Write& write_one) {
    written += open;
    ++depth_;
    for (size_t i = 0; i < items.size(); ++i) {
      put(i == 0 ? "" : layout_.comma);
      new_line();
      write_one(items[i]);
    }
    --depth_;
    if (!items.empty()) {
      new_line();
    }
    written += close;
  }

  void write_list(const List& list) {
    write_items(list.items, '[', ']', [this](const Value& item) { write(item); });
  }

  void write_dict(const Dict& dict) {
    std::vector<const std::pair<Value, Value>*> items;
    items.reserve(dict.items.size());
    for (const auto& item : dict.items) {
      items.push_back(&item);
    }
    if (layout_.keys == JsonLayout::Keys::sorted) {
      std::ranges::stable_sort(items,
                               [this](const auto* a, const auto* b) { return order(run_, a->first, b->first) < 0; });
    }
    write_items(items, '{', '}', [this](const auto* item) {
      put_text(item->first.text() != nullptr ? *item->first.text() : scalar(item->first));
      put(layout_.colon);
      write(item->second);
    });
  }

  Run& run_;
  const JsonLayout& layout_;
  int depth_ = 0;
};

}  // namespace

Value parse_json(std::string_view json, std::string_view where) {
  ValueReader reader(where);
  nlohmann::json::sax_parse(json, &reader);
  return reader.take();
}

std::string write_json(Run& run, const Value& value, const JsonLayout& layout) {
  JsonWriter writer(run, layout);
  writer.write(value);
  return std::move(writer.written);
}

}  // namespace heed::chat
