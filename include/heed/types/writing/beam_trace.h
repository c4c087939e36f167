// How a beam grew.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "heed/types/names.h"

namespace heed {

// What became of a hypothesis after its step:
//   went_on   it was continued in the next step, or was among the best when the search was over
//   ended     its token is the end, or it stands at the maximum length
//   dropped   others were better
enum class BeamFate : uint8_t { went_on, ended, dropped };

inline constexpr std::array<NamedValue<BeamFate>, 3> kBeamFateNames{
    {{"went-on", BeamFate::went_on}, {"ended", BeamFate::ended}, {"dropped", BeamFate::dropped}}};

constexpr std::string_view name_of(BeamFate fate) { return name_among(kBeamFateNames, fate); }

struct BeamHypothesis {
  int64_t parent = -1;  // that it continues, by its number in the step before; -1: the beginning
  int64_t group = 0;    // of diverse beam search, or the number of its alternative
  int32_t id = 0;       // of its last token
  std::string piece;
  double token_log_probability = 0.0;  // of that token
  double log_probability = 0.0;        // of all its tokens
  double score = 0.0;                  // as if it ended here, without the coverage penalty
  BeamFate fate = BeamFate::dropped;
};

// Where a translation ended: in which step, and as which of its hypotheses.
struct BeamPlace {
  int64_t step = 0, hypothesis = 0;
};

// More hypotheses of a line than this are not listed, up to the end of the step that reaches it.
constexpr int64_t kMaxTraced = 20'000;

// Steps of a search, each with the hypotheses that it considered: group by group, the best first unless forced texts
// make them take turns. Each token of a prefix is a step with one hypothesis.
using BeamSteps = std::vector<std::vector<BeamHypothesis>>;

// The steps of a line's search; a blank line has none.
struct BeamTrace {
  BeamSteps steps = {};
  bool is_complete = true;  // otherwise later steps are left out
};

}  // namespace heed
