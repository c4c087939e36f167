#include "checkpoint/model_directory.h"
#include "heed/inspect.h"
#include "report/figures/architecture_diagram.h"

namespace heed {

std::string draw_model(const std::string& directory) {
  return architecture_diagram(load_description({directory}).config);
}

}  // namespace heed
