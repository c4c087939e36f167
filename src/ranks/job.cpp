#include "ranks/job.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>
#include <thread>

#include "base/errors.h"
#include "ranks/job_share.h"
#include "ranks/mpi/mpi_plugin.h"
#include "ranks/mpi/mpi_transport.h"
#include "ranks/rank_processes.h"

namespace heed {
namespace {

constexpr int kFailed = 2;
// MPI waits for all ranks when it finishes: not for longer than this.
constexpr double kFinishSeconds = 5.0;

MpiTransport* the_transport = nullptr;

void sleep_seconds(double seconds) { std::this_thread::sleep_for(std::chrono::duration<double>(seconds)); }

RankTimes rank_times() {
  RankTimes times;
  if (const char* text = std::getenv("HEED_RANK_TIMEOUT"); text != nullptr) {
    char* end = nullptr;
    times.silence = std::strtod(text, &end);
    require<ConfigError>(end != text && *end == '\0' && times.silence >= 0.5, "HEED_RANK_TIMEOUT",
                         "expected seconds, at least 0.5, found \"{}\"", text);
  }
  return times;
}

MemorySharing memory_sharing() {
  const char* const text = std::getenv("HEED_SHARED_MEMORY");
  const std::string_view word = text == nullptr ? "" : text;
  require<ConfigError>(word.empty() || word == "on" || word == "off", "HEED_SHARED_MEMORY",
                       "expected on or off, found \"{}\"", word);
  return word == "off" ? MemorySharing::off : MemorySharing::on;
}

[[noreturn]] void abort_job(const HeedMpiTable& mpi, int status = kFailed) {
  mpi.abort(mpi.self, status);
  std::_Exit(status);
}

// Where the job went on without some ranks, MPI cannot finish: it would wait for them.
void end_if_lost(MpiTransport& transport, const HeedMpiTable& mpi, const JobSettings& settings, int status) {
  std::string lost;
  for (int rank = 0; rank < transport.count(); ++rank) {
    lost += transport.is_lost(rank) ? fmt::format("{}{}", lost.empty() ? "" : ", ", rank) : "";
  }
  if (lost.empty()) {
    return;
  }
  if (transport.rank() == 0) {
    settings.print(fmt::format("went on without rank {} of {}, which did not answer", lost, transport.count()));
    abort_job(mpi, status);
  }
  sleep_seconds(kFinishSeconds);  // the first rank ends all
  std::_Exit(status);
}

void finish_or_exit(const HeedMpiTable& mpi, int status) {
  const auto finished = std::make_shared<std::atomic<bool>>(false);
  std::thread([status, finished] {
    sleep_seconds(kFinishSeconds);
    if (!*finished) {
      std::_Exit(status);
    }
  }).detach();
  mpi.finish(mpi.self);
  *finished = true;
}

// Prints an error that comes before MPI can tell who else has it: the first rank's at once. When a process ends with an
// error, mpirun ends the others; a rank that is left has an error of its own.
int fail_before_start(const RankInJob& own, const JobSettings& settings, const std::string& why) {
  if (own.rank == 0) {
    settings.print(why);
  } else {
    sleep_seconds(3.0 + 0.5 * std::min(own.rank, 10));
    settings.print(message_of_rank(own.rank, own.count, why));
  }
  return kFailed;
}

// Who prints: the first rank that answers; if it doesn't, the next one, later. The one that was silent is the last:
// when it wakes up to hear of it, another one has printed that.
int position_in_line(int rank, int count, const RankFailure& failure) {
  if (failure.kind != RankFailure::Kind::silence || rank < failure.rank) {
    return rank;
  }
  return rank == failure.rank ? count - 1 : rank - 1;
}

int end_job(const HeedMpiTable& mpi, std::optional<MpiTransport>& transport, const JobSettings& settings,
            const RankTimes& times, const std::optional<std::string>& error) {
  const int rank = transport->rank();
  while (!transport->begin_end()) {
    sleep_seconds(1.0);  // the transport's thread ends all ranks
  }
  if (error) {
    transport->announce_failure(*error);
  }
  const bool is_whole = !error && transport->wait_until_all_ended();
  if (!is_whole) {
    const RankFailure failure = *transport->failure();
    const int position = position_in_line(rank, transport->count(), failure);
    if (position == 0 || !transport->wait_until_printed(times.printing + 0.5 * std::min(position, 10))) {
      settings.print(rank == 0 && error ? *error : failure.message);
      transport->say_printed();
    }
    if (!transport->wait_until_all_ended_after_failure()) {
      abort_job(mpi);
    }
  }
  const int status = is_whole ? 0 : kFailed;
  end_if_lost(*transport, mpi, settings, status);
  transport.reset();
  finish_or_exit(mpi, status);
  return status;
}

// Throws the same on all ranks.
void require_one_build(const std::vector<std::string>& builds) {
  for (size_t rank = 1; rank < builds.size(); ++rank) {
    if (builds[rank] != builds.front()) {
      throw RankError(fmt::format("rank {} of {}: is {}, but rank 0 is {}: all ranks must run the same build", rank,
                                  builds.size(), builds[rank], builds.front()));
    }
  }
}

int run_alone(const JobSettings& settings, const std::function<void()>& body) {
  try {
    body();
  } catch (const std::exception& error) {
    settings.print(error.what());
    return kFailed;
  }
  return 0;
}

int run_with_mpi(const HeedMpiTable& mpi, const JobSettings& settings, const RankTimes& times,
                 const std::function<void()>& body) {
  const auto when_busy = [&](const RankFailure& failure) {
    const int position = position_in_line(mpi.rank(mpi.self), mpi.count(mpi.self), failure);
    if (position > 0) {
      sleep_seconds(times.printing);
    }
    settings.print(failure.message);
    abort_job(mpi);
  };
  std::optional<MpiTransport> transport;
  transport.emplace(mpi, times, when_busy);
  std::optional<std::string> error;
  std::optional<RankProcesses> processes;
  try {
    the_transport = &*transport;
    processes.emplace(job_ranks(),
                      RankProcesses::Job{.print = settings.print,
                                         .has_failed = [&] { return transport->has_failed(); },
                                         .survives_losses = [&] { return transport->tolerates_losses(); }});
    require_one_build(job_ranks().all_texts(settings.build()));
    share_processors(job_ranks());
    transport->share_memory(SharedMessages::connect(job_ranks(), memory_sharing()));
    body();
  } catch (const std::exception& thrown) {
    error = thrown.what();
  }
  the_transport = nullptr;
  processes.reset();  // from here on, processes may end
  return end_job(mpi, transport, settings, times, error);
}

}  // namespace

Ranks job_ranks() { return the_transport != nullptr ? Ranks(*the_transport) : Ranks(); }

int run_job(const JobSettings& settings, const std::function<void()>& body) {
  const Environment environment = [](const char* name) { return std::getenv(name); };
  const RankInJob own = rank_in_job(environment);
  if (own.count == 1) {
    return run_alone(settings, body);
  }
  const HeedMpiTable* mpi = nullptr;
  RankTimes times;
  try {
    times = rank_times();
    mpi = &load_mpi_plugin(own, environment);
  } catch (const Error& error) {
    return fail_before_start(own, settings, error.what());
  }
  if (const int status = mpi->start(mpi->self); status != 0) {
    return fail_before_start(own, settings, fmt::format("ranks: {} does not start (error {})", mpi->library, status));
  }
  if (const int count = mpi->count(mpi->self); count != own.count) {
    finish_or_exit(*mpi, kFailed);
    return fail_before_start(
        own, settings,
        fmt::format("ranks: {} started {} processes, but {} counts {}; start them with the mpirun of {}, or with "
                    "srun --mpi=pmix",
                    own.started_by, own.count, mpi->library, count, mpi->library));
  }
  return run_with_mpi(*mpi, settings, times, body);
}

}  // namespace heed
