// heed's own interface.
#include "serve/heed/heed_paths.h"
#include "serve/routes.h"

namespace heed::serve {

Routes heed_routes() {
  constexpr ErrorForm kForm = ErrorForm::heed;
  return {{"POST", "/heed/translate", kForm, "heed", translate},
          {"POST", "/heed/score", kForm, "heed", score},
          {"POST", "/heed/generate", kForm, "heed", generate},
          {"POST", "/heed/classify", kForm, "heed", classify},
          {"POST", "/heed/tag", kForm, "heed", tag},
          {"POST", "/heed/fill", kForm, "heed", fill},
          {"POST", "/heed/embed", kForm, "heed", embed},
          {"POST", "/heed/attention", kForm, "heed", attention},
          {"POST", "/heed/next", kForm, "heed", next_tokens},
          {"GET", "/heed/models", kForm, "heed", list_models},
          {"POST", "/heed/models", kForm, "heed", load_model},
          {"DELETE", "/heed/models/*", kForm, "heed", drop_model},
          {"GET", "/heed/describe/*", kForm, "heed", describe_model},
          {"GET", "/heed/report/*", kForm, "heed", send_report}};
}

}  // namespace heed::serve
