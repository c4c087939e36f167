// The paths of each interface.
#pragma once

#include "serve/call.h"

namespace heed::serve {

Routes heed_routes();
Routes embeddings_routes();
Routes openai_routes();
Routes libretranslate_routes();

}  // namespace heed::serve
