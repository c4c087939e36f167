// A conversation in OpenAI's words, as the model wants to see it.
#pragma once

#include <string>

#include "serve/call.h"

namespace heed::serve::openai {

// The types of parts that a message's content may be a list of, beside plain texts.
struct PartTypes {
  std::string_view given, written;  // in messages to the model, and in those that it wrote
};
constexpr PartTypes kChatParts{"text", "text"};
constexpr PartTypes kResponseParts{"input_text", "output_text"};

// The messages for a chat template, from a list of them; `field` names it. 400 for what is not text.
Json chat_messages(const Json& list, const std::string& field, const PartTypes& parts);

// 400 for tools, which are not supported, and for what would have the model call some.
void refuse_tools(Fields& fields);

// The prompt by the model's template. `template_options` may be null.
std::string prompt_of_chat(const ServedModel& model, Json messages, const Json* template_options,
                           const std::string& field);

}  // namespace heed::serve::openai
