// What Python's str() and repr() write.
#include <unicode/uchar.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "text/chat/template/values/python_text.h"

namespace heed::chat {
namespace {

bool is_printable(char32_t c) {
  constexpr uint32_t kHidden = U_GC_C_MASK | U_GC_Z_MASK;
  return c == ' ' || (U_MASK(u_charType(static_cast<UChar32>(c))) & kHidden) == 0;
}

class Writer {
 public:
  explicit Writer(Run& run) : run_(run) {}

  void write(const Value& value) {
    run_.step();
    if (const std::string* text = value.text()) {
      write_text(*text);
    } else if (const List* list = value.list()) {
      write_list(*list);
    } else if (const Dict* dict = value.dict()) {
      write_dict(*dict);
    } else if (const double* number = value.as<double>()) {
      put(show_number(*number));
    } else if (const int64_t* integer = value.as<int64_t>()) {
      put(std::to_string(*integer));
    } else if (const bool* truth = value.as<bool>()) {
      put(*truth ? "True" : "False");
    } else if (value.is<None>()) {
      put("None");
    } else if (value.is<Undefined>()) {
      put("Undefined");
    } else {
      run_.refuse("a {} can't be written as text", type_name(value));
    }
  }

  std::string written;

 private:
  void put(std::string_view text) {
    run_.make(text.size());
    written += text;
  }

  void write_text(std::string_view text) {
    const char quote =
        text.find('\'') != std::string_view::npos && text.find('"') == std::string_view::npos ? '"' : '\'';
    std::string quoted(1, quote);
    for (size_t at = 0; at < text.size();) {
      const size_t plain = plain_bytes(text.substr(at), quote);
      quoted += text.substr(at, plain);
      at += plain;
      if (at == text.size()) {
        break;
      }
      run_.step();
      const std::string_view bytes = text.substr(at, bytes_of_character(text, at));
      quoted += escaped(character_at(text, at), bytes, quote);
      at += bytes.size();
    }
    put(quoted + quote);
  }

  // How many bytes at the beginning are written as they are: ASCII's that can be printed.
  static size_t plain_bytes(std::string_view text, char quote) {
    const auto end = std::ranges::find_if(text, [quote](char c) {
      return c < ' ' || c > '~' || c == '\\' || c == quote;
    });  // a byte above 127 is below 0
    return static_cast<size_t>(end - text.begin());
  }

  static std::string escaped(char32_t c, std::string_view bytes, char quote) {
    const auto code = static_cast<uint32_t>(c);
    return c == '\n'                                        ? "\\n"
           : c == '\r'                                      ? "\\r"
           : c == '\t'                                      ? "\\t"
           : c == '\\' || c == static_cast<char32_t>(quote) ? "\\" + std::string(bytes)
           : is_printable(c)                                ? std::string(bytes)
           : code < 0x100                                   ? fmt::format("\\x{:02x}", code)
           : code < 0x10000                                 ? fmt::format("\\u{:04x}", code)
                                                            : fmt::format("\\U{:08x}", code);
  }

  void write_list(const List& list) {
    if (list.kind == ListKind::generator || list.kind == ListKind::range) {
      run_.refuse("a {} can't be written as text; `|list` makes a list of it",
                  list.kind == ListKind::range ? "range" : "generator");
    }
    const bool tuple = list.kind == ListKind::tuple;
    const bool view = list.kind > ListKind::range;
    put(tuple                           ? "("
        : list.kind == ListKind::keys   ? "dict_keys(["
        : list.kind == ListKind::values ? "dict_values(["
        : list.kind == ListKind::items  ? "dict_items(["
                                        : "[");
    for (size_t i = 0; i < list.items.size(); ++i) {
      put(i == 0 ? "" : ", ");
      write(list.items[i]);
    }
    put(tuple ? (list.items.size() == 1 ? ",)" : ")") : view ? "])" : "]");
  }

  void write_dict(const Dict& dict) {
    put("{");
    for (size_t i = 0; i < dict.items.size(); ++i) {
      put(i == 0 ? "" : ", ");
      write(dict.items[i].first);
      put(": ");
      write(dict.items[i].second);
    }
    put("}");
  }

  Run& run_;
};

}  // namespace

// Python writes the shortest digits that give the number back, with an exponent below 1e-4 and from 1e16.
std::string show_number(double number) {
  if (!std::isfinite(number)) {
    return std::isnan(number) ? "nan" : number < 0 ? "-inf" : "inf";
  }
  std::string shown = fmt::format("{}", number);
  if (shown.find_first_of(".e") == std::string::npos) {
    shown += ".0";
  }
  return shown;
}

std::string to_text(Run& run, const Value& value) {
  if (const std::string* text = value.text()) {
    return *text;
  }
  return value.is<Undefined>() ? std::string() : repr(run, value);
}

std::string repr(Run& run, const Value& value) {
  Writer writer(run);
  writer.write(value);
  return std::move(writer.written);
}

}  // namespace heed::chat
