#include "serve/http/form.h"

#include <algorithm>
#include <utility>

#include "serve/http/url.h"
#include "serve/request_error.h"

namespace heed::serve {
namespace {

constexpr std::string_view kForm = "application/x-www-form-urlencoded", kMultipart = "multipart/form-data";
constexpr std::string_view kLineEnd = "\r\n";
constexpr size_t kMaxFields = 65536;  // each takes more memory than the few bytes that it may have

// The value of a parameter: `boundary=x` in "multipart/form-data; boundary=x".
std::string_view parameter(std::string_view header, std::string_view name) {
  for (size_t begin = header.find(';'); begin != std::string_view::npos; begin = header.find(';', begin)) {
    ++begin;
    while (begin < header.size() && header[begin] == ' ') {
      ++begin;
    }
    const std::string_view rest = header.substr(begin);
    if (rest.size() > name.size() && equal_ignoring_case(rest.substr(0, name.size()), name) &&
        rest[name.size()] == '=') {
      std::string_view value = rest.substr(name.size() + 1);
      if (value.starts_with('"')) {
        return value.substr(1, value.find('"', 1) - 1);
      }
      return value.substr(0, value.find_first_of("; "));
    }
  }
  return {};
}

// The value of a header in a part's head.
std::string_view header_of_part(std::string_view head, std::string_view name) {
  while (!head.empty()) {
    const size_t end = std::min(head.find(kLineEnd), head.size());
    const std::string_view line = head.substr(0, end);
    if (line.size() > name.size() && equal_ignoring_case(line.substr(0, name.size()), name) &&
        line[name.size()] == ':') {
      return line.substr(name.size() + 1);
    }
    head.remove_prefix(std::min(end + kLineEnd.size(), head.size()));
  }
  return {};
}

void require_room(const FormFields& fields) {
  if (fields.size() >= kMaxFields) {
    throw RequestError(413, "", fmt::format("the body has more than {} fields", kMaxFields));
  }
}

FormFields parse_parts(std::string_view body, std::string_view boundary) {
  FormFields fields;
  const std::string mark = "--" + std::string(boundary), between = std::string(kLineEnd) + mark;
  size_t begin = body.find(mark);
  while (begin != std::string_view::npos) {
    begin += begin == 0 || !body.substr(begin).starts_with(between) ? mark.size() : between.size();
    const size_t end = body.find(between, begin);
    if (end == std::string_view::npos || !body.substr(begin).starts_with(kLineEnd)) {
      break;  // "--" after the last one
    }
    const std::string_view part = body.substr(begin + kLineEnd.size(), end - begin - kLineEnd.size());
    const size_t head_end = part.find("\r\n\r\n");
    if (head_end != std::string_view::npos) {
      const std::string_view disposition = header_of_part(part.substr(0, head_end), "Content-Disposition");
      const std::string_view name = parameter(disposition, "name");
      if (!name.empty() && parameter(disposition, "filename").empty()) {
        require_room(fields);
        fields.emplace_back(name, part.substr(head_end + 4));
      }
    }
    begin = end;
  }
  return fields;
}

// What stands before the separator, and what stands after it.
std::pair<std::string_view, std::string_view> split_once(std::string_view text, char separator) {
  const size_t at = text.find(separator);
  return at == std::string_view::npos ? std::pair(text, std::string_view())
                                      : std::pair(text.substr(0, at), text.substr(at + 1));
}

// "a%20b+c" is "a b c".
std::string decoded(std::string_view text) {
  std::string spaced(text);
  std::ranges::replace(spaced, '+', ' ');
  return decoded_url(spaced);
}

}  // namespace

FormFields parse_form(std::string_view text) {
  FormFields fields;
  while (!text.empty()) {
    const auto [pair, others] = split_once(text, '&');
    if (!pair.empty()) {
      const auto [name, value] = split_once(pair, '=');
      require_room(fields);
      fields.emplace_back(decoded(name), decoded(value));
    }
    text = others;
  }
  return fields;
}

FormFields form_fields(const HttpRequest& request) {
  FormFields fields = parse_form(request.query());
  FormFields of_body;
  if (request.has_type(kForm)) {
    of_body = parse_form(request.body);
  } else if (request.has_type(kMultipart)) {
    const std::string_view boundary = parameter(request.header("Content-Type"), "boundary");
    of_body = boundary.empty() ? FormFields{} : parse_parts(request.body, boundary);
  }
  fields.insert(fields.end(), of_body.begin(), of_body.end());
  return fields;
}

}  // namespace heed::serve
