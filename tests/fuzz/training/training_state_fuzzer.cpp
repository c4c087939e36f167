// state.json with a valid checksum, since without one nothing gets past the check.
#include <nlohmann/json.hpp>

#include "fuzz/fuzz.h"
#include "kernels/reference/reference_backend.h"
#include "text/vocabulary/vocabulary.h"
#include "train/learner/training_state.h"

using namespace heed;

namespace {

std::string sealed(std::string_view text) {
  nlohmann::json root = nlohmann::json::parse(text, nullptr, false);
  if (!root.is_object()) {
    return std::string(text);
  }
  root.erase("checksum");
  root["checksum"] = checksum_of(root.dump(2));
  return root.dump();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::ScratchFolder scratch;
  std::filesystem::create_directories(scratch.path() / "update-00000001");
  scratch.write("update-00000001/state.json", sealed(fuzz::text_of(bytes, size)));
  static ReferenceBackend backend;
  fuzz::allow_refusal([] { Checkpoints(scratch.path()).load(1, backend, {}); });
  return 0;
}
