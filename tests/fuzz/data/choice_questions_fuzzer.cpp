// Files of questions with choices: each that is read has a right one.
#include "data/corpus/choice_questions.h"
#include "fuzz/fuzz.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  const fuzz::MemoryFile file(fuzz::text_of(bytes, size));
  fuzz::allow_refusal([&] {
    for (const ChoiceQuestion& question : read_choice_questions(file.path())) {
      ensure(question.answer < question.item.texts.size(), "fuzz", "a question without a right choice");
    }
  });
  return 0;
}
