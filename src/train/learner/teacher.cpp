#include "train/learner/teacher.h"

#include <filesystem>

#include "ops/loss/lesson.h"

namespace heed {
namespace {

// How a student's vocabulary differs from that of its teacher; empty when it does not.
std::string vocabulary_difference(const Tokenizer& student, const Tokenizer& teacher) {
  if (student.vocabulary_size() != teacher.vocabulary_size()) {
    return fmt::format("{} tokens, the teacher's {}", student.vocabulary_size(), teacher.vocabulary_size());
  }
  for (int32_t id = 0; id < static_cast<int32_t>(student.vocabulary_size()); ++id) {
    const std::string_view own = student.piece(TokenId(id)), other = teacher.piece(TokenId(id));
    if (own != other) {
      return fmt::format("token {} '{}', the teacher's '{}'", id, own, other);
    }
  }
  return student.special() == teacher.special() ? "" : "other special tokens than the teacher";
}

}  // namespace

Teacher::Teacher(const Recipe& recipe, const Tokenizers& of_student, Backend& backend)
    : recipe_(recipe.distil),
      model_(ModelFolder{recipe.distil.teacher}, backend, storage_of(recipe.training.precision)) {
  const ModelConfig& teacher = model_.config();
  require<ConfigError>(teacher.architecture == recipe.model.architecture, "distil.teacher", "{} is {}, the student {}",
                       recipe_.teacher, describe(teacher.architecture), describe(recipe.model.architecture));
  require<ConfigError>(teacher.head == recipe.model.head, "distil.teacher",
                       "{} has another head than the student: what the one predicts, the other does not",
                       recipe_.teacher);
  require<ConfigError>(teacher.max_length >= recipe.model.max_length, "distil.teacher",
                       "{} takes at most {} tokens, but model.max_length of the student is {}", recipe_.teacher,
                       teacher.max_length, recipe.model.max_length);
  const std::span<const TokenizerRole> roles = tokenizer_roles(teacher.architecture);
  for (size_t i = 0; i < roles.size(); ++i) {
    const std::string differs = vocabulary_difference(*of_student[i], model_.tokenizer(roles[i].name));
    require<ConfigError>(differs.empty(), "distil.teacher",
                         "the student's {} vocabulary is not that of {}: it has {}; take the teacher's tokenizers",
                         roles[i].name, recipe_.teacher, differs);
  }
  require<ConfigError>(!teacher.has_labels() || teacher.labels == recipe.model.labels, "distil.teacher",
                       "the labels of {} are not the student's, or in another order: set model.labels to {}",
                       recipe_.teacher, in_quotes(teacher.labels));
}

std::vector<std::string> Teacher::labels_of(const Recipe& recipe) {
  return load_description(ModelFolder{recipe.distil.teacher}).config.labels;
}

TokenLosses Teacher::loss(Pass& pass, const AnyModel& student, const Shard& shard, Smoothing smoothing) const {
  Lesson lesson{.temperature = recipe_.temperature, .weight = recipe_.weight};
  Pass reading = Pass::infer(pass.backend(), pass.storage()).giving(lesson);
  shard.loss(reading, model_.model(), Smoothing(0.0F));
  Pass learning = pass.learning(lesson);
  return shard.loss(learning, student, smoothing);
}

}  // namespace heed
