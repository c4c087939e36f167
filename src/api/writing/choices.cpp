#include "heed/choices.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/errors.h"
#include "base/system/clock.h"
#include "data/corpus/choice_questions.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

// The examples, answered.
std::string shots_of(const ChoiceOptions& options) {
  require<ConfigError>(options.shots >= 0, "choose", "{} examples before each prompt, expected at least 0",
                       options.shots);
  require<ConfigError>((options.shots == 0) == options.examples.empty(), "choose",
                       "examples need both their file and their number");
  std::string text;
  if (options.shots > 0) {
    const std::vector<ChoiceQuestion> questions = read_choice_questions(options.examples);
    require<ConfigError>(std::cmp_less_equal(options.shots, questions.size()), options.examples,
                         "has {} questions, but {} are to go before each prompt", questions.size(), options.shots);
    for (const ChoiceQuestion& question : std::span(questions).first(static_cast<size_t>(options.shots))) {
      text += question.item.prompt + question.item.texts[question.answer] + "\n\n";
    }
  }
  return text;
}

int64_t index_of_largest(const std::vector<double>& values) {
  return std::ranges::max_element(values) - values.begin();
}

Choice choice_of(const ChoiceQuestion& question, std::vector<TextScore> scores) {
  std::vector<double> plain, by_length;
  for (size_t i = 0; i < scores.size(); ++i) {
    require<FormatError>(scores[i].tokens > 0, question.where, "choice {} adds no token to the prompt", i);
    plain.push_back(scores[i].log_probability);
    by_length.push_back(plain.back() / static_cast<double>(to_code_points(question.item.texts[i]).size()));
  }
  return {.scores = std::move(scores),
          .likeliest = index_of_largest(plain),
          .likeliest_by_length = index_of_largest(by_length),
          .answer = static_cast<int64_t>(question.answer)};
}

double share_right(const std::vector<Choice>& choices, int64_t Choice::*chosen) {
  const auto right = std::ranges::count_if(choices, [&](const Choice& one) { return one.*chosen == one.answer; });
  return static_cast<double>(right) / static_cast<double>(choices.size());
}

}  // namespace

double ChoiceReport::accuracy() const { return share_right(choices, &Choice::likeliest); }

double ChoiceReport::accuracy_by_length() const { return share_right(choices, &Choice::likeliest_by_length); }

double ChoiceReport::standard_error(double accuracy) const {
  const double others = static_cast<double>(choices.size()) - 1.0;
  return std::sqrt(accuracy * (1.0 - accuracy) / others);
}

ChoiceReport choose(const Generator& generator, const ChoiceOptions& options) {
  const std::string shots = shots_of(options);
  const std::vector<ChoiceQuestion> questions = read_choice_questions(options.file);
  std::vector<Continuations> items;
  items.reserve(questions.size());
  for (const ChoiceQuestion& question : questions) {
    items.push_back({shots + question.item.prompt, question.item.texts});
  }
  ChoiceReport report;
  const double start = seconds_now();
  auto scores = generator.score_continuations(items, {.too_long = options.too_long},
                                              [&](size_t i) { return questions[i].where; });
  report.seconds = seconds_now() - start;
  for (size_t i = 0; i < questions.size(); ++i) {
    report.choices.push_back(choice_of(questions[i], std::move(scores[i])));
  }
  return report;
}

}  // namespace heed
