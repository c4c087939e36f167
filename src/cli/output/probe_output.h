// A probe of a model as text and as JSON.
#pragma once

#include <string>

#include "heed/inspect.h"

namespace heed::cli {

std::string probe_in_tables(const Probe& probe);
std::string probe_in_json(const Probe& probe);

}  // namespace heed::cli
