#include "fuzz/fuzz.h"
#include "report/run/metrics.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  fuzz::allow_refusal([&] {
    const RunMetrics metrics = parse_metrics(fuzz::text_of(bytes, size), "metrics.jsonl");
    ensure(thinned(metrics.train, 2).size() <= 2 && metrics.updates() >= 0, "fuzz", "made something of nothing");
    metrics.best();
  });
  return 0;
}
