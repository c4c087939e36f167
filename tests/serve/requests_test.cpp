// The parts that requests go through.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/http/form.h"
#include "serve/json/fields.h"
#include "serve/libretranslate/piece_spans.h"
#include "serve/operation/metrics.h"
#include "serve/operation/quotas.h"

namespace heed::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

TEST(Forms, FieldsOfAddressesAndBodies) {
  EXPECT_THAT(parse_form("a=b+c&d=%C3%A9%2&&e"), ElementsAre(Pair("a", "b c"), Pair("d", "é%2"), Pair("e", "")));
  const HttpRequest request{
      .method = "POST",
      .target = "/x?q=1",
      .headers = {{"content-type", "multipart/form-data; boundary=\"b\""}},
      .body =
          "--b\r\nContent-Disposition: form-data; name=\"q\"\r\n\r\na --b is not\r\n--c the end\r\n"
          "--b\r\nContent-Disposition: form-data; name=\"f\"; filename=\"x\"\r\n\r\nfile\r\n--b--\r\n",
      .address = {}};
  EXPECT_THAT(form_fields(request), ElementsAre(Pair("q", "1"), Pair("q", "a --b is not\r\n--c the end")));
}

TEST(Forms, BodiesThatAreCutOffAnywhereAreReadAsFarAsTheyGo) {
  const std::string body = "--b\r\nContent-Disposition: form-data; name=q\r\n\r\nvalue\r\n--b--\r\n";
  for (size_t size = 0; size <= body.size(); ++size) {
    const HttpRequest request{.method = "POST",
                              .target = "/x",
                              .headers = {{"Content-Type", "multipart/form-data; boundary=b"}},
                              .body = body.substr(0, size),
                              .address = {}};
    EXPECT_LE(form_fields(request).size(), 1);
  }
}

TEST(Forms, MoreFieldsThanAnybodyNeedsAreRefused) {
  std::string text;
  for (int i = 0; i < 65536; ++i) {
    text += "a&";
  }
  EXPECT_EQ(parse_form(text).size(), 65536);
  EXPECT_THROW(parse_form(text + "a"), RequestError);
}

std::string refusal(const std::string& text, void (*take)(Fields& fields)) {
  try {
    const Json json = parse_json(text);
    Fields fields(json);
    take(fields);
    fields.finish();
  } catch (const RequestError& error) {
    return error.what();
  }
  return "";
}

TEST(RequestFields, WhatIsNotExpectedIsRefusedByName) {
  const auto integer = [](Fields& fields) { fields.integer("n", 1, 10); };
  EXPECT_EQ(refusal(R"({"n": 10})", integer), "");
  EXPECT_EQ(refusal(R"({"n": 3.0})", integer), "");
  EXPECT_EQ(refusal(R"({"n": null})", integer), "");
  for (const char* const value : {"0", "11", "1.5", "true", "\"3\"", "[1]", "1e300", "18446744073709551615", "-1"}) {
    EXPECT_THAT(refusal(fmt::format(R"({{"n": {}}})", value), integer), HasSubstr("expected an integer from 1 to 10"));
  }
  EXPECT_EQ(refusal(R"({"n": 3, "m": 4})", integer), "m: is not known");
  const auto number = [](Fields& fields) { fields.number("x", 0.0, 1.0); };
  EXPECT_EQ(refusal(R"({"x": 1})", number), "");
  EXPECT_THAT(refusal(R"({"x": 1.01})", number), HasSubstr("expected a number from 0 to 1"));
  const auto texts = [](Fields& fields) { fields.texts("t", 2); };
  EXPECT_EQ(refusal(R"({"t": ["a", "b"]})", texts), "");
  EXPECT_THAT(refusal(R"({"t": ["a", 3]})", texts), HasSubstr("t[1]: is 3, expected a text"));
  EXPECT_THAT(refusal(R"({"t": []})", texts), HasSubstr("a list of 0, expected a text or a list of 1 to 2 texts"));
  EXPECT_THAT(refusal("[]", texts), HasSubstr("expected an object"));
  EXPECT_THAT(refusal("{", texts), HasSubstr("the body is not JSON"));
}

TEST(Quotas, RequestsAndTokensByTime) {
  const KeySettings key{.name = "a", .secret = "s", .requests_per_minute = 2, .tokens_per_day = 100};
  Quotas quotas;
  const Quotas::Clock::time_point now = Quotas::Clock::now();
  EXPECT_FALSE(quotas.begin(key, now));
  EXPECT_FALSE(quotas.begin(key, now + std::chrono::seconds(1)));
  EXPECT_EQ(quotas.begin(key, now + std::chrono::seconds(20)), std::chrono::seconds(40));
  EXPECT_FALSE(quotas.begin(key, now + std::chrono::seconds(60)));
  quotas.count_tokens(key, 100);
  EXPECT_EQ(quotas.begin(key, now + std::chrono::seconds(61)), std::chrono::seconds(86400 - 61));
}

TEST(Metrics, HistogramsAndLabels) {
  Metrics metrics;
  metrics.count_request("heed", "a\"b\\", 200);
  metrics.observe(Latency::whole, "m", 0.03);
  metrics.observe(Latency::whole, "m", 100.0);
  const std::string text =
      metrics.text({.gauges = {{"heed_x", "A value", "", 2.0}},
                    .distributions = {{"heed_y", "Sizes", {1.0, 2.0}, {{"m", {{3, 0, 4}, 50.0}}}}}});
  for (const char* const line : {"heed_requests_total{interface=\"heed\",model=\"a\\\"b\\\\\",status=\"200\"} 1\n",
                                 "heed_request_seconds_bucket{model=\"m\",le=\"0.025\"} 0\n",
                                 "heed_request_seconds_bucket{model=\"m\",le=\"0.05\"} 1\n",
                                 "heed_request_seconds_bucket{model=\"m\",le=\"60\"} 1\n",
                                 "heed_request_seconds_bucket{model=\"m\",le=\"+Inf\"} 2\n",
                                 "heed_request_seconds_count{model=\"m\"} 2\n", "# TYPE heed_x gauge\nheed_x 2\n",
                                 "# TYPE heed_y histogram\nheed_y_bucket{model=\"m\",le=\"1\"} 3\n"
                                 "heed_y_bucket{model=\"m\",le=\"2\"} 3\nheed_y_bucket{model=\"m\",le=\"+Inf\"} 7\n"
                                 "heed_y_sum{model=\"m\"} 50\nheed_y_count{model=\"m\"} 7\n"}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(PieceSpans, TokensStandWhereTheirTextDoes) {
  const std::string text = "ein Hündchen, ein";
  const std::vector<std::string> pieces{"▁ein", "▁Hünd", "chen", ",", "<unk>", "▁ein", "</s>"};
  std::vector<std::string_view> found;
  for (const TextSpan& span : piece_spans(pieces, text)) {
    found.push_back(span.in(text));
  }
  EXPECT_THAT(found, ElementsAre("ein", "Hünd", "chen", ",", "", "ein", ""));
}

}  // namespace
}  // namespace heed::serve
