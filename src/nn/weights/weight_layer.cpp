#include "nn/weights/weight_layer.h"

#include <fmt/format.h>

namespace heed {

std::string layer_of_weight(const Weight& weight) {
  const WeightPlace& place = weight.identity().place;
  return place.layer ? fmt::format("{}.layers.{}", place.stack == Stack::encoder ? "encoder" : "decoder", *place.layer)
                     : weight.name().substr(0, weight.name().rfind('.'));
}

}  // namespace heed
