// rank_actions ACTION [ARGUMENT]: what the tests of several ranks let them do.
#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <numeric>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "base/system/clock.h"
#include "base/system/threads.h"
#include "heed/errors.h"
#include "heed/ranks.h"
#include "ranks/job.h"

namespace heed {
namespace {

void say(const std::string& line) { std::cout << line + "\n" << std::flush; }

// Each rank sends to the next one, in all sizes, several at once.
void exchange(const Ranks& ranks) {
  const int next = (ranks.rank() + 1) % ranks.count(), previous = (ranks.rank() + ranks.count() - 1) % ranks.count();
  for (const size_t size : {size_t{0}, size_t{1}, size_t{1000}, size_t{70'000}, size_t{3'000'000}}) {
    std::vector<std::vector<int>> out(4), in(4);
    std::vector<Transfer> transfers;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i].resize(size);
      in[i].resize(size);
      std::iota(out[i].begin(), out[i].end(), static_cast<int>(i) + 10 * ranks.rank());
      transfers.push_back(ranks.receive(previous, Channel::gradients, bytes_of(std::span(in[i]))));
      transfers.push_back(ranks.send(next, Channel::gradients, bytes_of(std::span(out[i]))));
    }
    for (Transfer& transfer : transfers) {
      ranks.wait(transfer);
    }
    for (size_t i = 0; i < in.size(); ++i) {
      std::iota(out[i].begin(), out[i].end(), static_cast<int>(i) + 10 * previous);
      if (in[i] != out[i]) {
        throw std::runtime_error("a message has changed");
      }
    }
  }
  std::string text;
  for (const std::string& each : ranks.all_texts(std::to_string(ranks.rank() * ranks.rank()))) {
    text += each + " ";
  }
  say(fmt::format("{}: {}", ranks.rank(), text));
}

// Messages of one channel for which the receiver waits while the sender computes for a while, and the other way round.
void transfer(const Ranks& ranks, size_t megabytes) {
  std::vector<std::byte> memory(megabytes << 20);
  ranks.barrier();
  const double began = seconds_now();
  Transfer one =
      ranks.is_first() ? ranks.send(1, Channel::weights, memory) : ranks.receive(0, Channel::weights, memory);
  while (!one.is_done()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  say(fmt::format("{}: {:.0f} MB/s", ranks.rank(), static_cast<double>(megabytes) / (seconds_now() - began)));
}

// Computes, and looks for no message.
void compute(double seconds) {
  for (const double until = seconds_now() + seconds; seconds_now() < until;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
}

// Rounds of messages until the seconds are over.
void meet(const Ranks& ranks, double seconds) {
  bool go_on = true;
  for (const double until = seconds_now() + seconds; go_on;) {
    go_on = ranks.broadcast_text(seconds_now() < until ? "on" : "end") == "on";
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Work that takes a while. The first rank shows what came out of it.
void share(int64_t chunks) {
  int64_t next = 0;
  share_work(
      SharedWork<int64_t, std::string>{.next = [&] { return next < chunks ? std::optional(next++) : std::nullopt; },
                                       .work =
                                           [](const int64_t& chunk) {
                                             compute(0.1);
                                             return fmt::format("result {}", chunk);
                                           },
                                       .take = [](const std::string& result) { say(result); }});
}

void act(const std::string& action, const std::string& argument) {
  const Ranks ranks = job_ranks();
  say(fmt::format("{} of {} has {} processors", ranks.rank(), ranks.count(), available_processors()));
  if (action == "exchange") {
    exchange(ranks);
  } else if (action == "transfer") {
    transfer(ranks, std::stoul(argument));
  } else if (action == "meet") {
    meet(ranks, std::stod(argument));
  } else if (action == "first-computes") {
    compute(ranks.is_first() ? std::stod(argument) : 0.0);
    ranks.barrier();
  } else if (action == "one-fails" || action == "one-fails-while-all-compute") {
    if (ranks.rank() == std::stoi(argument)) {
      throw FormatError("text.de: line 7 is broken");
    }
    action == "one-fails" ? ranks.barrier() : compute(60.0);
  } else if (action == "one-fails-with-messages-under-way") {
    std::vector<std::byte> memory(100 << 20);
    const int other = (ranks.rank() + 1) % ranks.count();
    Transfer in = ranks.receive(other, Channel::weights, memory);
    Transfer out = ranks.rank() == 1 ? ranks.send(other, Channel::gradients, memory) : Transfer();
    if (ranks.rank() == std::stoi(argument)) {
      throw FormatError("text.de: line 7 is broken");
    }
    ranks.wait(in);
  } else if (action == "share") {
    share(std::stoll(argument));
  } else if (action == "all-fail") {
    throw FormatError("text.de: line 7 is broken");
  }
}

}  // namespace
}  // namespace heed

int main(int argc, char** argv) {
  const std::vector<std::string> words(argv + 1, argv + argc);
  return heed::run_as_rank([&] { heed::act(words.at(0), words.size() > 1 ? words[1] : ""); },
                           [](const std::string& line) { std::cerr << "heed: " + line + "\n"; });
}
