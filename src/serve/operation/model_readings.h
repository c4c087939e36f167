// What models are doing, for Prometheus.
#pragma once

#include <vector>

#include "serve/models/model_store.h"
#include "serve/operation/metrics.h"

namespace heed::serve {

// Adds those of all models that are known.
void add_model_readings(const std::vector<ModelStore::Known>& models, Metrics::Readings& readings);

}  // namespace heed::serve
