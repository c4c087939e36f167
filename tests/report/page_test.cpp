#include "report/page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace heed {
namespace {

using testing::HasSubstr;
using testing::Not;

ReportContent content() {
  ReportContent content;
  content.name = "a<b>&\"c\"";
  content.model.model = 16;
  content.model.heads = 2;
  content.parameters = 12345;
  content.tables = {{"model", {{"model", "16", ConfigValue::Origin::chosen}, {"heads", "8"}}}};
  TranslatedSample sample;
  sample.line = {"</script><script>alert(1)</script>", "<i>reference</i>"};
  sample.translation = "<!-- & ' -->";
  sample.source_tokens = {"</script>", "</s>"};
  sample.target_tokens = {"<!--", "</s>"};
  sample.fed_tokens = {"<s>", "<!--"};
  sample.log_probabilities = {std::log(0.25), 0.0};
  sample.maps.cross = std::string("\x00\x7F\xFF\x01", 4);
  content.samples = {sample};
  return content;
}

TEST(ReportPage, UntrustedTextCannotBecomeMarkup) {
  const std::string page = report_page(content());
  EXPECT_THAT(page, HasSubstr("<h1>a&lt;b&gt;&amp;&quot;c&quot;</h1>"));
  EXPECT_THAT(page, Not(HasSubstr("<script>alert")));
  EXPECT_THAT(page, Not(HasSubstr("<i>reference")));
  EXPECT_THAT(page, Not(HasSubstr("<!--")));
  EXPECT_THAT(page, HasSubstr("&lt;!-- &amp; &#39; --&gt;"));
  // The page's own two, and no end tag from the text.
  size_t ends = 0;
  for (size_t at = page.find("</script"); at != std::string::npos; at = page.find("</script", at + 1)) {
    ++ends;
  }
  EXPECT_EQ(ends, 2U);
}

TEST(ReportPage, DataContainsNoMarkupCharacters) {
  const std::string data = report_data(content());
  EXPECT_EQ(data.find_first_of("<>&"), std::string::npos);
  EXPECT_THAT(data, HasSubstr("\\u003c/script\\u003e"));
}

TEST(ReportPage, InvalidUtf8IsReplaced) {
  ReportContent broken = content();
  broken.name = "\xFF";
  broken.samples[0].line.source = "\xC3(";
  EXPECT_THAT(report_page(broken), HasSubstr("<h1>\xEF\xBF\xBD</h1>"));
}

TEST(ReportPage, ShowsHowLabelsWereConfusedAtTheBestValidation) {
  ReportContent labeled;
  labeled.model.architecture = Architecture::encoder;
  labeled.metrics.emplace();
  labeled.metrics->validation = {
      {.update = 10, .best = true, .labels = {{"a<b", 4, 3, 3, {3, 1}}, {"c", 1, 2, 1, {0, 1}}}},
      {.update = 20, .labels = {{"a<b", 4, 5, 4, {4, 0}}, {"c", 1, 0, 0, {1, 0}}}},
  };
  std::string page = report_page(labeled);
  EXPECT_THAT(page, HasSubstr("The validation text at update 10, counted"));
  EXPECT_THAT(page, HasSubstr("<th scope=\"row\" dir=\"auto\">a&lt;b</th><td style=\"--share: 0.750\">3</td>"
                              "<td style=\"--share: 0.250\">1</td><td>4</td><td>3</td>"
                              "<td>1.000</td><td>0.750</td><td>0.857</td></tr>"));
  EXPECT_THAT(page, HasSubstr("<td>1</td><td>2</td><td>0.500</td><td>1.000</td><td>0.667</td></tr>"));
  EXPECT_THAT(page, Not(HasSubstr("Samples and attention")));
  labeled.metrics->validation = {{.update = 10, .loss = 1.0, .labels = {{"x", 4, 3, 3, {}}}}};
  page = report_page(labeled);
  EXPECT_THAT(page, HasSubstr("The validation text at update 10.</p>"));
  EXPECT_THAT(page, HasSubstr("x</th><td>4</td><td>3</td><td>1.000</td>"));
}

// What stands between each pair of `before` and `after`, in order.
std::vector<std::string> all_between(const std::string& text, std::string_view before, std::string_view after) {
  std::vector<std::string> found;
  for (size_t at = text.find(before); at != std::string::npos; at = text.find(before, at)) {
    at += before.size();
    found.push_back(text.substr(at, text.find(after, at) - at));
  }
  return found;
}

TEST(ReportPage, EachSectionHasALink) {
  for (const Architecture architecture : {Architecture::seq2seq, Architecture::causal_lm, Architecture::encoder}) {
    for (const bool labeled : {false, true}) {
      ReportContent shown;
      shown.model.architecture = architecture;
      if (labeled && architecture == Architecture::encoder) {
        shown.metrics.emplace();
        shown.metrics->validation = {{.update = 10, .loss = 1.0, .labels = {{"x", 4, 3, 3, {}}}}};
      }
      const std::string page = report_page(shown);
      EXPECT_EQ(all_between(page, "<a href=\"#", "\""), all_between(page, "<section id=\"", "\""));
    }
  }
}

TEST(ReportPage, SaysWhatIsMissing) {
  ReportContent empty;
  empty.notes = {"a <note>"};
  const std::string page = report_page(empty);
  EXPECT_THAT(page, HasSubstr("No metrics yet."));
  EXPECT_THAT(page, HasSubstr("No samples."));
  EXPECT_THAT(page, HasSubstr("<li>a &lt;note&gt;</li>"));
}

TEST(ReportPage, ValuesThatAreNotFiniteAreGapsNotErrors) {
  ReportContent broken = content();
  broken.metrics.emplace();
  const double nan = std::nan("");
  broken.metrics->train = {{1, nan, nan, INFINITY, nan, nan, nan, nan}};
  broken.metrics->validation = {{.update = 1, .loss = nan, .bleu = nan, .seconds = nan}};
  EXPECT_THAT(report_data(broken), HasSubstr("\"nll\":[null]"));
  EXPECT_THAT(report_page(broken), HasSubstr("<td>–</td>"));
}

TEST(ReportPage, ValuesThatDifferFromTheDefaultsAreMarked) {
  const std::string page = report_page(content());
  EXPECT_THAT(page, HasSubstr("<tr class=\"chosen\"><th scope=\"row\">model</th><td>16</td></tr>"));
  EXPECT_THAT(page, HasSubstr("<tr><th scope=\"row\">heads</th><td>8</td></tr>"));
}

TEST(ReportPage, TheSameContentGivesTheSameBytes) { EXPECT_EQ(report_page(content()), report_page(content())); }

// RFC 4648, section 10.
TEST(Base64, IsAsTheStandardHasIt) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foob"), "Zm9vYg==");
  EXPECT_EQ(to_base64("fooba"), "Zm9vYmE=");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64("\xFB\xFF"), "+/8=");
}

}  // namespace
}  // namespace heed
