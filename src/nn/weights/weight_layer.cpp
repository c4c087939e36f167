#include "nn/weights/weight_layer.h"

#include <string_view>

namespace heed {

std::string layer_of_weight(const std::string& name) {
  constexpr std::string_view kLayers = ".layers.";
  const size_t layers = name.find(kLayers);
  return layers == std::string::npos ? name.substr(0, name.rfind('.'))
                                     : name.substr(0, name.find('.', layers + kLayers.size()));
}

}  // namespace heed
