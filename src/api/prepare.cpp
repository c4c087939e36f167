#include "heed/prepare.h"

#include <filesystem>

#include "base/system/clock.h"
#include "base/system/threads.h"
#include "ranks/job.h"
#include "train/corpus/prepare.h"

namespace heed {

PrepareResult prepare(const PrepareOptions& options) {
  const double begin = seconds_now();
  const Recipe recipe = read_recipe(options.recipe, options.overrides);
  const int threads = thread_count(options.threads);
  recipe.validate_for_new_run();
  require_files(recipe, options.recipe);
  const Ranks ranks = job_ranks();
  PrepareResult result{.text = prepare_corpus(recipe, options.output, threads, ranks), .rank = ranks.rank()};
  if (!ranks.is_first()) {
    return result;
  }
  for (const std::filesystem::directory_entry& entry : std::filesystem::directory_iterator(options.output)) {
    result.bytes += static_cast<int64_t>(entry.file_size());
  }
  result.seconds = seconds_now() - begin;
  return result;
}

}  // namespace heed
