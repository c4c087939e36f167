// A recipe: all settings of a training run. docs/recipes.md describes every key.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/settings.h"
#include "heed/types/precision.h"
#include "models/config.h"
#include "nn/weights/adapters.h"
#include "optim/optimizer.h"
#include "optim/schedule.h"
#include "parallel/outer_optimizer.h"
#include "train/tasks/task.h"

namespace heed {

struct TrainingRecipe {
  std::string task;             // its name in the table of tasks
  std::string from;             // the directory of a model whose weights the run begins from; empty: from random ones
  bool from_tokenizers = true;  // take that model's tokenizers too, unless the recipe names files of others
  std::vector<std::string> freeze;  // patterns of weights that are not trained; see base/text/pattern.h
  Precision precision = Precision::automatic;
  int64_t seed = 1;
  int64_t epochs = 0, updates = 0;  // whichever comes first ends the run; 0: no limit
  double minutes = 0.0;
  int64_t accumulate = 1;              // batches per update
  int64_t shards = 0;                  // of an update, a multiple of its batches; 0: as many
  WireType gradients = WireType::f32;  // between ranks; also differences, where they train on their own
  int64_t local_updates = 0;           // of each rank alone, between outer steps; 0: none
  OuterStep outer;                     // of such runs
  std::string layout;                  // of the ranks; see parse_layout
  double smoothing = 0.1;
  int64_t log_every = 50;  // updates
};

// Learning from a teacher's probabilities, beside the text; see ops/loss/lesson.h.
struct DistilRecipe {
  std::string teacher;  // the directory of a model with the same vocabulary or labels; empty: none
  double temperature = 1.0;
  double weight = 0.5;  // of the divergence from the teacher in the loss
};

struct ValidationRecipe {
  int64_t every = 500;   // updates; 0: after each epoch
  int64_t patience = 0;  // validations without improvement before the run stops; 0: it does not stop
};

enum class FinalWeights : uint8_t { last, best, average_of_last, average_of_best, moving_average };

struct CheckpointRecipe {
  int64_t every = 0;            // updates; 0: with each validation
  int64_t keep = 2;             // states to resume from
  int64_t average = 5;          // checkpoints that are averaged
  double moving_average = 0.0;  // decay of an exponential moving average; 0: none
  FinalWeights final_weights = FinalWeights::average_of_best;
};

struct Recipe;

// A number of sequences, all of one length.
struct BatchSize {
  int64_t sequences = 0, length = 0;
};

// A file that a recipe names, and the key that names it.
struct RecipeFile {
  std::string key, name;
};

// The task's own part of a recipe: [data], [tokenizer] and keys in other tables.
class TaskRecipe {
 public:
  virtual ~TaskRecipe() = default;
  virtual std::unique_ptr<TaskRecipe> clone() const = 0;
  // Sets this task's defaults in the tables that every recipe has.
  virtual void set_defaults(Recipe&) const {}
  // Bound to this. A table with the name of one that every recipe has adds its keys to that one.
  virtual std::vector<SettingTable> settings() = 0;
  // Throws ConfigError, with a message that a user can act on.
  virtual void validate(const Recipe& recipe) const = 0;
  // The key that names the validation text, and whether there is one.
  virtual std::string_view validation_key() const = 0;
  virtual bool has_validation_text() const = 0;
  // The files of [data] and [tokenizer], in the order of the keys.
  virtual std::vector<RecipeFile> files() const = 0;
  // The size of a batch whose sequences all have this length; 0: the usual length.
  virtual BatchSize batch_size(int64_t length) const = 0;
  // The vocabulary size for each role of the model. For tokenizers that learn pieces the largest allowed size is
  // assumed; characters, words and the tokens of a tokenizer's file are counted, for which the text or the file is
  // read.
  virtual std::vector<int64_t> vocabulary_sizes() const = 0;
  // Reads the text.
  virtual std::unique_ptr<Task> make_task(const Recipe& recipe, const TaskSetup& setup) const = 0;
};

struct Recipe {
  Recipe(std::string_view task, ModelConfig model_of_task, std::unique_ptr<TaskRecipe> defaults);
  Recipe(const Recipe& other);
  Recipe& operator=(const Recipe& other);
  Recipe(Recipe&&) = default;
  Recipe& operator=(Recipe&&) = default;

  ModelConfig model;
  AdapterConfig adapter;
  OptimizerConfig optimizer;
  ScheduleConfig schedule;
  TrainingRecipe training;
  DistilRecipe distil;
  ValidationRecipe validation;
  CheckpointRecipe checkpoints;
  std::string prepared;  // the folder of a prepared corpus, instead of the text; see train/corpus/prepared_corpus.h
  std::unique_ptr<TaskRecipe> task;

  // The task's part, which must be of this kind.
  template <class Own>
  Own& of() {
    return dynamic_cast<Own&>(*task);
  }
  template <class Own>
  const Own& of() const {
    return dynamic_cast<const Own&>(*task);
  }
  template <class Own>
  const Own* find() const {
    return dynamic_cast<const Own*>(task.get());
  }

  // Throws ConfigError, with a message that a user can act on. Does not check vocabulary sizes, which the tokenizers
  // decide.
  void validate() const;
  // Also for settings without effect, which the recipe of an older run may have.
  void validate_for_new_run() const;
};

// ConfigError for an adapter without a model, or with an optimizer that does not fit it.
void validate_adapter(const Recipe& recipe);

// ConfigError unless an update has batches, and shards that divide each of them.
void validate_update(const TrainingRecipe& training);

// How many shards each of an update's batches is cut into.
inline int64_t shards_per_batch(const TrainingRecipe& training) {
  return training.shards == 0 ? 1 : training.shards / training.accumulate;
}

// The type of activations and products in training: bf16, unless f32 is requested.
DType storage_of(Precision precision);

// The model whose tokenizers the run takes: that which it begins from, or its teacher. Empty: it has its own.
std::string model_of_tokenizers(const Recipe& recipe);
inline bool takes_tokenizers(const Recipe& recipe) { return !model_of_tokenizers(recipe).empty(); }
// The files of [tokenizer], one for each role; none: they are learned, or taken from that model.
std::vector<std::string> tokenizer_files(const Recipe& recipe);

// Appends the files that a key names.
void add_files(std::vector<RecipeFile>& files, const std::string& key, const std::vector<std::string>& names);

// All tables of a recipe, bound to it.
std::vector<SettingTable> recipe_settings(Recipe& recipe);

// Reads a recipe and applies `overrides` ("table.key=value"). Its task is the one that training.task names, or else the
// one that trains models of its architecture. Opens no other file.
Recipe parse_recipe(std::string_view toml, std::string_view name, const std::vector<std::string>& overrides);
// The same, but settings of [model] that it leaves out are those of the model that training.from names.
Recipe parse_continued_recipe(std::string_view toml, std::string_view name);
// The same for a file. Files that it names are looked for beside it, and then where heed was started; files that
// `overrides` name, only there. Settings of [model] that it leaves out are those of the model that training.from names,
// as continued_model() says; or those of the run in the folder `run`, if there is one, which is to be resumed.
Recipe read_recipe(const std::string& file, const std::vector<std::string>& overrides,
                   const std::filesystem::path& run = {});
inline constexpr std::string_view kStages = "stages";  // the list of tables in a file

// One of the stages of a file, which is read as a recipe of its own; see train/stages/staged_recipe.h.
struct StageInFile {
  ListedTable listed;
  // Puts the path in place of a name that stands for a file or folder elsewhere; whether it was one.
  std::function<bool(std::string& name)> place;
  // The model in a folder that is not there yet; null: none will be.
  std::function<const ModelConfig*(const std::string& folder)> planned;
};
// Reads it as read_recipe() reads a file.
Recipe read_stage(const std::string& file, const std::vector<std::string>& overrides, const std::filesystem::path& run,
                  const StageInFile& stage);
// Puts the path beside the recipe in place of a name that a file there has.
void look_beside(const std::string& file, std::string& name);
// ConfigError for a file of text or of a tokenizer that is in neither place. Those in `later` are still to be written.
void require_files(const Recipe& recipe, const std::string& file, const std::filesystem::path& later = {});
// The recipe's model with vocabularies of one token, for what does not depend on them.
ModelConfig model_of_any_text(const Recipe& recipe);
// The recipe's model before its tokenizers exist, with vocabulary sizes filled in by vocabulary_sizes(). Valid;
// ConfigError begins with `name`.
ModelConfig sized_model(const Recipe& recipe, std::string_view name);
std::string to_toml(const Recipe& recipe);  // every key

// A key whose value differs between two recipes.
struct RecipeDifference {
  std::string key, before, now;
};
std::vector<RecipeDifference> differences(const Recipe& before, const Recipe& now);

}  // namespace heed
