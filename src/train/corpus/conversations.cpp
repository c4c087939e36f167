#include "train/corpus/conversations.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/random.h"
#include "base/text/excerpt.h"
#include "base/text/names.h"
#include "base/text/plural.h"
#include "data/lines/line_reader.h"
#include "ops/roles.h"
#include "text/chat/chat_tokens.h"
#include "text/unicode/unicode.h"
#include "train/corpus/stored_lists.h"

namespace heed {
namespace {

constexpr std::string_view kAssistant = "assistant";
constexpr std::array<std::string_view, 6> kRoles{"system", "developer", "user", kAssistant, "tool", "function"};
static_assert(Targets::kIgnored == -1);

constexpr size_t kMaxConversationBytes = size_t{64} << 20;

bool is_empty(const chat::Value* content) {
  if (content == nullptr || content->is<chat::None>()) {
    return true;
  }
  return content->text() != nullptr ? content->text()->empty() : content->list()->items.empty();
}

bool calls_tools(const chat::Value& message) {
  const chat::Value* const calls = message.dict()->find("tool_calls");
  return calls != nullptr && calls->list() != nullptr && !calls->list()->items.empty();
}

void require_roles(const Chat& chat, const std::string& where) {
  const std::vector<chat::Value>& messages = chat.messages.list()->items;
  bool has_answer = false;
  for (size_t i = 0; i < messages.size(); ++i) {
    const std::string& role = *messages[i].dict()->find("role")->text();
    const std::string hint = suggest_name(role, {kRoles.begin(), kRoles.end()});
    require<FormatError>(std::ranges::count(kRoles, role) > 0, where, "message {} has the role \"{}\"{}", i + 1,
                         shown(role),
                         hint.empty() ? fmt::format(", expected one of {}", fmt::join(kRoles, ", ")) : hint);
    if (role == kAssistant) {
      require<FormatError>(!is_empty(messages[i].dict()->find("content")) || calls_tools(messages[i]), where,
                           "message {} is the assistant's and says nothing", i + 1);
      has_answer = true;
    }
  }
  require<FormatError>(has_answer, where, "no message is the assistant's: nothing would be learned from it");
}

// Marks that the model's files do not spell are spelled as in the tokenizer.
ChatOptions options_of(const ChatReading& reading) {
  const Tokenizer& tokenizer = reading.tokenizer;
  const auto spelled = [&](const std::optional<std::string>& own, TokenId token) {
    return own || token == kNoToken ? own : std::optional(std::string(tokenizer.piece(token)));
  };
  return {.bos_token = spelled(reading.chat_template.bos_token, tokenizer.special().bos),
          .eos_token = spelled(reading.chat_template.eos_token, tokenizer.special().eos)};
}

ChatSpans rendered(const Chat& chat, const ChatReading& reading, const ChatOptions& options, const std::string& where) {
  try {
    return reading.chat_template.chat.assistant_spans(chat, options);
  } catch (const FormatError& error) {
    fail<FormatError>(where, "{}", error.what());
  }
}

Conversation conversation_of(const ChatTokens& tokens, size_t length, const std::string& where) {
  Conversation conversation{.ids = {}, .expected = {}, .where = where};
  size_t end = length;
  while (end > 1 && !tokens.of_assistant[end - 1]) {
    --end;
  }
  for (size_t i = 0; i + 1 < end; ++i) {
    conversation.ids.push_back(tokens.ids[i]);
    conversation.expected.push_back(tokens.of_assistant[i + 1] ? tokens.ids[i + 1] : Targets::kIgnored);
  }
  return conversation;
}

ChatTokens tokens_of_chat(const Chat& chat, const ChatReading& reading, const ChatOptions& options,
                          const std::string& where) {
  require_roles(chat, where);
  return chat_tokens(reading.tokenizer, rendered(chat, reading, options, where));
}

Conversation whole_conversation(const ChatTokens& tokens, const std::string& where) {
  Conversation whole = conversation_of(tokens, tokens.ids.size(), where);
  require<FormatError>(whole.learned() > 0, where, "the chat template writes nothing of the assistant's");
  return whole;
}

// Adds the line's conversation, unless it is too long.
void add_conversation(const std::string& line, const ChatReading& reading, const ChatOptions& options,
                      const std::string& where, Conversations& found) {
  const ChatTokens tokens = tokens_of_chat(parse_chat(line, where), reading, options, where);
  Conversation whole = whole_conversation(tokens, where);
  const auto limit = static_cast<size_t>(reading.max_length);
  if (whole.ids.size() <= limit) {
    found.all.push_back(std::move(whole));
    return;
  }
  require<FormatError>(reading.too_long != TooLong::refuse, where, "{} tokens, more than data.context {}",
                       whole.ids.size(), reading.max_length);
  found.first_too_long = found.first_too_long.empty() ? where : found.first_too_long;
  Conversation first = conversation_of(tokens, limit + 1, where);
  if (reading.too_long == TooLong::truncate && first.learned() > 0) {
    found.all.push_back(std::move(first));
    ++found.truncated;
  } else {
    ++found.dropped;
  }
}

bool is_learnable(const Conversation& conversation, int64_t max_length) {
  return !conversation.ids.empty() && std::cmp_less_equal(conversation.ids.size(), max_length) &&
         conversation.ids.size() == conversation.expected.size() && conversation.learned() > 0;
}

}  // namespace

int64_t Conversation::learned() const {
  return std::ranges::count_if(expected, [](int32_t token) { return token != Targets::kIgnored; });
}

std::string Conversations::text() const {
  int64_t tokens = 0, learned = 0;
  for (const Conversation& conversation : all) {
    tokens += std::ssize(conversation.ids);
    learned += conversation.learned();
  }
  const auto count = std::ssize(all);
  std::string line = fmt::format("{} conversation{}, {} token{}, {} of them learned", count, plural(count), tokens,
                                 plural(tokens), learned);
  if (dropped + truncated > 0) {
    line += fmt::format("; too long: {} dropped, {} truncated (first {})", dropped, truncated, first_too_long);
  }
  return line;
}

uint64_t fingerprint_of(std::initializer_list<const Conversations*> sides) {
  RandomKey content;
  for (const Conversations* const side : sides) {
    for (const Conversation& conversation : side->all) {
      for (const std::vector<int32_t>* const part : {&conversation.ids, &conversation.expected}) {
        for (const int32_t value : *part) {
          content = content.derive(static_cast<uint64_t>(value));
        }
      }
    }
  }
  return content.bits;
}

std::optional<TokenId> end_of_answers(const Conversations& conversations, const Tokenizer& tokenizer) {
  std::optional<TokenId> common;
  // The last mark of the answer so far, which ends before `next`.
  std::optional<TokenId> mark;
  bool differ = false;
  const auto end_answer = [&] {
    differ = differ || !mark || (common && *common != *mark);
    common = mark;
    mark.reset();
  };
  for (const Conversation& conversation : conversations.all) {
    for (size_t i = 0; i < conversation.expected.size() && !differ; ++i) {
      const int32_t token = conversation.expected[i];
      const bool is_last = i + 1 == conversation.expected.size();
      if (token != Targets::kIgnored) {
        const bool is_mark = tokenizer.decode({{TokenId(token)}}).empty();
        mark = is_mark ? std::optional(TokenId(token)) : mark;
      }
      const bool ends = token != Targets::kIgnored && (is_last || conversation.expected[i + 1] == Targets::kIgnored);
      // A truncated conversation may end within an answer.
      if (ends && (mark || !is_last || conversations.truncated == 0)) {
        end_answer();
      }
    }
  }
  return differ ? std::nullopt : common;
}

Conversation learned_conversation(const Chat& chat, const ChatReading& reading, const std::string& where) {
  return whole_conversation(tokens_of_chat(chat, reading, options_of(reading), where), where);
}

Conversations read_conversations(const std::vector<std::string>& files, const ChatReading& reading) {
  Conversations found;
  const ChatOptions options = options_of(reading);
  LinesOfFiles lines({files.begin(), files.end()}, {.max_bytes = kMaxConversationBytes});
  for (std::string line; lines.next(line);) {
    if (!is_blank(line)) {
      add_conversation(line, reading, options, lines.where(), found);
    }
  }
  require<FormatError>(!found.all.empty(), fmt::format("{}", fmt::join(files, ", ")), "{}",
                       found.dropped > 0 ? fmt::format("all {} conversations are longer than data.context {}",
                                                       found.dropped, reading.max_length)
                                         : "holds no conversation");
  return found;
}

void store_conversations(FieldsToStore& fields, const std::string& name, const Conversations& conversations) {
  FlatLists ids, learned;
  std::vector<std::string> places;
  for (const Conversation& conversation : conversations.all) {
    ids.add(conversation.ids);
    std::vector<int32_t> from_zero = conversation.expected;
    std::ranges::for_each(from_zero, [](int32_t& token) { token -= Targets::kIgnored; });
    learned.add(from_zero);
    places.push_back(conversation.where);
  }
  std::move(ids).store(fields, name + ".ids");
  std::move(learned).store(fields, name + ".expected");
  fields.add_texts(name + ".places", places);
  fields.add_number(name + ".dropped", conversations.dropped);
  fields.add_number(name + ".truncated", conversations.truncated);
  fields.add_text(name + ".first_too_long", conversations.first_too_long);
}

Conversations stored_conversations(const StoredFields& fields, const std::string& name, int64_t vocabulary,
                                   int64_t max_length) {
  ListReader ids(fields, name + ".ids", vocabulary), expected(fields, name + ".expected", vocabulary + 1);
  std::vector<std::string> places = fields.texts_of(name + ".places");
  const int64_t count = ids.size();
  require<FormatError>(expected.size() == count && std::cmp_equal(places.size(), count), fields.where(),
                       "the fields of '{}' have different lengths", name);
  Conversations found{.all = {},
                      .dropped = fields.count(name + ".dropped", 0),
                      .truncated = fields.count(name + ".truncated", 0),
                      .first_too_long = fields.text(name + ".first_too_long")};
  for (int64_t i = 0; i < count; ++i) {
    Conversation& one = found.all.emplace_back();
    one.ids = ids.next();
    one.expected = expected.next();
    std::ranges::for_each(one.expected, [](int32_t& token) { token += Targets::kIgnored; });
    one.where = std::move(places[static_cast<size_t>(i)]);
    require<FormatError>(is_learnable(one, max_length), fields.where(), "conversation {} of '{}' is damaged", i, name);
  }
  return found;
}

}  // namespace heed
