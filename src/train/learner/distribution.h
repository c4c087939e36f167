// How this rank takes part in a run.
#pragma once

#include <string>
#include <vector>

#include "models/any_model.h"
#include "parallel/layout.h"
#include "parallel/stage_plan.h"
#include "ranks/ranks.h"
#include "train/recipe/recipe.h"

namespace heed {

// A recipe's settings that do not go with matrices in parts, each as a message names it.
std::vector<std::string> settings_against_parts(const Recipe& recipe);

// The ranks of a run, in groups, as its layout says.
class Distribution {
 public:
  // ConfigError for a layout that this recipe can't have.
  Distribution(const Recipe& recipe, const Ranks& ranks);

  const Ranks& all() const { return all_; }
  // The ranks that hold the same part of the model as this one.
  const Ranks& copies() const { return copies_; }
  // All ranks with this rank's part of the matrices, of whatever copy and stage: together they hold that part of every
  // weight.
  const Ranks& holders() const { return holders_; }
  // The stages of this copy, in order.
  Ranks stages() const { return group(RankGroup::pipeline); }
  Parts parts() const { return layout_.tensor == 1 ? Parts() : Parts(group(RankGroup::tensor)); }

  std::string layout_text() const { return to_text(layout_); }
  bool is_first() const { return all_.is_first(); }
  bool divides_layers() const { return layout_.pipeline > 1; }
  bool divides_matrices() const { return layout_.tensor > 1; }
  bool divides_model() const { return layout_.divides_model(); }
  Stage own_stage() const { return {position_of(layout_, all_.rank()).pipeline, layout_.pipeline}; }
  // Among the holders, in the order of the copies.
  std::vector<int> holders_of_stage(int stage) const;
  // Which rank has the losses of a copy.
  int last_stage_of_copy(int copy) const { return rank_at(layout_, {.data = copy, .pipeline = layout_.pipeline - 1}); }

  // Where ranks train independently. From now on, one that falls silent is lost instead of ending the run.
  void tolerate_losses() const { all_.tolerate_losses(); }
  // Collective. Ranks that are lost are left out of all groups. Returns how many.
  int leave_out_lost();

 private:
  Ranks group(RankGroup kind) const;
  void require_possible(const Recipe& recipe) const;
  void require_division(ModelConfig model) const;

  Ranks all_;
  Layout layout_;
  Ranks copies_, holders_;
};

}  // namespace heed
