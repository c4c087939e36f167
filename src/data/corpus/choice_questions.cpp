#include "data/corpus/choice_questions.h"

#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "base/text/plural.h"
#include "data/lines/line_reader.h"
#include "text/chat/template/values/json.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr size_t kMaxQuestionBytes = size_t{64} << 20;

const chat::Value& member(const chat::Dict& question, std::string_view key, const std::string& where) {
  const chat::Value* const found = question.find(key);
  require<FormatError>(found != nullptr, where, "no \"{}\"", key);
  return *found;
}

std::vector<std::string> choices_of(const chat::Value& value, const std::string& where) {
  const chat::List* const list = value.list();
  require<FormatError>(list != nullptr && !list->items.empty(), where, "\"choices\" is not a list of one text or more");
  std::vector<std::string> choices;
  choices.reserve(list->items.size());
  for (const chat::Value& choice : list->items) {
    require<FormatError>(choice.text() != nullptr && !choice.text()->empty(), where,
                         "choice {} is not a text of one character or more", choices.size());
    choices.push_back(*choice.text());
  }
  return choices;
}

ChoiceQuestion parse_question(const std::string& line, const std::string& where) {
  const chat::Value value = chat::parse_json(line, where);
  const chat::Dict* const question = value.dict();
  require<FormatError>(question != nullptr, where, "expected an object with \"prompt\", \"choices\" and \"answer\"");
  for (const auto& [key, unused] : question->items) {
    const std::string& name = *key.text();
    require<FormatError>(name == "prompt" || name == "choices" || name == "answer", where,
                         "the key \"{}\" is not known: expected prompt, choices and answer", shown(name));
  }
  const std::string* const prompt = member(*question, "prompt", where).text();
  require<FormatError>(prompt != nullptr, where, "\"prompt\" is not a text");
  std::vector<std::string> choices = choices_of(member(*question, "choices", where), where);
  const chat::Value& answer = member(*question, "answer", where);
  const auto* const number = answer.as<int64_t>();
  require<FormatError>(number != nullptr, where, "\"answer\" is not the number of the right choice, from 0");
  require<FormatError>(*number >= 0 && *number < std::ssize(choices), where,
                       "\"answer\" is {}, but there {} {} choice{}, counted from 0", *number,
                       choices.size() == 1 ? "is" : "are", choices.size(), plural(std::ssize(choices)));
  return {.item = {*prompt, std::move(choices)}, .answer = static_cast<size_t>(*number), .where = where};
}

}  // namespace

std::vector<ChoiceQuestion> read_choice_questions(const std::filesystem::path& file) {
  std::vector<ChoiceQuestion> questions;
  LineReader reader(file, {.max_bytes = kMaxQuestionBytes});
  for (std::string line; reader.next(line);) {
    if (!is_blank(line)) {
      questions.push_back(parse_question(line, reader.where()));
    }
  }
  require<FormatError>(!questions.empty(), reader.name(), "holds no question");
  return questions;
}

}  // namespace heed
