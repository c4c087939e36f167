#include "train/learner/learner.h"

#include <algorithm>
#include <memory>

#include "base/rounding.h"
#include "nn/weights/adapters.h"
#include "parallel/rank_checks.h"
#include "train/learner/planned_parts.h"
#include "train/learner/state_memory.h"

namespace heed {
namespace {

LossSums sums_of(const TokenLosses& losses) {
  return {losses.total_smoothed(), losses.total_negative_log_likelihood(), losses.total_divergence()};
}

// The losses of all ranks, each of which has as many shards.
std::vector<LossSums> gathered(const Ranks& ranks, const std::vector<LossSums>& own) {
  std::vector<LossSums> all(own.size() * static_cast<size_t>(ranks.count()));
  ranks.all_gather(std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(all)));
  return all;
}

}  // namespace

void LossSums::add(const LossSums& other) {
  loss += other.loss;
  negative_log_likelihood += other.negative_log_likelihood;
  kl_divergence += other.kl_divergence;
  targets += other.targets;
}

Learner::Learner(Backend& backend, const Recipe& recipe, Distribution& ranks)
    : backend_(backend),
      recipe_(recipe),
      ranks_(ranks),
      storage_(storage_of(recipe.training.precision)),
      weights_(ranks.parts()),
      model_(Scope(weights_), recipe.model),
      plan_(recipe.model, ranks.own_stage().count) {
  if (recipe.adapter.rank > 0) {
    add_adapters(weights_, recipe.adapter);
  }
}

void Learner::hold(std::vector<WeightPart> parts) {
  freeze_parts(recipe_, weights_, parts);
  require_trained(parts);
  std::vector<bool> held;
  held.reserve(weights_.all().size());
  for (const Weight& weight : weights_.all()) {
    held.push_back(plan_.stage_of(weight.name()) == ranks_.own_stage().index);
  }
  trainables_.emplace(backend_, weights_, storage_, Trainables::Gradients::wanted, std::move(parts), std::move(held));
  optimizer_.emplace(backend_, *trainables_, recipe_.optimizer, divide_pieces());
  require_memory();
  if (recipe_.training.local_updates > 0) {
    outer_optimizer_.emplace(backend_, *trainables_, recipe_.training.outer, recipe_.training.gradients);
  } else {
    exchange_gradients();
  }
  if (recipe_.checkpoints.moving_average > 0.0) {
    average_.emplace(backend_, *trainables_, optimizer_->owners(), recipe_.checkpoints.moving_average);
  }
}

// The memory allocated so far has not been touched.
void Learner::require_memory() const {
  const bool one_shard = std::max(recipe_.training.shards, recipe_.training.accumulate) == 1;
  require_memory_for_state(*trainables_, optimizer_->owners(),
                           {.gradients = one_shard ? 1 : 2,
                            .averages = recipe_.checkpoints.moving_average > 0.0 ? 1 : 0,
                            .collected = ranks_.is_first() ? trainables_->trained_elements() : 0});
}

void Learner::exchange_gradients() {
  const DType type = dtype_of_plain(recipe_.training.gradients);
  if (!ranks_.holders().is_alone() || type != DType::f32) {
    exchange_.emplace(ranks_.holders(), backend_, *trainables_, optimizer_->owners(), type);
  }
  if (!ranks_.divides_layers()) {
    return;
  }
  if (!ranks_.copies().is_alone()) {
    stage_exchange_.emplace(ranks_.holders(), ranks_.holders_of_stage(ranks_.own_stage().index), backend_, *trainables_,
                            optimizer_->owners(), type);
  }
  stage_gradients_.emplace(backend_, *trainables_, plan_, type, stage_exchange_ ? &*stage_exchange_ : nullptr);
  pipeline_.emplace(ranks_.stages(), backend_, storage_, model_, plan_);
}

// Among the ranks that hold a weight.
PieceOwners Learner::divide_pieces() const {
  if (recipe_.training.local_updates > 0) {
    return PieceOwners(*trainables_);
  }
  PieceOwners::Holders holders;
  holders.reserve(weights_.all().size());
  for (const Weight& weight : weights_.all()) {
    holders.push_back(ranks_.holders_of_stage(plan_.stage_of(weight.name())));
  }
  const Ranks& all = ranks_.holders();
  return Optimizer::divide(*trainables_, recipe_.optimizer, {.rank = all.rank(), .count = all.count()}, holders);
}

void Learner::begin() {
  if (average_) {
    average_->begin();
  }
  if (ranks_.divides_model()) {
    collect();  // the first rank drew its own share of the weights alone
  }
}

TrainingState Learner::load(const Checkpoints& checkpoints, int64_t update) {
  if (ranks_.divides_matrices()) {
    WholeState whole(backend_, recipe_.model, storage_, tensors());
    TrainingState state = checkpoints.load(update, whole.tensors());
    whole.take_parts(*trainables_, tensors());
    return state;
  }
  TrainingState state = checkpoints.load(update, tensors());
  if (outer_optimizer_) {
    checkpoints.load_optimizer(update, ranks_.all().rank(), optimizer_->state());
  }
  return state;
}

void Learner::begin_run() {
  state_is_collected_ = true;  // each rank read or drew all of it
  release();
  if (outer_optimizer_) {
    outer_optimizer_->begin();
    ranks_.tolerate_losses();
  }
}

// All of them; where ranks train on their own, this rank's.
std::vector<size_t> Learner::own_shards(const Update& update) const {
  std::vector<size_t> own;
  const auto first = static_cast<size_t>(is_local() ? ranks_.all().rank() : 0);
  const auto step = static_cast<size_t>(is_local() ? ranks_.all().count() : 1);
  for (size_t shard = first; shard < update.shards.size(); shard += step) {
    own.push_back(shard);
  }
  return own;
}

RandomKey Learner::dropout_key(int64_t number) const {
  return RandomKey{static_cast<uint64_t>(recipe_.training.seed)}.derive("dropout").derive(
      static_cast<uint64_t>(number));
}

LossSums Learner::differentiate(const Update& update, int64_t number) {
  int64_t targets = 0;
  for (const size_t shard : own_shards(update)) {
    targets += update.shards[shard]->targets();
  }
  if (is_local() && targets == 0) {
    return {};
  }
  const ShardPass pass{.loss_scale = 1.0 / static_cast<double>(targets),
                       .key = dropout_key(number),  // draws are numbered by rows across all shards
                       .smoothing = Smoothing(static_cast<float>(recipe_.training.smoothing))};
  const ShardLosses losses = pipeline_   ? differentiate_in_stages(update, pass)
                             : exchange_ ? differentiate_in_rounds(update, pass)
                                         : differentiate_here(update, pass);
  LossSums sums;
  for (const LossSums& shard : losses) {
    sums.add(shard);
  }
  sums.targets = targets;
  return sums;
}

LossSums Learner::differentiate_shard(const Shard& shard, const ShardPass& shard_pass) {
  Tape tape(shard_pass.loss_scale);
  Pass pass = Pass::train(backend_, storage_, tape, shard_pass.key);
  const TokenLosses losses = shard.loss(pass, model_, shard_pass.smoothing);
  if (exchange_) {
    tape.backward(backend_, [&] { exchange_->advance(); });
  } else {
    tape.backward(backend_);
  }
  return sums_of(losses);
}

Learner::ShardLosses Learner::differentiate_here(const Update& update, const ShardPass& pass) {
  ShardLosses losses;
  for (const size_t shard : own_shards(update)) {
    if (!losses.empty()) {
      trainables_->begin_shard(backend_);
    }
    losses.push_back(differentiate_shard(*update.shards[shard], pass));
  }
  return losses;
}

Learner::ShardLosses Learner::differentiate_in_rounds(const Update& update, const ShardPass& pass) {
  const Ranks& copies = ranks_.copies();
  const auto count = static_cast<size_t>(copies.count()), own = static_cast<size_t>(copies.rank());
  const size_t shards = update.shards.size(), rounds = ceil_div(shards, count);
  exchange_->begin_update();
  ShardLosses found(rounds);
  for (size_t round = 0; round < rounds; ++round) {
    const size_t begin = round * count;
    exchange_->begin_round(static_cast<int64_t>(std::min(count, shards - begin)));
    if (begin + own < shards) {
      found[round] = differentiate_shard(*update.shards[begin + own], pass);
    }
    exchange_->end_round();
  }
  exchange_->finish_update();
  const ShardLosses all = gathered(copies, found);
  ShardLosses in_order;
  in_order.reserve(shards);
  for (size_t i = 0; i < shards; ++i) {
    in_order.push_back(all[i % count * rounds + i / count]);
  }
  return in_order;
}

// This copy's shards, one in each round. The last stage has the losses.
Learner::ShardLosses Learner::differentiate_in_stages(const Update& update, const ShardPass& pass) {
  const auto copies = static_cast<size_t>(ranks_.copies().count()), own = static_cast<size_t>(ranks_.copies().rank());
  const size_t rounds = ceil_div(update.shards.size(), copies);
  std::vector<const Shard*> shards(rounds);
  for (size_t i = own; i < update.shards.size(); i += copies) {
    shards[i / copies] = update.shards[i].get();
  }
  if (stage_exchange_) {
    stage_exchange_->begin_update(std::ssize(update.shards));
  }
  ShardLosses found;
  for (const TokenLosses& losses : pipeline_->differentiate(shards, pass, *stage_gradients_)) {
    found.push_back(sums_of(losses));
  }
  found.resize(rounds);
  const ShardLosses all = gathered(ranks_.all(), found);
  ShardLosses in_order;
  in_order.reserve(update.shards.size());
  for (size_t i = 0; i < update.shards.size(); ++i) {
    in_order.push_back(
        all[static_cast<size_t>(ranks_.last_stage_of_copy(static_cast<int>(i % copies))) * rounds + i / copies]);
  }
  return in_order;
}

void Learner::step(double learning_rate) {
  if (!exchange_) {
    return optimizer_->update(backend_, learning_rate);
  }
  optimizer_->measure(backend_);
  exchange_->share_norms(optimizer_->squared_norms());
  optimizer_->step(backend_, learning_rate);
  if (stage_exchange_) {
    stage_exchange_->share_weights();
  } else if (!pipeline_) {
    exchange_->share_weights();
  }
}

void Learner::average(const UpdateSpan& updates) {
  if (average_) {
    average_->add(updates);
  }
}

Scores Learner::validate(const Task& task) {
  if (whole_) {
    return task.validate({whole_->model(), backend_, storage_});
  }
  const MovingAverage::InPlace average(average_ ? &*average_ : nullptr);
  trainables_->lend_others(backend_);
  Scores scores = task.validate({model_, backend_, storage_});
  trainables_->take_others_back();
  return scores;
}

void Learner::collect() {
  if (pipeline_) {
    trainables_->discard_gradients();
    stage_gradients_->discard();
  }
  if (state_is_collected_) {
    return;
  }
  if (exchange_ && !ranks_.holders().is_alone()) {
    exchange_->collect(trainables_->masters());
    exchange_->collect(optimizer_->state().first_moments);
    exchange_->collect(optimizer_->state().second_moments);
    if (average_) {
      exchange_->collect(average_->view());
    }
  }
  if (ranks_.divides_matrices()) {
    collect_whole();
  }
  state_is_collected_ = true;
}

// The ranks of the first copy bring their parts together on the first rank.
void Learner::collect_whole() {
  if (ranks_.is_first()) {
    whole_.emplace(backend_, recipe_.model, storage_, tensors());
  }
  if (ranks_.holders().is_first()) {
    WholeState::collect(*trainables_, tensors(), whole_ ? &*whole_ : nullptr);
  }
  if (whole_) {
    whole_->put_validated_weights(backend_);
  }
}

void Learner::release() {
  if (ranks_.all().is_alone() || !state_is_collected_) {
    return;
  }
  const PieceOwners& owners = optimizer_->owners();
  for (size_t i = 0; i < owners.pieces().size(); ++i) {
    if (!owners.is_own(i)) {
      trainables_->discard_master(owners.pieces()[i]);
    }
  }
  optimizer_->discard_others();
  whole_.reset();
  if (average_) {
    average_->discard_others();
  }
  state_is_collected_ = false;
}

void Learner::send_own_state() const {
  if (outer_optimizer_) {
    send_optimizer(ranks_.all(), optimizer_->state());
  }
}

void Learner::write(const Checkpoints& checkpoints, const TrainingState& state) {
  if (whole_) {
    return checkpoints.save(state, whole_->tensors(), whole_->validated());
  }
  TrainingTensors all = tensors();
  const MovingAverage::InPlace average(average_ ? &*average_ : nullptr);
  if (average_) {
    all.masters = average.masters();
  }
  checkpoints.save(state, all, *trainables_, state.update == 0 ? OtherOptimizers() : other_optimizers());
}

OtherOptimizers Learner::other_optimizers() const {
  if (!outer_optimizer_) {
    return {};
  }
  const auto memory = std::make_shared<ReceivedOptimizer>(optimizer_->state());
  return {ranks_.all().count(), [this, memory](int rank) { return memory->receive(ranks_.all(), rank); }};
}

TrainingTensors Learner::tensors() const {
  return {trainables_->masters(), optimizer_->state(), average_ ? average_->view() : View(),
          outer_optimizer_ ? outer_optimizer_->momentum() : View()};
}

void Learner::compare_weights(const Ranks& ranks, std::string_view name) const {
  if (!ranks.is_alone()) {
    require_same_on_all_ranks(ranks, {{name, checksum_of_values(*trainables_)}});
  }
}

void Learner::end_run() {
  pipeline_.reset();
  stage_gradients_.reset();
  stage_exchange_.reset();
  exchange_.reset();
  outer_optimizer_.reset();
  average_.reset();
  optimizer_.reset();
  trainables_->discard_gradients();
}

}  // namespace heed
