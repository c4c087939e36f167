#include "train/learner/training_state.h"

#include <gmock/gmock.h>
#include <sys/resource.h>

#include <csignal>

#include "base/errors.h"
#include "base/system/files.h"
#include "kernels/cpu/cpu_backend.h"
#include "test_folder.h"
#include "train/run/metrics_log.h"

namespace heed::test {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

template <class Failure, class Action>
std::string message_of(Action&& action) {
  try {
    action();
  } catch (const Failure& error) {
    return error.what();
  }
  return "no error";
}

class RunFolder : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(folder_);
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path folder_ = test::folder_of_test();
};

class CheckpointFolder : public RunFolder {
 protected:
  void SetUp() override {
    RunFolder::SetUp();
    weights_.add("weight", {3, 2}, WeightUse::product, Initialization::zeros());
    trainables_.emplace(*backend_, weights_, DType::f32);
    optimizer_.emplace(*backend_, *trainables_, OptimizerConfig{});
  }

  TrainingTensors tensors() { return {trainables_->masters(), optimizer_->state(), {}}; }
  std::span<float> masters() { return {static_cast<float*>(host_address(trainables_->masters())), 6}; }
  void save(int64_t update) { checkpoints_.save({.update = update}, tensors(), *trainables_); }
  bool has(int64_t update, const std::string& file) const {
    return fs::exists(folder_ / "checkpoints" / fmt::format("update-{:08}", update) / file);
  }
  fs::path state_of(int64_t update) const {
    return folder_ / "checkpoints" / fmt::format("update-{:08}", update) / "state.json";
  }

  std::unique_ptr<Backend> backend_ = make_cpu_backend(1);
  Weights weights_;
  std::optional<Trainables> trainables_;
  std::optional<Optimizer> optimizer_;
  Checkpoints checkpoints_{folder_ / "checkpoints"};
};

TEST_F(CheckpointFolder, LoadsWhatWasSaved) {
  std::ranges::fill(masters(), 2.5F);
  const TrainingState saved{.update = 7,
                            .position = {.stream = 0xfedcba9876543210U, .epoch = 3, .pool = 1, .batch = 9},
                            .examples = 1234567890123,
                            .seconds = 0.1 + 0.2,
                            .metrics_bytes = 77,
                            .candidates = {{3, 1.0 / 3.0}, {6, -2.0}},
                            .arithmetic = "cpu, AVX2"};
  checkpoints_.save(saved, tensors(), *trainables_);
  std::ranges::fill(masters(), 0.0F);
  const TrainingState found = checkpoints_.load(7, *backend_, tensors());
  EXPECT_EQ(found.update, saved.update);
  EXPECT_EQ(found.position.stream, saved.position.stream);
  EXPECT_EQ(found.position.epoch, saved.position.epoch);
  EXPECT_EQ(found.position.pool, saved.position.pool);
  EXPECT_EQ(found.position.batch, saved.position.batch);
  EXPECT_EQ(found.examples, saved.examples);
  EXPECT_EQ(found.seconds, saved.seconds) << "to the bit";
  EXPECT_EQ(found.metrics_bytes, saved.metrics_bytes);
  ASSERT_EQ(found.candidates.size(), 2U);
  EXPECT_EQ(found.candidates[0].value, 1.0 / 3.0);
  EXPECT_EQ(found.candidates[1].update, 6);
  EXPECT_EQ(found.arithmetic, "cpu, AVX2");
  EXPECT_THAT(masters(), testing::Each(2.5F));
}

TEST_F(CheckpointFolder, FindsResumableCheckpoints) {
  EXPECT_THAT(checkpoints_.resumable(), testing::IsEmpty());
  save(9);
  save(10);
  save(100'000'000);  // more digits than names are padded to
  EXPECT_THAT(checkpoints_.resumable(), testing::ElementsAre(9, 10, 100'000'000));
  fs::remove(state_of(100'000'000));
  EXPECT_THAT(checkpoints_.resumable(), testing::ElementsAre(9, 10));
  fs::create_directories(folder_ / "checkpoints" / "update-00000011.partial");
  fs::create_directories(folder_ / "checkpoints" / "update-notes");
  EXPECT_THAT(checkpoints_.resumable(), testing::ElementsAre(9, 10));
}

TEST_F(CheckpointFolder, PruningKeepsTheNewestAndTheRequestedWeights) {
  for (const int64_t update : {1, 2, 3, 4}) {
    save(update);
  }
  checkpoints_.prune(1, {2});
  EXPECT_FALSE(has(1, ""));
  EXPECT_TRUE(has(2, "weights.safetensors"));
  EXPECT_FALSE(has(2, "state.json"));
  EXPECT_FALSE(has(2, "training.safetensors"));
  EXPECT_FALSE(has(3, ""));
  EXPECT_TRUE(has(4, "training.safetensors"));
}

TEST_F(CheckpointFolder, RefusesFilesThatAreNotStates) {
  save(1);
  const std::string state = read_file(state_of(1));
  const auto message = [&](const std::string& content) {
    write_file(state_of(1), content);
    return message_of<FormatError>([&] { checkpoints_.load(1, *backend_, tensors()); });
  };
  EXPECT_THAT(message(state.substr(0, state.size() / 2)), HasSubstr("state.json: is not JSON"));
  EXPECT_THAT(message("[]"), HasSubstr("state.json: is not JSON"));
  EXPECT_THAT(message("{}"), HasSubstr("is not a training state"));
  EXPECT_THAT(message(std::string(1'000'000, '[') + std::string(1'000'000, ']')), HasSubstr("nested deeper"));
  std::string other = state;
  other.replace(other.find("\"version\": 3"), 12, "\"version\": 9");
  EXPECT_THAT(message(other), HasSubstr("version 9, but this program reads 3"));
  std::string edited = state;
  edited.replace(edited.find("\"update\": 1"), 11, "\"update\": 7");
  EXPECT_THAT(message(edited), HasSubstr("state.json: its checksum does not match: it was damaged or edited"));
  save(2);
  EXPECT_THAT(message(read_file(state_of(2))), HasSubstr("is of update 2: it belongs in another folder"));
}

TEST_F(CheckpointFolder, DetectsDamagedWeights) {
  save(1);
  save(2);
  const std::vector<int64_t> updates{1, 2, 3};  // of 3 nothing was kept
  checkpoints_.verify_weights(updates);
  std::string bytes = read_file(checkpoints_.weights(1));
  bytes.back() ^= 1;
  write_file(checkpoints_.weights(1), bytes);
  EXPECT_THAT(message_of<FormatError>([&] { checkpoints_.verify_weights(updates); }), HasSubstr("damaged or edited"));
}

TEST_F(CheckpointFolder, NeedsTheChecksumsOfItsTensors) {
  save(1);
  const auto message_without = [&](const fs::path& file, auto&& action) {
    const std::string whole = read_file(file);
    std::string renamed = whole;
    renamed.replace(renamed.find("heed_checksum"), 13, "file_checkbit");
    write_file(file, renamed);
    const std::string message = message_of<FormatError>(action);
    write_file(file, whole);
    return message;
  };
  const auto load = [&] { checkpoints_.load(1, *backend_, tensors()); };
  const auto verify = [&] { checkpoints_.verify_weights(std::vector<int64_t>{1}); };
  EXPECT_THAT(message_without(state_of(1).parent_path() / "training.safetensors", load),
              HasSubstr("training.safetensors: its metadata have no 'heed_checksum'"));
  EXPECT_THAT(message_without(checkpoints_.weights(1), verify),
              HasSubstr("weights.safetensors: its metadata have no 'heed_checksum'"));
}

TEST_F(CheckpointFolder, RefusesTensorsOfAnotherModel) {
  save(1);
  Weights larger_weights;
  larger_weights.add("weight", {400, 2}, WeightUse::product, Initialization::zeros());
  Trainables larger(*backend_, larger_weights, DType::f32);
  const Optimizer optimizer(*backend_, larger, OptimizerConfig{});
  const TrainingTensors others{larger.masters(), optimizer.state(), {}};
  EXPECT_THAT(message_of<FormatError>([&] { checkpoints_.load(1, *backend_, others); }),
              HasSubstr("but the model needs"));
}

using Metrics = RunFolder;

TEST_F(Metrics, ContinueAfterTheBytesThatTheStateKnows) {
  const fs::path path = folder_ / "metrics.jsonl";
  int64_t known = 0;
  {
    MetricsLog log(path, 0);
    log.add("{\"a\": 1}");
    known = log.bytes();
    log.add("{\"b\": 2}");  // after the state that the run resumes from
  }
  MetricsLog log(path, known);
  log.add("{\"c\": 3}");
  EXPECT_EQ(read_file(path), "{\"a\": 1}\n{\"c\": 3}\n");
  EXPECT_EQ(log.bytes(), 18);
}

TEST_F(Metrics, RefuseAFileThatIsTooShort) {
  const fs::path path = folder_ / "metrics.jsonl";
  write_file(path, "{}\n");
  EXPECT_THAT(message_of<FormatError>([&] { MetricsLog(path, 4); }), HasSubstr("3 bytes, but the run"));
}

TEST_F(Metrics, ThatCannotBeWrittenAreErrors) {
  MetricsLog log(folder_ / "metrics.jsonl", 0);
  rlimit before{};
  getrlimit(RLIMIT_FSIZE, &before);
  const rlimit four_bytes{.rlim_cur = 4, .rlim_max = before.rlim_max};
  const auto handler = std::signal(SIGXFSZ, SIG_IGN);
  setrlimit(RLIMIT_FSIZE, &four_bytes);
  const std::string message = message_of<IoError>([&] { log.add("{\"a\": 1}"); });
  setrlimit(RLIMIT_FSIZE, &before);
  std::signal(SIGXFSZ, handler);
  EXPECT_THAT(message, HasSubstr("metrics.jsonl: cannot write: File too large"));
}

}  // namespace
}  // namespace heed::test
