// The border between C and C++: no exception passes it, and what comes over it is looked at first.
#pragma once

#include <exception>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "heed.h"

namespace heed::c {

// The caller broke the contract of heed.h: a NULL, an index that is too large.
class ArgumentError : public std::exception {
 public:
  explicit ArgumentError(std::string message) : message_(std::move(message)) {}
  const char* what() const noexcept override { return message_.c_str(); }

 private:
  std::string message_;
};

// The exception that is being handled, as an error for C. Never NULL.
heed_error* current_error() noexcept;

// Runs the body of a function of heed.h.
template <class Body>
heed_error* guarded(Body&& body) noexcept {
  try {
    std::forward<Body>(body)();
    return nullptr;
  } catch (...) {
    return current_error();
  }
}

// ArgumentError for NULL.
void require_given(const void* pointer, const char* name);

template <class Value>
Value& given(Value* pointer, const char* name) {
  require_given(pointer, name);
  return *pointer;
}

// ArgumentError unless index < size, naming both: "sample 3 of 2".
void require_index(size_t index, size_t size, const char* name);

template <class Values>
const auto& at(const Values& values, size_t index, const char* name) {
  require_index(index, values.size(), name);
  return values[index];
}

// Texts that come in. ArgumentError for NULL.
std::string_view text_of(const char* text, size_t length, const char* name);
std::vector<std::string> texts_of(const char* const* texts, const size_t* lengths, size_t count, const char* name);

// Texts that go out: into a place of the caller's, who may not want the length. ArgumentError where `text` is NULL.
void put_text(const std::string& from, const char** text, size_t* length);
void put_string(std::string_view from, char** text, size_t* length);

template <class From, class Place>
void put(const From& from, Place* place, const char* name) {
  given(place, name) = static_cast<Place>(from);
}

}  // namespace heed::c
