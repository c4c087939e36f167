// Loads a file as the weights of a model with one matrix for each use. The seeds hold them in int8, int8 with an input
// scale, int4 in both sizes of groups, bf16 and f32, one row by row and one in panels; others hold bf16 and f16 in
// panels, and int8 in groups.
#include "checkpoint/weights.h"
#include "fuzz/fuzz.h"
#include "kernels/cpu/cpu_backend.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const std::unique_ptr<Backend> backend = make_cpu_backend(1);
  const fuzz::MemoryFile file(fuzz::text_of(bytes, size));
  fuzz::allow_refusal([&file] {
    Weights weights;
    weights.add("product", {3, 32}, WeightUse::product, Initialization::zeros());
    weights.add("static", {2, 4}, WeightUse::product, Initialization::zeros());
    weights.add("both", {2, 64}, WeightUse::product_and_table, Initialization::zeros());
    weights.add("large", {2, 64}, WeightUse::product, Initialization::zeros());
    weights.add("table", {4, 5}, WeightUse::table, Initialization::zeros());
    weights.add("vector", {6}, WeightUse::vector, Initialization::zeros());
    load_weights(file.path(), *backend, DType::f32, weights);
    for (const Weight& weight : weights.all()) {
      ensure(weight.bytes() > 0, "fuzz", "{} holds nothing", weight.name());
    }
  });
  return 0;
}
