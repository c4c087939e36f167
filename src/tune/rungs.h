// Successive halving: all trials begin, and at each rung the worse half is stopped.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace heed {

struct Rung {
  double share = 1.0;  // of a whole run, to which the trials go
  int64_t trials = 0;
};

// Each rung takes half as many trials twice as far, and the last one takes two to the end of the run. The first is an
// eighth of a run at least, since less says little of the rest.
std::vector<Rung> rungs_of(int64_t trials);

// The trials that go on: the `kept` with the highest values, and the first, which is the recipe itself: it is never
// stopped, so that gains are known. In the order of their numbers. Values that are not finite are the worst.
std::vector<size_t> trials_that_go_on(std::span<const double> values, std::span<const size_t> trials, int64_t kept);

// In whole runs, at most: that of the recipe itself, and of the best trial with a second seed, included.
double cost_of(std::span<const Rung> rungs);

// How many trials, at most `wanted`, cost no more than so many whole runs; 0: not even two do.
int64_t affordable_trials(int64_t wanted, double whole_runs);

}  // namespace heed
