#include "ranks/mpi/mpi_plugin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "base/errors.h"

namespace heed {
namespace {

using testing::HasSubstr;

Environment with(const std::map<std::string, std::string>& variables) {
  return [variables](const char* name) -> const char* {
    const auto found = variables.find(name);
    return found == variables.end() ? nullptr : found->second.c_str();
  };
}

void expect_rank(const std::map<std::string, std::string>& variables, int rank, int count) {
  const RankInJob found = rank_in_job(with(variables));
  EXPECT_EQ(found.rank, rank);
  EXPECT_EQ(found.count, count);
}

TEST(RankInJob, IsAloneWithoutALauncher) {
  expect_rank({}, 0, 1);
  expect_rank({{"SLURM_NTASKS", "8"}}, 0, 1);  // a shell in a batch job, not a task that srun started
  expect_rank({{"OMPI_COMM_WORLD_SIZE", "many"}, {"OMPI_COMM_WORLD_RANK", "0"}}, 0, 1);
}

TEST(RankInJob, ComesFromMpirunOrSrun) {
  expect_rank({{"OMPI_COMM_WORLD_SIZE", "4"}, {"OMPI_COMM_WORLD_RANK", "3"}}, 3, 4);
  expect_rank({{"SLURM_NTASKS", "8"}, {"PMIX_RANK", "5"}}, 5, 8);
  expect_rank({{"PMI_SIZE", "2"}, {"PMI_RANK", "1"}}, 1, 2);
}

TEST(RankInJob, AMpirunOfOneRankWithinABatchJobIsAlone) {
  expect_rank({{"OMPI_COMM_WORLD_SIZE", "1"}, {"OMPI_COMM_WORLD_RANK", "0"}, {"SLURM_NTASKS", "8"}, {"PMIX_RANK", "0"}},
              0, 1);
}

std::string refusal(const std::map<std::string, std::string>& variables) {
  try {
    (void)load_mpi_plugin({.rank = 0, .count = 4, .started_by = "mpirun"}, with(variables));
  } catch (const RankError& error) {
    return error.what();
  }
  return "none";
}

TEST(MpiPlugin, ThatIsMissingIsNamedWithHowToGetIt) {
  EXPECT_THAT(refusal({{"HEED_MPI", "/nowhere/it.so"}}),
              testing::AllOf(HasSubstr("mpirun started 4 ranks"), HasSubstr("/nowhere/it.so is not there"),
                             HasSubstr("libopenmpi-dev"), HasSubstr("HEED_MPI")));
}

TEST(MpiPlugin, ThatIsAnotherLibraryIsRefused) {
  EXPECT_THAT(refusal({{"HEED_MPI", "/proc/self/exe"}}), HasSubstr("cannot be loaded"));
  EXPECT_THAT(refusal({{"HEED_MPI", "libc.so.6"}}), HasSubstr("libc.so.6 is not there"));
}

}  // namespace
}  // namespace heed
