#include "report/quantization_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace heed {
namespace {

using testing::HasSubstr;
using testing::Not;

QuantizationContent quantized() {
  QuantizationContent content;
  content.name = "<small>";
  content.type = WeightType::int8_static;
  QuantizedMatrix first{
      .name = "encoder.layers.0.attention.output.weight", .layer = "encoder.layers.0", .type = WeightType::int8_static};
  first.signal_to_noise = 45.0;
  first.product_signal_to_noise = 30.0;
  first.input_largest_over_rms = 27.3;
  first.range = "entropy";
  first.smoothed = Smoothed::yes;
  QuantizedMatrix second{
      .name = "encoder.layers.0.feed_forward.inner.weight", .layer = "encoder.layers.0", .type = WeightType::f32};
  second.signal_to_noise = std::numeric_limits<double>::infinity();
  second.largest_over_rms = 5.5;
  content.weights = {.matrices = {first, second}, .bytes_before = 4'000'000, .bytes_after = 1'000'000};
  content.weights.signal_to_noise = 44.0;
  content.weights.changes = {{"BLEU", "a&b.de", 42.0, 41.5}};
  return content;
}

TEST(QuantizationPage, ShowsWhatChangedAndEscapesIt) {
  const std::string page = quantization_page(quantized());
  EXPECT_THAT(page, HasSubstr("<h1>&lt;small&gt;</h1>"));
  EXPECT_THAT(page, HasSubstr("of 4.00 MB, 25.0%"));
  EXPECT_THAT(page, HasSubstr("<dd>41.500<small>before 42.000, change -0.500, on a&amp;b.de</small></dd>"));
  EXPECT_THAT(page, Not(HasSubstr("<script")));
}

// The lowest of the layer's matrices: a bar of 45 of 60 decibels, and one of 30.
TEST(QuantizationPage, DrawsALayersLowestRatios) {
  EXPECT_THAT(quantization_page(quantized()),
              HasSubstr("<th scope=\"row\">encoder.layers.0</th><td class=\"bar\" style=\"--share: 0.750\">45.0</td>"
                        "<td class=\"bar\" style=\"--share: 0.500\">30.0</td>"));
}

TEST(QuantizationPage, ListsOutliersFromTheLargestOn) {
  const std::string page = quantization_page(quantized());
  const size_t largest = page.find("inputs of encoder.layers.0.attention"),
               next = page.find("weights of encoder.layers.0.feed");
  EXPECT_LT(largest, next);
  EXPECT_NE(next, std::string::npos);
}

TEST(QuantizationPage, SaysWhatWasNotMeasuredOrIsExact) {
  const std::string page = quantization_page(quantized());
  EXPECT_THAT(page, HasSubstr("<td>f32</td><td>0</td><td class=\"bar\" style=\"--share: 1.000\">exact</td><td>–</td>"));
  EXPECT_THAT(page, HasSubstr("range by entropy, smoothed"));
}

}  // namespace
}  // namespace heed
