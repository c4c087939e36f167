// What is wrong with a request, for its client.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "heed/errors.h"

namespace heed::serve {

class RequestError : public Error {
 public:
  RequestError(unsigned status, std::string field, const std::string& message)
      : Error(message), status_(status), field_(std::move(field)) {}

  unsigned status() const { return status_; }
  const std::string& field() const { return field_; }  // empty where no field is at fault

 private:
  unsigned status_;
  std::string field_;
};

// A 400 that names the field.
template <class... Args>
[[noreturn]] void refuse_field(const std::string& field, fmt::format_string<Args...> message, Args&&... args) {
  throw RequestError(400, field, fmt::format("{}: {}", field, fmt::format(message, std::forward<Args>(args)...)));
}

}  // namespace heed::serve
