#include "checkpoint/model_directory.h"
#include "fuzz/fuzz.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::ScratchFolder scratch;
  const ModelFolder folder{scratch.path()};
  scratch.write(folder.config().filename(), fuzz::text_of(bytes, size));
  fuzz::allow_refusal([&folder] {
    const ModelDescription description = load_description(folder);
    description.config.validate();
    ensure(!mark_of(description.config).empty(), "fuzz", "has no mark");
  });
  return 0;
}
