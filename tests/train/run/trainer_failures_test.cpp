#include <gmock/gmock.h>
#include <sentencepiece_trainer.h>
#include <sys/resource.h>

#include <cmath>
#include <csignal>
#include <cstring>

#include "tensor_files/safetensors.h"
#include "train/run/trainer.h"
#include "train/training_testing.h"

namespace heed::test {
namespace {

using testing::HasSubstr;

// While it lives, no file can be larger than `bytes`, as on a full disk.
class SmallDisk {
 public:
  explicit SmallDisk(rlim_t bytes) : handler_(std::signal(SIGXFSZ, SIG_IGN)) {
    getrlimit(RLIMIT_FSIZE, &before_);
    const rlimit little{.rlim_cur = bytes, .rlim_max = before_.rlim_max};
    setrlimit(RLIMIT_FSIZE, &little);
  }
  ~SmallDisk() {
    setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  SmallDisk(const SmallDisk&) = delete;
  SmallDisk& operator=(const SmallDisk&) = delete;

 private:
  rlimit before_{};
  void (*handler_)(int);
};

class TrainingFailure : public TrainingTest {
 protected:
  std::string message(const Recipe& recipe, const std::string& name, TrainStart start = TrainStart::fresh) {
    try {
      train(recipe, name, start);
    } catch (const Error& error) {
      return error.what();
    }
    return "no error";
  }
};

TEST_F(TrainingFailure, StopsAtNaN) {
  Recipe recipe = small_recipe();
  recipe.schedule = {.kind = ScheduleKind::constant, .peak = 1e30, .warmup = 0};
  try {
    train(recipe, "run");
    FAIL() << "a rate of 1e30 went unnoticed";
  } catch (const NumericError& error) {
    EXPECT_THAT(error.what(), HasSubstr("train.de:"));
    EXPECT_THAT(error.what(), HasSubstr("checkpoints/update-"));
  }
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run" / "model.safetensors"));
  EXPECT_THAT(read_file(folder_ / "run" / "failed-batch.txt"), HasSubstr("train.de:"));
  // What was saved goes on where the rate, say, is mended in another run: its numbers are numbers.
  const Checkpoints checkpoints(folder_ / "run" / "checkpoints");
  const SafeTensors saved(checkpoints.weights(checkpoints.resumable().back()));
  for (const StoredTensor& tensor : saved.tensors()) {
    for (size_t i = 0; i < tensor.bytes.size(); i += sizeof(float)) {
      float value = 0.0F;
      std::memcpy(&value, tensor.bytes.data() + i, sizeof value);
      ASSERT_TRUE(std::isfinite(value)) << tensor.text();
    }
  }
}

TEST_F(TrainingFailure, StopsWhenTheValidationLossIsNaN) {
  for (const bool bleu : {false, true}) {
    Recipe recipe = small_recipe();
    recipe.schedule = {.kind = ScheduleKind::constant, .peak = 1e37, .warmup = 0};
    recipe.optimizer.weight_decay = 0.0;
    recipe.validation.every = 1;
    task(recipe).validation.bleu = bleu;
    task(recipe).validation.best_by = bleu ? BestBy::bleu : BestBy::loss;
    EXPECT_THROW(train(recipe, bleu ? "with" : "without"), NumericError);
    const Checkpoints checkpoints(folder_ / (bleu ? "with" : "without") / "checkpoints");
    EXPECT_EQ(checkpoints.resumable(), std::vector<int64_t>{0});
  }
}

TEST_F(TrainingFailure, RefusesFoldersOfOtherRuns) {
  const Recipe recipe = small_recipe();
  EXPECT_THAT(message(recipe, "run", TrainStart::resume), HasSubstr("holds no run to resume"));
  train(recipe, "run");
  EXPECT_THAT(message(recipe, "run", TrainStart::fresh), HasSubstr("holds a run already"));
  Recipe other = recipe;
  other.model.inner = 65;
  EXPECT_THAT(message(other, "run", TrainStart::resume), HasSubstr("model.inner was 64 and is 65 now"));
  write_file(folder_ / "train.de", read_file(folder_ / "train.de") + "noch ein Satz.\n");
  write_file(folder_ / "train.en", read_file(folder_ / "train.en") + "one more sentence.\n");
  EXPECT_THAT(message(recipe, "run", TrainStart::resume), HasSubstr("the text is not the one"));
}

TEST_F(TrainingFailure, RefusesPartsThatDoNotBelongTogether) {
  const Recipe recipe = small_recipe();
  train(recipe, "run");
  const auto refusal_of = [&](const std::string& file, const std::function<std::string(std::string)>& edit) {
    const std::filesystem::path path = folder_ / "run" / file;
    const std::string content = read_file(path);
    write_file(path, edit(content));
    const std::string found = message(recipe, "run", TrainStart::resume);
    write_file(path, content);
    return found;
  };
  const auto halved = [](const std::string& text) { return text.substr(0, text.size() / 2); };
  const auto replaced = [](std::string from, std::string to) {
    return [=](std::string text) { return text.replace(text.find(from), from.size(), to); };
  };
  EXPECT_THAT(refusal_of("config.json", replaced("\"heads\": 2", "\"heads\": 4")),
              HasSubstr("config.json: model.heads is 4, but the run's recipe.toml says 2"));
  EXPECT_THAT(refusal_of("shared.tokenizer", replaced("is", "si")), HasSubstr("shared.tokenizer: "));
  EXPECT_THAT(refusal_of("checkpoints/update-00000024/training.safetensors", halved),
              HasSubstr("training.safetensors"));
  EXPECT_THAT(refusal_of("checkpoints/update-00000024/state.json", halved), HasSubstr("state.json: is not JSON"));
  EXPECT_THAT(refusal_of("metrics.jsonl", halved), HasSubstr("metrics.jsonl: "));
}

TEST_F(TrainingFailure, AHalfDeletedCheckpointIsNotResumedFrom) {
  Recipe recipe = small_recipe();
  train(recipe, "unbroken");
  train(recipe, "run");
  std::filesystem::remove(folder_ / "run" / "checkpoints" / "update-00000024" / "training.safetensors");
  listening_.messages.clear();
  train(recipe, "run", TrainStart::resume);
  EXPECT_THAT(listening_.messages, testing::Contains("resuming after update 16"));
  EXPECT_EQ(weights("run"), weights("unbroken"));
}

TEST_F(TrainingFailure, ARunThatCannotStartLeavesNothingBehind) {
  const Recipe recipe = small_recipe();
  std::filesystem::create_directories(folder_ / "run");
  write_file(folder_ / "run" / "mine", "a file that was there");
  std::filesystem::create_directories(folder_ / "run" / "recipe.toml.d");
  {
    const SmallDisk disk(20'000);  // enough for the tokenizer
    EXPECT_THAT(message(recipe, "run"), HasSubstr("File too large"));
  }
  std::vector<std::string> left;
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "run")) {
    left.push_back(entry.path().filename().string());
  }
  EXPECT_THAT(left, testing::UnorderedElementsAre("mine", "recipe.toml.d"));
}

TEST_F(TrainingFailure, AFullDiskLeavesTheLastCheckpoint) {
  Recipe recipe = small_recipe();
  train(recipe, "unbroken");
  recipe.training.updates = 8;
  train(recipe, "run");
  recipe.training.updates = 24;
  {
    const SmallDisk disk(20'000);
    EXPECT_THAT(message(recipe, "run", TrainStart::resume), HasSubstr("File too large"));
  }
  for (const auto& entry : std::filesystem::directory_iterator(folder_ / "run" / "checkpoints")) {
    EXPECT_NE(entry.path().extension(), ".partial");
  }
  train(recipe, "run", TrainStart::resume);
  EXPECT_EQ(weights("run"), weights("unbroken"));
}

TEST_F(TrainingFailure, ATokenizerWithoutMarksIsRefusedByItsFile) {
  const auto status = sentencepiece::SentencePieceTrainer::Train({{"input", file("train.de")},
                                                                  {"model_prefix", file("foreign")},
                                                                  {"model_type", "bpe"},
                                                                  {"bos_id", "-1"},
                                                                  {"vocab_size", "120"},
                                                                  {"minloglevel", "4"}});
  ASSERT_TRUE(status.ok()) << status.ToString();
  Recipe recipe = small_recipe();
  task(recipe).tokenizer.source = task(recipe).tokenizer.target = file("foreign.model");
  EXPECT_THAT(message(recipe, "run"), HasSubstr("foreign.model: has no bos"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(TrainingFailure, SubwordDropoutNeedsABpeTokenizer) {
  Recipe recipe = small_recipe();
  save_tokenizer(*make_tokenizers(task(recipe)).front(), folder_ / "words");
  task(recipe).tokenizer.source = task(recipe).tokenizer.target = file("words");
  task(recipe).tokenizer.target_dropout = 0.1;
  EXPECT_THAT(message(recipe, "run"), HasSubstr("subword dropout: drops merges of bpe, but this tokenizer is word"));
  EXPECT_FALSE(std::filesystem::exists(folder_ / "run"));
}

TEST_F(TrainingFailure, RefusesInvalidRecipes) {
  const auto refuse = [&](const std::function<void(Recipe&)>& change, std::string_view mention) {
    Recipe recipe = small_recipe();
    change(recipe);
    try {
      recipe.validate();
      ADD_FAILURE() << "accepted; expected " << mention;
    } catch (const ConfigError& error) {
      EXPECT_THAT(error.what(), HasSubstr(std::string(mention)));
    }
  };
  refuse([](Recipe& r) { task(r).data.train_source.clear(); }, "train_source");
  refuse([](Recipe& r) { task(r).data.train_target.push_back("x"); }, "1 files, train_target 2");
  refuse([](Recipe& r) { task(r).data.validation_target.clear(); }, "validation_source");
  refuse([](Recipe& r) { r.training.updates = 0; }, "nothing would end the run");
  refuse([](Recipe& r) { r.training.accumulate = 0; }, "accumulate");
  refuse([](Recipe& r) { r.training.accumulate = 2, r.training.shards = 3; }, "training.shards is 3");
  refuse([](Recipe& r) { r.training.shards = -1; }, "training.shards is -1");
  refuse([](Recipe& r) { r.training.gradients = WireType::int8; }, "they need training.local_updates");
  refuse([](Recipe& r) { r.training.gradients = WireType::int4; }, "they need training.local_updates");
  refuse([](Recipe& r) { r.training.smoothing = 1.0; }, "smoothing");
  refuse([](Recipe& r) { task(r).tokenizer.shared = false; }, "tokenizer.shared");
  refuse([](Recipe& r) { task(r).tokenizer.target_dropout = 0.1; }, "but tokenizer.kind is \"word\"");
  refuse([](Recipe& r) { task(r).tokenizer.learned.kind = TokenizerKind::bpe; }, "tokenizer.vocabulary is 0");
  refuse(
      [](Recipe& r) {
        task(r).tokenizer.learned.kind = TokenizerKind::bpe;
        task(r).tokenizer.learned.vocabulary = 300;
        task(r).tokenizer.source_dropout = 1.0;
      },
      "tokenizer.source_dropout is 1");
  refuse([](Recipe& r) { task(r).tokenizer.source = "x"; }, "must be given together");
  refuse([](Recipe& r) { task(r).tokenizer.source = "x", task(r).tokenizer.target = "y"; }, "one tokenizer for both");
  refuse([](Recipe& r) { r.schedule.peak = -1.0; }, "peak");
  refuse([](Recipe& r) { task(r).data.max_length = 64; }, "model.max_length");
  refuse([](Recipe& r) { task(r).data.batches = {.target_tokens = 0}; }, "a batch needs a size");
  refuse([](Recipe& r) { r.checkpoints.final_weights = FinalWeights::moving_average; }, "there is none");
  refuse([](Recipe& r) { task(r).validation.bleu = false; }, "best_by");
  refuse([](Recipe& r) { task(r).data.validation_source = task(r).data.validation_target = {}; },
         "needs data.validation_source");
  refuse(
      [](Recipe& r) {
        task(r).data.validation_source = task(r).data.validation_target = {};
        r.checkpoints.final_weights = FinalWeights::average_of_last;
      },
      "needs data.validation_source");
  refuse([](Recipe& r) { task(r).validation.beam = 5000; }, "beam is 5000");
  refuse([](Recipe& r) { task(r).validation.length_penalty = std::nan(""); }, "length_penalty is nan");
  refuse([](Recipe& r) { r.model.heads = 5; }, "heads 5 does not divide");
  refuse([](Recipe& r) { r.optimizer.beta1 = 1.0; }, "beta1 is 1");
  refuse([](Recipe& r) { task(r).data.batches.pool = 0; }, "data.pool is 0");
  refuse([](Recipe& r) { task(r).data.memory_megabytes = int64_t{1} << 50; }, "memory_megabytes");
  refuse([](Recipe& r) { r.training.epochs = int64_t{1} << 60; }, "epochs");
}

}  // namespace
}  // namespace heed::test
