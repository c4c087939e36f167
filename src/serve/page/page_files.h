// The page at `/`, which shows what the models do: the files of web/, under `/page/`.
#pragma once

#include <optional>

#include "serve/http/message.h"

namespace heed::serve {

// The answer to a GET or HEAD of one of the page's paths; none where the path is not the page's, or there is no such
// file. Nobody needs a key for it. A browser that has the file gets a 304.
std::optional<HttpAnswer> page_file(const HttpRequest& request);

}  // namespace heed::serve
