// Ranks that are not there, so that one rank's part of a divided model can run alone.
#pragma once

#include "ranks/transport.h"

namespace heed {

// The last of `count` ranks. What it sends goes nowhere (Ranks::bytes_sent counts it); what it receives is not written.
class AbsentRanks final : public Transport {
 public:
  explicit AbsentRanks(int count) : count_(count) {}

  int rank() const override { return count_ - 1; }
  int count() const override { return count_; }
  Transfer send(int /*to*/, const Topic& /*topic*/, std::span<const std::byte> /*bytes*/) override { return {}; }
  Transfer receive(int /*from*/, const Topic& /*topic*/, std::span<std::byte> /*bytes*/) override { return {}; }
  std::optional<Arrival> find_arrival(std::optional<int> /*from*/, const Topic& /*topic*/) override { return {}; }
  void pause() override {}
  void announce_failure(const std::string& /*why*/) override {}
  void tolerate_losses() override {}
  bool is_lost(int /*rank*/) override { return false; }

 private:
  int count_;
};

}  // namespace heed
