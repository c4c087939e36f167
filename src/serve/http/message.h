// Requests and answers of HTTP as values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace heed::serve {

struct HttpHeader {
  std::string name, value;
};

struct HttpRequest {
  std::string method, target;  // the target as it was sent: "/translate?q=a"
  std::vector<HttpHeader> headers;
  std::string body;
  std::string address;  // of the client

  std::string_view path() const { return std::string_view(target).substr(0, target.find('?')); }
  // What follows the question mark.
  std::string_view query() const {
    const size_t mark = target.find('?');
    return mark == std::string::npos ? std::string_view() : std::string_view(target).substr(mark + 1);
  }
  // The value of the first header of this name, whatever its case; empty where there is none.
  std::string_view header(std::string_view name) const;
  // Whether the body is said to be of this type, "application/json": whatever its case and what parameters follow.
  bool has_type(std::string_view type) const;
};

struct HttpAnswer {
  unsigned status = 200;
  std::string type = "application/json";
  std::string body = {};
  std::vector<HttpHeader> headers = {};
};

// "Not Found" for 404.
std::string_view reason_of(unsigned status);

// "Fri, 27 Nov 2026 05:10:50 GMT", made once a second in each thread.
const std::string& date_of_now();

bool equal_ignoring_case(std::string_view a, std::string_view b);

}  // namespace heed::serve
