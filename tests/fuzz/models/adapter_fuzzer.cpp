#include "checkpoint/adapter.h"
#include "fuzz/fuzz.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::ScratchFolder scratch;
  const ModelFolder folder{scratch.path()};
  scratch.write(folder.adapter().filename(), fuzz::text_of(bytes, size));
  fuzz::allow_refusal([&folder] { ensure(load_adapter(folder).rank >= 1, "fuzz", "has no rank"); });
  return 0;
}
