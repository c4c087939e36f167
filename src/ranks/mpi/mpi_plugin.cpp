#include "ranks/mpi/mpi_plugin.h"

#include <dlfcn.h>

#include <charconv>
#include <cstring>
#include <filesystem>
#include <optional>
#include <vector>

#include "base/errors.h"

namespace heed {
namespace {

namespace fs = std::filesystem;

constexpr const char* kPlugin = "libheed_mpi.so";

struct Starter {
  const char *rank, *count, *name;
};
// The last one starts processes that Open MPI does not see as one job: that is found out when MPI counts them.
constexpr Starter kStarters[] = {
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "mpirun"},
    {"PMIX_RANK", "SLURM_NTASKS", "srun"},
    {"PMI_RANK", "PMI_SIZE", "a launcher that is not Open MPI's"},
};

std::optional<int> number(const Environment& environment, const char* name) {
  const char* text = environment(name);
  int value = 0;
  if (text == nullptr || std::from_chars(text, text + std::strlen(text), value).ec != std::errc()) {
    return std::nullopt;
  }
  return value;
}

std::vector<fs::path> paths_of_plugin(const Environment& environment) {
  if (const char* named = environment("HEED_MPI"); named != nullptr && *named != '\0') {
    return {named};
  }
  std::error_code error;
  const fs::path folder = fs::read_symlink("/proc/self/exe", error).parent_path();
  return {folder / kPlugin, folder.parent_path() / "lib" / "heed" / kPlugin};
}

}  // namespace

RankInJob rank_in_job(const Environment& environment) {
  for (const Starter& starter : kStarters) {
    const std::optional<int> rank = number(environment, starter.rank), count = number(environment, starter.count);
    if (rank && count && *count > 1) {
      return {*rank, *count, starter.name};
    }
    if (rank && count) {
      break;  // a job of one process, perhaps within a larger one of a batch system
    }
  }
  return {};
}

const HeedMpiTable& load_mpi_plugin(const RankInJob& rank, const Environment& environment) {
  const std::vector<fs::path> paths = paths_of_plugin(environment);
  std::string tried;
  for (const fs::path& path : paths) {
    std::error_code error;
    if (!fs::exists(path, error)) {
      tried += tried.empty() ? path.string() : " nor " + path.string();
      continue;
    }
    // Open MPI's own plugins look for its symbols among the global ones.
    void* library = dlopen(path.c_str(), RTLD_NOW | RTLD_GLOBAL);
    if (library == nullptr) {
      const char* why = dlerror();
      fail<RankError>("ranks",
                      "{} started {} ranks, but heed's MPI part cannot be loaded: {}; install Open MPI on "
                      "every machine (Debian's package is openmpi-bin)",
                      rank.started_by, rank.count, why != nullptr ? why : path.c_str());
    }
    const auto function = reinterpret_cast<HeedMpiTableFunction>(dlsym(library, kHeedMpiTableName));
    const HeedMpiTable* table = function != nullptr ? function() : nullptr;
    require<RankError>(table != nullptr && table->layout == kHeedMpiLayout, "ranks",
                       "{} is not the MPI part of this heed; build and install both together", path.string());
    return *table;
  }
  fail<RankError>("ranks",
                  "{} started {} ranks, but heed's MPI part is missing: {}{} is {}there; build heed where "
                  "Open MPI is installed (Debian's package is libopenmpi-dev), or name the file in HEED_MPI",
                  rank.started_by, rank.count, paths.size() > 1 ? "neither " : "", tried,
                  paths.size() > 1 ? "" : "not ");
}

}  // namespace heed
