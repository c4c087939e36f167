// What models are doing, for Prometheus.
#pragma once

#include <vector>

#include "serve/models/model_store.h"
#include "serve/operation/metrics.h"

namespace heed::serve {

// Adds the gauges of all models that are known.
void add_model_gauges(const std::vector<ModelStore::Known>& models, std::vector<Metrics::Gauge>& gauges);

}  // namespace heed::serve
