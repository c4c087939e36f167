#include "base/text/base64.h"

#include <gtest/gtest.h>

#include <utility>

#include "base/errors.h"

namespace heed {
namespace {

// RFC 4648, section 10.
TEST(Base64, IsAsTheStandardHasIt) {
  for (const auto& [bytes, text] : {std::pair("", ""),
                                    {"f", "Zg=="},
                                    {"fo", "Zm8="},
                                    {"foo", "Zm9v"},
                                    {"foob", "Zm9vYg=="},
                                    {"fooba", "Zm9vYmE="},
                                    {"foobar", "Zm9vYmFy"},
                                    {"\xFB\xFF", "+/8="}}) {
    EXPECT_EQ(encode_base64(bytes), text);
    EXPECT_EQ(decode_base64(text, "here"), bytes);
  }
}

TEST(Base64, WhatIsNotBase64IsRefused) {
  for (const char* const text : {"Zg", "Zg=", "Z", "Zm9v=", "Zm9*", "Zm9v\n"}) {
    EXPECT_THROW(decode_base64(text, "here"), FormatError) << text;
  }
}

}  // namespace
}  // namespace heed
