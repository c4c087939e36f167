#include "kernels/devices/device_choice.h"

#include <charconv>

#include "base/errors.h"
#include "base/system/threads.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/cpu/precision.h"
#include "kernels/devices/cuda_plugin.h"

namespace heed {
namespace {

constexpr std::string_view kCuda = "cuda";

// The N of "cuda:N", 0 of "cuda", and below 0 for anything else.
int cuda_device(std::string_view name) {
  if (!name.starts_with(kCuda)) {
    return -1;
  }
  const std::string_view rest = name.substr(kCuda.size());
  if (rest.empty()) {
    return 0;
  }
  int device = -1;
  const char* const end = rest.data() + rest.size();
  const bool is_number =
      rest.size() > 1 && rest.front() == ':' && std::from_chars(rest.data() + 1, end, device).ptr == end;
  return is_number ? device : -1;
}

}  // namespace

std::unique_ptr<Backend> make_backend(std::string_view device, int threads) {
  if (device == "cpu") {
    return make_cpu_backend(thread_count(threads));
  }
  const int number = cuda_device(device);
  require_option(number >= 0, "options", "device", device, "cpu, cuda or cuda:N");
  return make_cuda_backend(number);
}

DType inference_type(Precision precision, const Backend& backend) {
  if (backend.device() == Device::cpu) {
    return inference_type(precision);
  }
  return precision == Precision::f32 ? DType::f32 : DType::bf16;
}

}  // namespace heed
