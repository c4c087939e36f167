// What comes of a tuning: words, the best recipe, the page.
#pragma once

#include "tune/tuning.h"

namespace heed {

// The trial whose recipe is written: the best one, or the recipe itself where that turned out to be no worse.
size_t chosen_trial(const Tuning& tuning);

// What was gained, whether that is more than noise, and what it cost: a sentence each.
std::vector<std::string> conclusions(const Tuning& tuning, TuneEnd end);

// The file as it was written, with the trial's settings; every key, where that is not possible. Files that it names
// beside itself are named from where heed was started.
std::string recipe_of_result(const TuneOptions& options, const Changes& changes,
                             const std::vector<std::string>& remarks);

// One page that refers to nothing outside itself.
std::string tuning_page(const Tuning& tuning, const TuneOptions& options, const std::vector<std::string>& remarks);

}  // namespace heed
