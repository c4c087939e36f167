#include "fuzz/fuzz.h"
#include "tune/tuning_state.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fuzz::allow_refusal([&] {
    const TuningState state = parse_tuning(fuzz::text_of(bytes, size), "tuning.json");
    const std::string text = to_json(state);
    ensure(to_json(parse_tuning(text, "tuning.json")) == text, "fuzz", "reads another state than it wrote");
  });
  return 0;
}
