// A call ends soon after it is stopped, in whatever state it is, and leaves nothing behind.
#include <gtest/gtest.h>

#include "decode/scheduling/calls_testing.h"
#include "decode/scheduling/scheduler.h"
#include "decode/texts/generation.h"

namespace heed::test {
namespace {

void expect_empty(const Scheduler& scheduler) {
  const Workload workload = scheduler.workload();
  EXPECT_EQ(workload.waiting, 0);
  EXPECT_EQ(workload.running, 0);
  EXPECT_EQ(workload.sequences, 0);
  EXPECT_EQ(workload.used_pages, 0);
}

TEST(Cancellation, WhileItWaitsForAPlace) {
  Endless model(1);
  const EndlessCall others(model, std::vector<std::string>(64, "two"), 1);
  EndlessCall waiting(model, {"ein Hund", "zur"}, 1, {}, EndlessCall::Begin::not_awaited);
  wait_until([&] { return model.scheduler->workload().waiting == 2; });
  const Workload before = model.scheduler->workload();
  EXPECT_EQ(before.waiting, 2);
  waiting.end();
  EXPECT_FALSE(waiting.has_begun());
  const Workload after = model.scheduler->workload();
  EXPECT_EQ(after.waiting, 0);
  EXPECT_EQ(after.running, 64);
}

// It is stopped before it begins: its prompt is not read.
TEST(Cancellation, BeforeItJoins) {
  for (const size_t prompts : {1U, 3U}) {
    Endless model(2);
    std::stop_source stop;
    stop.request_stop();
    const auto found = model.generate(std::vector<std::string>(prompts, "two"),
                                      {.max_tokens = 1'000'000, .interruption = {.stop = stop.get_token()}});
    EXPECT_EQ(found.back().front().reason, FinishReason::cancelled);
    EXPECT_EQ(found.back().front().tokens, 0);
    EXPECT_EQ(model.scheduler->workload().steps, 0);
    expect_empty(*model.scheduler);
  }
}

// Stops its call at a step of the model, which it sees by the workload.
TEST(Cancellation, BetweenTwoPartsOfALongPrompt) {
  RandomWeights weights(2);
  weights.draw({.architecture = Architecture::causal_lm,
                .model = 128,
                .inner = 256,
                .heads = 4,
                .encoder_layers = 0,
                .decoder_layers = 4,
                .source_vocabulary = 0,
                .target_vocabulary = 50,
                .max_length = 60'000},
               DType::f32, 3);
  struct Writer final : TextWriter {
    Verdict take_token(const Written&) override {
      ADD_FAILURE() << "the prompt was read to its end";
      return Verdict::ended;
    }
    void interrupt(Interrupted why) override { EXPECT_EQ(why, Interrupted::cancelled); }
  } writer;
  const std::vector<int32_t> prompt(60'000, 7);  // parts of 512 tokens
  const Sampler sampler({}, {});
  for (const size_t beside : {0U, 1U}) {
    Scheduler scheduler({*weights.model, *weights.backend, DType::f32});
    std::vector<std::unique_ptr<GenerationRequest>> requests;
    std::vector<Request*> all;
    for (size_t i = 0; i <= beside; ++i) {
      all.push_back(requests
                        .emplace_back(std::make_unique<GenerationRequest>(
                            GenerationTask{.prompt = prompt, .sampler = sampler}, writer))
                        .get());
    }
    std::stop_source stop;
    std::thread caller([&] { scheduler.run(all, {.stop = stop.get_token()}); });
    wait_until([&] { return scheduler.workload().steps >= 2; });
    stop.request_stop();
    caller.join();
    EXPECT_LT(scheduler.workload().tokens, 60'000);
    expect_empty(scheduler);
  }
}

TEST(Cancellation, WhileItWrites) {
  Endless model(2);
  const EndlessCall other(model, {"two"}, 1);
  EndlessCall writing(model, {"ein Hund", "zur", "a man"}, 2);
  wait_until([&] { return model.scheduler->workload().sequences == 7; });
  writing.end();
  const Workload after = model.scheduler->workload();
  EXPECT_EQ(after.running, 1);
  EXPECT_EQ(after.sequences, 1);
  EXPECT_LE(after.used_pages, 3) << "of 16 tokens: the other text has at most 40";
}

TEST(Cancellation, WhileItIsAlone) {
  Endless model(2);
  EndlessCall alone(model, {"two"}, 4);
  EXPECT_EQ(model.scheduler->workload().running, 1);
  alone.end();
  expect_empty(*model.scheduler);
}

// One that was alone goes on in a lane when another comes.
TEST(Cancellation, OfACallThatWasAloneBefore) {
  Endless model(2);
  EndlessCall first(model, {"two"}, 1), second(model, {"zur"}, 1);
  first.end();
  EXPECT_EQ(model.scheduler->workload().running, 1);
  second.end();
  expect_empty(*model.scheduler);
}

TEST(Cancellation, OfBeams) {
  RandomTranslator translator(DType::f32, 2, 5, 2000);
  translator.bias(translator.tokenizer->special().eos, -100.0F);  // to the limit of length
  for (const size_t lines : {1U, 5U}) {
    std::stop_source stop;
    std::thread caller([&] {
      EXPECT_THROW(translator.translate(std::vector<std::string>(lines, "two dogs"),
                                        {.beam = 4, .max_length = 2000, .interruption = {.stop = stop.get_token()}}),
                   InterruptedError);
    });
    wait_until([&] { return translator.scheduler->workload().steps > 2; });
    stop.request_stop();
    caller.join();
    expect_empty(*translator.scheduler);
  }
}

}  // namespace
}  // namespace heed::test
