// What a prepared corpus is made of, with any values in its arrays and numbers but with the right checksums, so that
// the edits get past them: each task is built from it and gives its first updates.
//
// The first byte chooses the task; then each edit has four bytes: which array (or number), where in it, the value, and
// what is done with it.
#include <cstring>
#include <map>

#include "base/system/files.h"
#include "fuzz/fuzz.h"
#include "train/recipe/labeled_recipe.h"
#include "train/recipe/language_model_recipe.h"
#include "train/recipe/translation_recipe.h"
#include "train/tasks/tasks.h"

using namespace heed;

namespace {

class WrittenTask {
 public:
  explicit WrittenTask(Recipe recipe) : recipe_(std::move(recipe)) {
    task_ = recipe_.task->make_task(recipe_, {});
    task_->store(written_);
  }

  void read(std::span<const uint8_t> edits) const {
    std::vector<std::vector<uint64_t>> values;  // of each array: words, which aligns them
    std::vector<size_t> sizes;
    for (const FieldsToStore::Array& array : written_.arrays()) {
      values.emplace_back(array.bytes.size() / sizeof(uint64_t) + 1);
      std::ranges::copy(array.bytes, std::as_writable_bytes(std::span(values.back())).begin());
      sizes.push_back(array.bytes.size());
    }
    std::map<std::string, int64_t> numbers = written_.numbers();
    for (; edits.size() >= 4; edits = edits.subspan(4)) {
      const size_t which = edits[0] % (values.size() + 1);
      if (which == values.size() && numbers.empty()) {
        continue;
      }
      if (which == values.size()) {
        std::next(numbers.begin(), edits[1] % static_cast<int>(numbers.size()))->second = value_of(edits[2], edits[3]);
      } else if (edits[3] == 0) {
        sizes[which] = std::min(sizes[which], size_t{edits[1]} * size_of(written_.arrays()[which].type));
      } else {
        edit(written_.arrays()[which].type, values[which], edits);
      }
    }
    const StoredFields fields = sealed(values, sizes, numbers);
    fuzz::allow_refusal([&] { use(fields); });
  }

 private:
  static int64_t value_of(uint8_t value, uint8_t kind) {
    const int64_t number = value;
    switch (kind % 4) {
      case 1:
        return -number;
      case 2:
        return INT64_MAX - number;
      case 3:
        return INT64_MIN + number;
      default:
        return number;
    }
  }

  static void edit(FieldType type, std::vector<uint64_t>& words, std::span<const uint8_t> how) {
    const std::span<std::byte> bytes = std::as_writable_bytes(std::span(words));
    const size_t size = size_of(type), at = how[1] % (bytes.size() / size) * size;
    const int64_t value = value_of(how[2], how[3]);
    std::memcpy(bytes.data() + at, &value, size);
  }

  StoredFields sealed(const std::vector<std::vector<uint64_t>>& values, const std::vector<size_t>& sizes,
                      const std::map<std::string, int64_t>& numbers) const {
    StoredFields fields("fuzz");
    for (size_t i = 0; i < values.size(); ++i) {
      const FieldsToStore::Array& array = written_.arrays()[i];
      const auto copy = std::make_shared<const std::vector<uint64_t>>(values[i]);
      const auto bytes = std::as_bytes(std::span(*copy)).first(sizes[i]);
      fields.put(array.name,
                 {array.type, std::make_shared<CheckedBytes>(bytes, block_checksums(bytes), copy, array.name)});
    }
    for (const auto& [name, number] : numbers) {
      fields.put_number(name, number);
    }
    for (const auto& [name, text] : written_.texts()) {
      fields.put_text(name, text);
    }
    return fields;
  }

  void use(const StoredFields& fields) const {
    const std::unique_ptr<Task> task =
        recipe_.task->make_task(recipe_, {.tokenizers = &task_->tokenizers(), .stored = &fields});
    ensure(!task->describe_text().empty(), "fuzz", "nothing is said of the text");
    for (int64_t number = 0; number < 3; ++number) {
      const Update update = task->next_update(number);
      ensure(!update.shards.empty(), "fuzz", "an update without a shard");
      ensure(!task->describe_origins(update).empty(), "fuzz", "an update from nowhere");
      ensure(!task->list_origins(update).empty(), "fuzz", "an update from nowhere");
    }
  }

  Recipe recipe_;
  std::unique_ptr<Task> task_;
  FieldsToStore written_;
};

template <class Own>
Recipe recipe_of(const char* task) {
  Recipe recipe = default_recipe(task_named(task));
  recipe.of<Own>().tokenizer.learned.kind = TokenizerKind::character;
  recipe.of<Own>().tokenizer.learned.vocabulary = 0;
  recipe.model.max_length = 128;
  return recipe;
}

std::vector<WrittenTask> written_tasks(const std::filesystem::path& folder) {
  const std::string text = (folder / "text").string(), labels = (folder / "labels").string();
  write_file(text, "ab cd\nef\n\nabc\nf e d\n");
  write_file(labels, "ab\tx\ncd e\ty\nf\tx\n");
  Recipe pairs = recipe_of<TranslationRecipe>("translation");
  pairs.of<TranslationRecipe>().data.train_source = {text};
  pairs.of<TranslationRecipe>().data.train_target = {text};
  pairs.of<TranslationRecipe>().data.validation_source = {text};
  pairs.of<TranslationRecipe>().data.validation_target = {text};
  Recipe language = recipe_of<LanguageModelRecipe>("language-model");
  language.of<LanguageModelRecipe>().data.train = {text};
  language.of<LanguageModelRecipe>().data.validation = {text};
  language.of<LanguageModelRecipe>().data.documents = Documents::lines;
  language.of<LanguageModelRecipe>().data.batches = {.context = 4, .sequences = 2};
  Recipe labeled = recipe_of<ClassifyRecipe>("classify");
  labeled.of<ClassifyRecipe>().data.train = {labels};
  labeled.of<ClassifyRecipe>().data.validation = {labels};
  std::vector<WrittenTask> tasks;
  tasks.reserve(3);
  tasks.emplace_back(std::move(pairs));
  tasks.emplace_back(std::move(language));
  tasks.emplace_back(std::move(labeled));
  return tasks;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::ScratchFolder scratch;
  static const std::vector<WrittenTask> tasks = written_tasks(scratch.path());
  if (size > 0) {
    tasks[bytes[0] % tasks.size()].read({bytes + 1, size - 1});
  }
  return 0;
}
