// The paths of heed's own interface.
#pragma once

#include "serve/call.h"

namespace heed::serve {

void translate(Call& call);
void score(Call& call);
void generate(Call& call);
void classify(Call& call);
void tag(Call& call);
void fill(Call& call);
void embed(Call& call);
void attention(Call& call);
void next_tokens(Call& call);

void list_models(Call& call);
void load_model(Call& call);
void drop_model(Call& call);
void describe_model(Call& call);
void send_report(Call& call);

}  // namespace heed::serve
