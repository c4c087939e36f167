#include "ranks/machine.h"

#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <fstream>

#include "base/errors.h"

namespace heed {

std::string machine_name() {
  std::array<char, 256> host{};
  gethostname(host.data(), host.size() - 1);
  std::string boot;
  std::ifstream("/proc/sys/kernel/random/boot_id") >> boot;
  struct stat numbering {};
  const bool is_known = stat("/proc/self/ns/pid", &numbering) == 0 && !boot.empty();
  return is_known ? fmt::format("{} {} {}", host.data(), boot, numbering.st_ino) : "";
}

std::vector<int> ranks_of_machine(const std::vector<std::string>& names, int own) {
  std::vector<int> ranks;
  const std::string& name = names[static_cast<size_t>(own)];
  for (size_t rank = 0; rank < names.size() && !name.empty(); ++rank) {
    if (names[rank] == name) {
      ranks.push_back(static_cast<int>(rank));
    }
  }
  return ranks;
}

}  // namespace heed
