#include "train/corpus/preferences.h"

#include <algorithm>
#include <utility>

#include "base/errors.h"
#include "base/text/excerpt.h"
#include "base/text/plural.h"
#include "data/lines/line_reader.h"
#include "ops/roles.h"
#include "text/chat/template/values/json.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

constexpr size_t kMaxPreferenceBytes = size_t{64} << 20;

// A text becomes a message of this role; messages stay as they are.
std::vector<chat::Value> messages_of(chat::Run& run, const chat::Value& value, std::string_view role,
                                     const std::string& where, std::string_view key) {
  if (const std::string* const text = value.text()) {
    require<FormatError>(!text->empty(), where, "\"{}\" is empty", key);
    return {chat::make_dict(run, {{chat::constant("role"), chat::constant(role)}, {chat::constant("content"), value}})};
  }
  const chat::List* const list = value.list();
  require<FormatError>(list != nullptr && !list->items.empty(), where,
                       "\"{}\" is neither a text nor a list of messages", key);
  return list->items;
}

struct PreferenceLine {
  const chat::Value *prompt = nullptr, *chosen = nullptr, *rejected = nullptr;
};

PreferenceLine preference_line_of(const chat::Value& value, const std::string& where) {
  const chat::Dict* const object = value.dict();
  require<FormatError>(object != nullptr, where, "expected an object with \"prompt\", \"chosen\" and \"rejected\"");
  PreferenceLine line;
  for (const auto& [key, part] : object->items) {
    const std::string& name = *key.text();
    const chat::Value** const place = name == "prompt"     ? &line.prompt
                                      : name == "chosen"   ? &line.chosen
                                      : name == "rejected" ? &line.rejected
                                                           : nullptr;
    require<FormatError>(place != nullptr, where, "the key \"{}\" is not known: expected prompt, chosen and rejected",
                         shown(name));
    *place = &part;
  }
  for (const auto& [name, part] :
       {std::pair{"prompt", line.prompt}, {"chosen", line.chosen}, {"rejected", line.rejected}}) {
    require<FormatError>(part != nullptr, where, "no \"{}\"", name);
  }
  return line;
}

bool is_of_assistant(const chat::Value& message) { return *message.dict()->find("role")->text() == "assistant"; }

Conversation with_answer(const PreferenceLine& line, const chat::Value& answer, std::string_view key,
                         const ChatReading& reading, const std::string& where) {
  chat::Run run("messages");
  std::vector<chat::Value> messages = messages_of(run, *line.prompt, "user", where, "prompt");
  const size_t before = messages.size();
  for (const chat::Value& message : messages_of(run, answer, "assistant", where, key)) {
    messages.push_back(message);
  }
  // Written and read again, so that messages of a file are checked as those of conversations are.
  const chat::Value value =
      chat::make_dict(run, {{chat::constant("messages"), chat::make_list(run, std::move(messages))}});
  const Chat chat = parse_chat(chat::write_json(run, value), where);
  const std::vector<chat::Value>& read = chat.messages.list()->items;
  require<FormatError>(is_of_assistant(read[before]) && is_of_assistant(read.back()), where,
                       "\"{}\" does not begin and end with messages of the assistant's: what comes before belongs "
                       "into \"prompt\"",
                       key);
  return learned_conversation(chat, reading, where);
}

// Ignores what both expect alike from the same tokens, but for the last one of each.
void ignore_common(Conversation& one, Conversation& other) {
  const size_t most = std::min(one.ids.size(), other.ids.size()) - 1;
  for (size_t i = 0; i < most && one.ids[i] == other.ids[i] && one.expected[i] == other.expected[i]; ++i) {
    one.expected[i] = other.expected[i] = Targets::kIgnored;
  }
}

}  // namespace

std::string Preferences::text() const {
  int64_t tokens = 0;
  for (int64_t i = 0; i < size(); ++i) {
    tokens += rows(i);
  }
  std::string line = fmt::format("{} preference{}, {} token{}", size(), plural(size()), tokens, plural(tokens));
  if (chosen.dropped > 0) {
    line += fmt::format("; too long: {} dropped (first {})", chosen.dropped, chosen.first_too_long);
  }
  return line;
}

Preferences read_preferences(const std::vector<std::string>& files, const ChatReading& reading) {
  Preferences found;
  LinesOfFiles lines({files.begin(), files.end()}, {.max_bytes = kMaxPreferenceBytes});
  for (std::string line; lines.next(line);) {
    if (is_blank(line)) {
      continue;
    }
    const std::string where = lines.where();
    const chat::Value value = chat::parse_json(line, where);
    const PreferenceLine parts = preference_line_of(value, where);
    Conversation chosen = with_answer(parts, *parts.chosen, "chosen", reading, where);
    Conversation rejected = with_answer(parts, *parts.rejected, "rejected", reading, where);
    require<FormatError>(chosen.ids != rejected.ids || chosen.expected != rejected.expected, where,
                         "\"chosen\" and \"rejected\" are the same");
    const size_t longest = std::max(chosen.ids.size(), rejected.ids.size());
    if (std::cmp_greater(longest, reading.max_length)) {
      require<FormatError>(reading.too_long == TooLong::drop, where, "{} tokens, more than data.context {}", longest,
                           reading.max_length);
      found.chosen.first_too_long = found.chosen.dropped == 0 ? where : found.chosen.first_too_long;
      ++found.chosen.dropped;
      continue;
    }
    ignore_common(chosen, rejected);
    found.chosen.all.push_back(std::move(chosen));
    found.rejected.all.push_back(std::move(rejected));
  }
  require<FormatError>(found.size() > 0, fmt::format("{}", fmt::join(files, ", ")), "{}",
                       found.chosen.dropped > 0 ? fmt::format("all {} preferences are longer than data.context {}",
                                                              found.chosen.dropped, reading.max_length)
                                                : "holds no preference");
  return found;
}

}  // namespace heed
