// Writing HTML: escaped text, and numbers in readable form.
#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>
#include <utility>

namespace heed {

std::string escape_html(std::string_view text);

// A page that is written from start to end. Nothing is escaped here.
class Html {
 public:
  void add(std::string_view text) { text_ += text; }
  template <class First, class... Args>
  void add(fmt::format_string<First, Args...> format, First&& first, Args&&... args) {
    fmt::format_to(std::back_inserter(text_), format, std::forward<First>(first), std::forward<Args>(args)...);
  }

  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

std::string grouped(int64_t count);                         // 12,345
std::string counted(int64_t count, std::string_view what);  // "1 sentence", "2 sentences"
std::string short_count(int64_t count);                     // 12.3 M
std::string duration(double seconds);                       // "2 h 05 min"
std::string number_or_dash(double value, int digits);       // a dash if it is not finite

}  // namespace heed
