#include "heed/ranks.h"

#include <algorithm>
#include <span>

#include "base/checksum.h"
#include "base/errors.h"
#include "base/system/files.h"
#include "heed/version.h"
#include "ranks/job.h"
#include "ranks/shared_work.h"

namespace heed {
namespace {

constexpr size_t kLinesOfChunk = 128;

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

RankOfJob rank_of_job() {
  const Ranks ranks = job_ranks();
  return {ranks.rank(), ranks.count()};
}

size_t lines_at_once(size_t alone) { return job_ranks().is_alone() ? alone : std::min(alone, kLinesOfChunk); }

void share_messages(const MessageWork& work) { share_messages(job_ranks(), work); }

}  // namespace heed
