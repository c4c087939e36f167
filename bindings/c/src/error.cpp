#include "error.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <new>

#include "heed/errors.h"
#include "heed/types/interruption.h"

struct heed_error {
  int code = HEED_ERROR_OTHER;
  std::string message;
};

namespace heed::c {
namespace {

// Where there is no memory left, not even for an error.
heed_error no_memory{HEED_ERROR_MEMORY, "no memory"};

// From the most derived types on.
int code_of(const std::exception& error) {
  const auto is = [&]<class Type>(const Type* /*type*/) { return dynamic_cast<const Type*>(&error) != nullptr; };
  struct Kind {
    bool fits;
    int code;
  };
  const Kind kinds[] = {
      {is(static_cast<ArgumentError*>(nullptr)), HEED_ERROR_ARGUMENT},
      {is(static_cast<ConfigError*>(nullptr)), HEED_ERROR_CONFIG},
      {is(static_cast<FormatError*>(nullptr)), HEED_ERROR_FORMAT},
      {is(static_cast<MemoryError*>(nullptr)), HEED_ERROR_MEMORY},
      {is(static_cast<IoError*>(nullptr)), HEED_ERROR_IO},
      {is(static_cast<std::filesystem::filesystem_error*>(nullptr)), HEED_ERROR_IO},
      {is(static_cast<NumericError*>(nullptr)), HEED_ERROR_NUMERIC},
      {is(static_cast<DeviceError*>(nullptr)), HEED_ERROR_DEVICE},
      {is(static_cast<BudgetError*>(nullptr)), HEED_ERROR_BUDGET},
      {is(static_cast<RankError*>(nullptr)), HEED_ERROR_RANK},
      {is(static_cast<ShapeError*>(nullptr)), HEED_ERROR_SHAPE},
      {is(static_cast<InternalError*>(nullptr)), HEED_ERROR_INTERNAL},
      {is(static_cast<InterruptedError*>(nullptr)), HEED_ERROR_INTERRUPTED},
  };
  const auto* const found = std::ranges::find_if(kinds, &Kind::fits);
  return found == std::end(kinds) ? HEED_ERROR_OTHER : found->code;
}

// On one line, whatever the quoted words contain. Those of the standard library get the form of heed's own.
std::string line_of(const std::exception& error) {
  const auto* refused = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  std::string line = refused == nullptr ? error.what() : refused->path1().string() + ": " + refused->code().message();
  const auto is_control = [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; };
  std::ranges::replace_if(line, is_control, ' ');
  return line;
}

}  // namespace

heed_error* current_error() noexcept {
  try {
    try {
      throw;
    } catch (const std::bad_alloc&) {
      return &no_memory;
    } catch (const std::exception& error) {
      return std::make_unique<heed_error>(heed_error{code_of(error), line_of(error)}).release();
    } catch (...) {
      return std::make_unique<heed_error>(heed_error{HEED_ERROR_OTHER, "an exception of an unknown type"}).release();
    }
  } catch (...) {
    return &no_memory;
  }
}

void require_given(const void* pointer, const char* name) {
  if (pointer == nullptr) {
    throw ArgumentError(std::string(name) + " is NULL");
  }
}

void require_index(size_t index, size_t size, const char* name) {
  if (index >= size) {
    throw ArgumentError(std::string(name) + " " + std::to_string(index) + " of " + std::to_string(size));
  }
}

std::string_view text_of(const char* text, size_t length, const char* name) {
  if (length == 0) {
    return {};
  }
  require_given(text, name);
  return length == HEED_TERMINATED ? std::string_view(text) : std::string_view(text, length);
}

std::vector<std::string> texts_of(const char* const* texts, const size_t* lengths, size_t count, const char* name) {
  if (count > 0) {
    require_given(static_cast<const void*>(texts), name);
  }
  std::vector<std::string> found;
  found.reserve(count);
  for (size_t i = 0; i < count; ++i) {
    found.emplace_back(text_of(texts[i], lengths == nullptr ? HEED_TERMINATED : lengths[i], name));
  }
  return found;
}

void put_text(const std::string& from, const char** text, size_t* length) {
  put(from.c_str(), text, "text");
  if (length != nullptr) {
    *length = from.size();
  }
}

void put_string(std::string_view from, char** text, size_t* length) {
  require_given(static_cast<const void*>(text), "text");
  auto copy = std::make_unique<char[]>(from.size() + 1);
  std::ranges::copy(from, copy.get());
  *text = copy.release();
  if (length != nullptr) {
    *length = from.size();
  }
}

}  // namespace heed::c

int heed_error_code(const heed_error* error) { return error == nullptr ? HEED_OK : error->code; }

const char* heed_error_message(const heed_error* error) { return error == nullptr ? "" : error->message.c_str(); }

void heed_error_free(heed_error* error) {
  if (error != &heed::c::no_memory) {
    delete error;
  }
}

void heed_string_free(char* text) { delete[] text; }
