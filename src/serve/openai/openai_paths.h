// The paths of OpenAI's interface, each with what answers it.
#pragma once

#include "serve/call.h"

namespace heed::serve::openai {

void complete(Call& call);        // /v1/completions
void complete_chat(Call& call);   // /v1/chat/completions
void respond(Call& call);         // /v1/responses
void embed(Call& call);           // /v1/embeddings
void list_models(Call& call);     // /v1/models
void describe_model(Call& call);  // /v1/models/NAME

}  // namespace heed::serve::openai
