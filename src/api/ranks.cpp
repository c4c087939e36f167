#include "heed/ranks.h"

#include <span>

#include "base/checksum.h"
#include "base/errors.h"
#include "base/files.h"
#include "heed/version.h"
#include "ranks/job.h"

namespace heed {
namespace {

// The same source built twice can give other bits.
std::string this_build() {
  const std::string program = read_file("/proc/self/exe");
  Checksum checksum;
  checksum.add(std::as_bytes(std::span(program)));
  return fmt::format("heed {} of build {}", version(), checksum.text());
}

}  // namespace

int run_as_rank(const std::function<void()>& body, const std::function<void(const std::string& message)>& print) {
  return run_job({.build = this_build, .print = print}, body);
}

}  // namespace heed
