// One stage of a model: some of its layers, run over a shard.
#pragma once

#include <optional>

#include "models/any_model.h"
#include "parallel/shard.h"
#include "parallel/stage_ends.h"
#include "parallel/stage_plan.h"

namespace heed {

// Runs `layers` of the model. What the first of them reads comes in through `ends`, embedded tokens too where another
// stage has looked them up; what the next stage reads goes out there. The last stage's result is what the model's last
// layer leaves; others have none.
std::optional<Hidden> run_stage(Pass& pass, const AnyModel& model, const StageRanges& layers, const ShardTexts& texts,
                                StageEnds& ends);

// The table of the source's tokens, or of the only stream's; or of the target's.
const Embedding& embedding_of(const AnyModel& model, BoundaryTensor tokens);

}  // namespace heed
