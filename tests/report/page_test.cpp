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

// The figures, "name: value, detail" each, of a model whose best validation is not the one with the lowest loss.
std::string figures_with(Head head, std::vector<NamedScore> best) {
  ReportContent shown;
  shown.model.architecture = Architecture::encoder;
  shown.model.head = head;
  shown.metrics.emplace();
  shown.metrics->train_texts = 400;
  shown.metrics->validation = {{.update = 10, .loss = 0.5},
                               {.update = 20, .loss = 0.75, .scores = std::move(best), .best = true}};
  return report_page(shown);
}

std::string figure_of(const std::string& name, const std::string& value, const std::string& detail) {
  return "<dt>" + name + "</dt><dd>" + value + "<small>" + detail + "</small></dd>";
}

TEST(ReportPage, SaysTheParametersOnce) {
  ReportContent shown = content();
  EXPECT_THAT(report_page(shown), HasSubstr(figure_of("Parameters", "12,345", "")));
  shown.parameters = 54'321'000;
  EXPECT_THAT(report_page(shown), HasSubstr(figure_of("Parameters", "54.3 M", "54,321,000")));
}

TEST(ReportPage, TellsWhereTheAxesOfMetricsEnd) {
  ReportContent shown;
  shown.metrics.emplace();
  EXPECT_THAT(report_data(shown), HasSubstr(R"({"highest":100.0,"key":"bleu","name":"BLEU"})"));
  shown.model.architecture = Architecture::causal_lm;
  EXPECT_THAT(report_data(shown), HasSubstr(R"({"highest":null,"key":"bits_per_byte","name":"Bits per byte"})"));
  shown.model.architecture = Architecture::encoder;
  EXPECT_THAT(report_data(shown), HasSubstr(R"({"highest":1.0,"key":"accuracy","name":"Accuracy"})"));
}

TEST(ReportPage, OfAClassifierShowsItsOwnMetrics) {
  for (const auto& [head, targets] : {std::pair(Head::one_label, "text"), {Head::token_labels, "word"}}) {
    const std::string page = figures_with(head, {{"accuracy", 0.8125}, {"f1_macro", 0.5}, {"matthews", -0.25}});
    EXPECT_THAT(page, HasSubstr(figure_of("Best validation: Accuracy", "0.812",
                                          "share that is predicted correctly, at update 20")));
    EXPECT_THAT(page, HasSubstr(figure_of("Macro F1", "0.500", "at most 1, at that validation")));
    EXPECT_THAT(page, HasSubstr(figure_of("Matthews correlation", "-0.250", "-1 to 1, at that validation")));
    EXPECT_THAT(
        page, HasSubstr(figure_of("Validation loss", "0.750", std::string("nats per ") + targets + ", at update 20")));
    EXPECT_THAT(page, HasSubstr("Loss, nats per " + std::string(targets) +
                                "</th><th scope=\"col\">Accuracy</th><th scope=\"col\">Macro F1</th>"
                                "<th scope=\"col\">Matthews correlation</th><th scope=\"col\">After</th>"));
    EXPECT_THAT(page, HasSubstr("<td>20</td><td>0.7500</td><td>0.8125</td><td>0.5000</td><td>-0.2500</td>"));
    EXPECT_THAT(page, HasSubstr("data-chart=\"matthews\""));
    EXPECT_THAT(page, HasSubstr(head == Head::one_label ? " of 400 texts" : " of 400 sentences"));
    for (const char* const absent :
         {"BLEU", "erplexity", "nats per token", "Best validation loss", "tokens per second"}) {
      EXPECT_THAT(page.substr(0, page.find("<script type=")), Not(HasSubstr(absent))) << absent;
    }
  }
}

TEST(ReportPage, OfSeveralLabelsAndOfNumbersHasNoPerplexity) {
  std::string page = figures_with(Head::several_labels, {{"f1_micro", 0.9}, {"f1_macro", 0.8}, {"exact", 0.7}});
  EXPECT_THAT(page, HasSubstr(figure_of("Best validation: Micro F1", "0.900", "at most 1, at update 20")));
  EXPECT_THAT(page, HasSubstr(figure_of("Exact match", "0.700",
                                        "share of texts with exactly the right labels, at that validation")));
  EXPECT_THAT(page,
              HasSubstr(figure_of("Validation loss", "0.750", "nats per text, summed over the labels, at update 20")));
  EXPECT_THAT(page.substr(0, page.find("<script type=")), Not(HasSubstr("erplexity")));
  page = figures_with(Head::number, {{"spearman", 0.6}, {"pearson", 0.5}});
  EXPECT_THAT(page, HasSubstr(figure_of("Best validation: Spearman correlation", "0.600", "-1 to 1, at update 20")));
  EXPECT_THAT(page, HasSubstr(figure_of("Validation loss", "0.750", "half the squared error, at update 20")));
  EXPECT_THAT(page.substr(0, page.find("<script type=")), Not(HasSubstr("nats")));
}

TEST(ReportPage, OfAMaskedLanguageModelShowsItsAccuracyAtTheLowestLoss) {
  const std::string page = figures_with(Head::tokens, {{"accuracy", 0.25}});
  EXPECT_THAT(page, HasSubstr(figure_of("Best validation loss", "0.500",
                                        "nats per chosen token, perplexity 1.65, at update 10")));
  EXPECT_THAT(page, HasSubstr("<td>20</td><td>0.7500</td><td>2.117</td><td>0.2500</td>"));
}

TEST(ReportPage, ShowsTheLowestLossOfATranslatorThatWasChosenByBleu) {
  ReportContent shown = content();
  shown.metrics.emplace();
  shown.metrics->validation = {{.update = 10, .loss = 0.5, .scores = {{"bleu", 20.0}}},
                               {.update = 20, .loss = 0.75, .scores = {{"bleu", 25.0}}, .best = true}};
  const std::string page = report_page(shown);
  EXPECT_THAT(page, HasSubstr(figure_of("Highest validation BLEU", "25.0", "at update 20")));
  EXPECT_THAT(page,
              HasSubstr(figure_of("Best validation loss", "0.500", "nats per token, perplexity 1.65, at update 10")));
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
  broken.metrics->validation = {{.update = 1, .loss = nan, .scores = {{"bleu", nan}}, .seconds = nan}};
  EXPECT_THAT(report_data(broken), HasSubstr("\"nll\":[null]"));
  EXPECT_THAT(report_page(broken), HasSubstr("<td>–</td>"));
}

TEST(ReportPage, ValuesThatDifferFromTheDefaultsAreMarked) {
  const std::string page = report_page(content());
  EXPECT_THAT(page, HasSubstr("<tr class=\"chosen\"><th scope=\"row\">model</th><td>16</td></tr>"));
  EXPECT_THAT(page, HasSubstr("<tr><th scope=\"row\">heads</th><td>8</td></tr>"));
}

TEST(ReportPage, TheSameContentGivesTheSameBytes) { EXPECT_EQ(report_page(content()), report_page(content())); }

}  // namespace
}  // namespace heed
