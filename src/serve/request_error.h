// What is wrong with a request, for its client.
#pragma once

#include <fmt/format.h>

#include <chrono>
#include <string>
#include <utility>

#include "heed/errors.h"

namespace heed::serve {

// When a client may try again where nothing better is known.
inline constexpr std::chrono::seconds kRetryAfter{1};

class RequestError : public Error {
 public:
  // `retry_after`: where the same request may succeed later.
  RequestError(unsigned status, std::string field, const std::string& message,
               std::chrono::seconds retry_after = kRetryAfter)
      : Error(message), status_(status), field_(std::move(field)), retry_after_(retry_after) {}

  unsigned status() const { return status_; }
  const std::string& field() const { return field_; }  // empty where no field is at fault
  std::chrono::seconds retry_after() const { return retry_after_; }

 private:
  unsigned status_;
  std::string field_;
  std::chrono::seconds retry_after_;
};

// A 400 that names the field.
template <class... Args>
[[noreturn]] void refuse_field(const std::string& field, fmt::format_string<Args...> message, Args&&... args) {
  throw RequestError(400, field, fmt::format("{}: {}", field, fmt::format(message, std::forward<Args>(args)...)));
}

}  // namespace heed::serve
