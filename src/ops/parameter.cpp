#include "ops/parameter.h"

namespace heed {

void Parameter::bind(View master, View compute, View gradient) {
  ensure(master.elements() == shape_.elements() && compute.elements() == shape_.elements() &&
             (gradient.empty() || gradient.elements() == shape_.elements()),
         "parameter", "{} {} bound to {}, {} and {}", name_, shape_, master, compute, gradient);
  master_ = master;
  compute_ = compute;
  gradient_ = gradient;
  unpack();
}

}  // namespace heed
