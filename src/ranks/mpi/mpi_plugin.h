// Which job this process belongs to, and the plugin that speaks MPI.
#pragma once

#include <functional>
#include <string>

#include "ranks/mpi/mpi_table.h"

namespace heed {

// What the environment says of the ranks that were started.
struct RankInJob {
  int rank = 0, count = 1;
  std::string started_by;  // for messages
};

using Environment = std::function<const char*(const char* name)>;  // as std::getenv

// One rank, unless mpirun or a batch system started several.
RankInJob rank_in_job(const Environment& environment);

// Loads the plugin: the file that HEED_MPI names, or else libheed_mpi.so beside the program or in ../lib/heed.
// RankError when it is not there or cannot be loaded.
const HeedMpiTable& load_mpi_plugin(const RankInJob& rank, const Environment& environment);

}  // namespace heed
