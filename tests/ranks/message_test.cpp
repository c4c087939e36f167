#include "heed/types/message.h"

#include <gtest/gtest.h>

namespace heed {
namespace {

struct Inner {
  std::string text;
  int32_t number = 0;
  static constexpr auto members() { return std::tuple(&Inner::text, &Inner::number); }
  bool operator==(const Inner&) const = default;
};
struct Outer {
  std::vector<Inner> list;
  int64_t number = 0;
  static constexpr auto members() { return std::tuple(&Outer::list, &Outer::number); }
  bool operator==(const Outer&) const = default;
};

TEST(Message, WhatIsSentComesOutAgain) {
  const Outer value{{{"", -1}, {std::string("a\0b\n", 4), 7}}, int64_t{1} << 40};
  EXPECT_EQ(value_of_message<Outer>(message_of(value)), value);
  EXPECT_EQ(value_of_message<std::vector<std::string>>(message_of(std::vector<std::string>{})),
            std::vector<std::string>{});
}

TEST(Message, OneThatIsTooShortOrTooLongIsRefused) {
  const std::string whole = message_of(Outer{{{"text", 3}}, 5});
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_THROW(value_of_message<Outer>(whole.substr(0, size)), InternalError) << size;
  }
  EXPECT_THROW(value_of_message<Outer>(whole + " "), InternalError);
}

}  // namespace
}  // namespace heed
