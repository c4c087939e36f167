#include "parallel/pipeline.h"

#include <algorithm>
#include <deque>
#include <memory>

#include "parallel/stage_run.h"
#include "tensor/view_bytes.h"

namespace heed {
namespace {

template <class Message>
bool has_left(Message& message) {
  return std::ranges::all_of(message.sent, [](Transfer& transfer) { return transfer.is_done(); });
}

}  // namespace

class Pipeline::Run {
 public:
  Run(const Pipeline& pipeline, std::span<const Shard* const> shards, const ShardPass& pass, StageGradients& gradients);
  std::vector<TokenLosses> run();

 private:
  // A shard between the beginning of its forward and the end of its backward.
  struct Flight {
    explicit Flight(double loss_scale) : tape(loss_scale) {}

    Tape tape;
    StageEnds ends;
    std::vector<Tensor> gradients;  // of what went out, in its order
    std::vector<Transfer> inputs, incoming, sent;
  };

  // Embedded tokens of a shard, looked up for other stages; one of each per route.
  struct Lookup {
    Tape tape;
    std::vector<Var> rows;
    std::vector<Tensor> gradients;
    std::vector<Transfer> incoming, sent;
  };

  int64_t count() const { return static_cast<int64_t>(shards_.size()); }
  bool is_there(int64_t shard) const { return shards_[static_cast<size_t>(shard)] != nullptr; }
  bool is_last() const { return stage_.index == stage_.count - 1; }
  const Sequences& tokens(const StagePort& port, int64_t shard) const;

  void expect(int64_t shard);
  void forward(int64_t shard);
  void backward(int64_t shard);
  void differentiate(int64_t shard, Flight& flight);
  void look_up(int64_t shard);
  void finish_lookup(int64_t shard);

  Tensor room_for(const StagePort& port, int64_t shard) const;
  void receive_input(int from, const StagePort& port, int64_t shard);
  Transfer receive(int from, Channel channel, const View& into) const;
  Transfer send(int to, Channel channel, const ConstView& view) const;
  void send_back(int to, const StagePort& port, Flight& flight) const;
  void wait(std::vector<Transfer>& transfers) const;
  void forget_what_left();

  const Pipeline& own_;
  Backend& backend_;
  Stage stage_;
  std::span<const Shard* const> shards_;
  ShardPass pass_;
  StageGradients& gradients_;
  std::vector<StagePort> inputs_, outputs_;
  std::vector<EmbeddingRoute> read_, looked_up_;  // embeddings that this stage reads, and looks up, for another

  std::deque<std::unique_ptr<Flight>> flights_, leaving_;
  std::deque<std::unique_ptr<Lookup>> lookups_, leaving_lookups_;
  int64_t backwards_ = 0, lookups_done_ = 0;  // shards whose flight, or lookup, is over
  std::vector<TokenLosses> losses_;
};

Pipeline::Run::Run(const Pipeline& pipeline, std::span<const Shard* const> shards, const ShardPass& pass,
                   StageGradients& gradients)
    : own_(pipeline),
      backend_(pipeline.backend_),
      stage_{pipeline.stages_.rank(), pipeline.stages_.count()},
      shards_(shards),
      pass_(pass),
      gradients_(gradients),
      inputs_(pipeline.plan_.inputs_of(stage_.index)) {
  if (!is_last()) {
    outputs_ = pipeline.plan_.inputs_of(stage_.index + 1);
  }
  for (const EmbeddingRoute& route : pipeline.plan_.routes()) {
    if (route.reader == stage_.index) {
      read_.push_back(route);
    }
    if (route.home == stage_.index) {
      looked_up_.push_back(route);
    }
  }
}

const Sequences& Pipeline::Run::tokens(const StagePort& port, int64_t shard) const {
  const ShardTexts texts = shards_[static_cast<size_t>(shard)]->texts();
  return port.rows == StagePort::Rows::source ? texts.source : texts.target;
}

// The order of what a rank does follows from the number of shards alone, and whoever waits for a message waits for
// something that another rank does before it waits for this one, so that no rank waits forever.
std::vector<TokenLosses> Pipeline::Run::run() {
  const int64_t ahead = std::min<int64_t>(count(), stage_.count - 1 - stage_.index);
  for (int64_t shard = 0; shard < std::min<int64_t>(count(), stage_.count); ++shard) {
    look_up(shard);
  }
  expect(0);
  for (int64_t shard = 0; shard < ahead; ++shard) {
    forward(shard);
  }
  for (int64_t shard = ahead; shard < count(); ++shard) {
    forward(shard);
    backward(shard - ahead);
  }
  for (int64_t shard = count() - ahead; shard < count(); ++shard) {
    backward(shard);
  }
  while (lookups_done_ < count()) {
    finish_lookup(lookups_done_);
  }
  for (const std::unique_ptr<Flight>& flight : leaving_) {
    wait(flight->sent);
  }
  for (const std::unique_ptr<Lookup>& lookup : leaving_lookups_) {
    wait(lookup->sent);
  }
  gradients_.finish_update();
  return std::move(losses_);
}

// Begins to receive a shard's input.
void Pipeline::Run::expect(int64_t shard) {
  if (shard >= count()) {
    return;
  }
  flights_.push_back(std::make_unique<Flight>(pass_.loss_scale));
  if (!is_there(shard)) {
    return;
  }
  for (const StagePort& port : inputs_) {
    receive_input(stage_.index - 1, port, shard);
  }
  for (const EmbeddingRoute& route : read_) {
    receive_input(route.home, route.port, shard);
  }
}

void Pipeline::Run::receive_input(int from, const StagePort& port, int64_t shard) {
  Flight& flight = *flights_.back();
  Var& var = flight.ends.in(port.what);
  var = Var(room_for(port, shard), tokens(port, shard).segments().first_row());
  flight.inputs.push_back(receive(from, Channel::activations, var.value()));
}

void Pipeline::Run::forward(int64_t shard) {
  // An embedding's gradient of a shard is complete before its memory is needed again.
  if (!looked_up_.empty() && shard >= stage_.count) {
    finish_lookup(shard - stage_.count);
  }
  forget_what_left();
  Flight& flight = *flights_[static_cast<size_t>(shard - backwards_)];
  wait(flight.inputs);
  expect(shard + 1);
  if (!is_there(shard)) {
    return;
  }
  if (is_last()) {
    gradients_.begin(shard);  // the loss contributes already
  }
  Pass pass = Pass::train(backend_, own_.storage_, flight.tape, pass_.key);
  const Shard& text = *shards_[static_cast<size_t>(shard)];
  const std::optional<Hidden> hidden =
      run_stage(pass, own_.model_, own_.plan_.layers_of(stage_.index), text.texts(), flight.ends);
  if (hidden) {
    losses_.push_back(text.loss_of_hidden(pass, own_.model_, *hidden, pass_.smoothing));
  }
  for (const StagePort& port : outputs_) {
    flight.sent.push_back(send(stage_.index + 1, Channel::activations, flight.ends.out(port.what).value()));
    flight.gradients.push_back(room_for(port, shard));
    flight.incoming.push_back(receive(stage_.index + 1, Channel::derivatives, flight.gradients.back().view()));
  }
}

void Pipeline::Run::backward(int64_t shard) {
  ensure(shard == backwards_, "pipeline", "shard {} comes back after {}", shard, backwards_);
  if (is_there(shard)) {
    differentiate(shard, *flights_.front());
  } else {
    gradients_.skip(shard);
  }
  leaving_.push_back(std::move(flights_.front()));
  flights_.pop_front();
  ++backwards_;
  look_up(shard + stage_.count);
}

void Pipeline::Run::differentiate(int64_t shard, Flight& flight) {
  wait(flight.incoming);
  for (size_t i = 0; i < outputs_.size(); ++i) {
    flight.ends.out(outputs_[i].what).set_gradient(std::move(flight.gradients[i]));
  }
  if (!is_last()) {
    gradients_.begin(shard);
  }
  flight.tape.backward(backend_);
  for (const StagePort& port : inputs_) {
    send_back(stage_.index - 1, port, flight);
  }
  for (const EmbeddingRoute& route : read_) {
    send_back(route.home, route.port, flight);
  }
  gradients_.finish(shard);
}

// Where nothing contributed to a gradient, zeros.
void Pipeline::Run::send_back(int to, const StagePort& port, Flight& flight) const {
  Var& var = flight.ends.in(port.what);
  if (var.gradient().empty()) {
    backend_.fill(var.gradient_slot(backend_).view, 0.0);
  }
  flight.sent.push_back(send(to, Channel::derivatives, var.gradient()));
}

void Pipeline::Run::look_up(int64_t shard) {
  if (looked_up_.empty() || shard >= count() || !is_there(shard)) {
    return;
  }
  auto lookup = std::make_unique<Lookup>();
  Pass pass = Pass::train(backend_, own_.storage_, lookup->tape, pass_.key);
  for (const EmbeddingRoute& route : looked_up_) {
    lookup->rows.push_back(embedding_of(own_.model_, route.port.what)(pass, tokens(route.port, shard)));
    lookup->sent.push_back(send(route.reader, Channel::activations, lookup->rows.back().value()));
    lookup->gradients.push_back(room_for(route.port, shard));
    lookup->incoming.push_back(receive(route.reader, Channel::derivatives, lookup->gradients.back().view()));
  }
  lookups_.push_back(std::move(lookup));
}

// The tape runs backwards: the target's rows contribute to a table before those of the source, as in one process.
void Pipeline::Run::finish_lookup(int64_t shard) {
  ++lookups_done_;
  if (looked_up_.empty()) {
    return;
  }
  ensure(shard + 1 == lookups_done_, "pipeline", "the embeddings of shard {} come back too early", shard);
  if (!is_there(shard)) {
    return gradients_.skip_routed(shard);
  }
  Lookup& lookup = *lookups_.front();
  wait(lookup.incoming);
  for (size_t i = 0; i < lookup.rows.size(); ++i) {
    lookup.rows[i].set_gradient(std::move(lookup.gradients[i]));
  }
  gradients_.begin_routed(shard);
  lookup.tape.backward(backend_);
  gradients_.finish_routed(shard);
  leaving_lookups_.push_back(std::move(lookups_.front()));
  lookups_.pop_front();
}

Tensor Pipeline::Run::room_for(const StagePort& port, int64_t shard) const {
  return Tensor({tokens(port, shard).rows(), own_.model_.config().model}, own_.storage_, backend_.arena());
}

Transfer Pipeline::Run::receive(int from, Channel channel, const View& into) const {
  return own_.stages_.receive(from, channel, bytes_of(into));
}

Transfer Pipeline::Run::send(int to, Channel channel, const ConstView& view) const {
  return own_.stages_.send(to, channel, bytes_of(view));
}

void Pipeline::Run::wait(std::vector<Transfer>& transfers) const { own_.stages_.wait_for_all(transfers); }

// Gives back the memory of messages that have left.
void Pipeline::Run::forget_what_left() {
  while (!leaving_.empty() && has_left(*leaving_.front())) {
    leaving_.pop_front();
  }
  while (!leaving_lookups_.empty() && has_left(*leaving_lookups_.front())) {
    leaving_lookups_.pop_front();
  }
}

Pipeline::Pipeline(const Ranks& stages, Backend& backend, DType storage, const AnyModel& model, const StagePlan& plan)
    : stages_(stages), backend_(backend), storage_(storage), model_(model), plan_(plan) {
  ensure(stages.count() == plan.count(), "pipeline", "{} ranks for {} stages", stages.count(), plan.count());
}

std::vector<TokenLosses> Pipeline::accumulate_gradients(std::span<const Shard* const> shards, const ShardPass& pass,
                                                        StageGradients& gradients) {
  return Run(*this, shards, pass, gradients).run();
}

}  // namespace heed
