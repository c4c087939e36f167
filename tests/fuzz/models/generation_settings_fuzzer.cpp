// A generation_config.json, of a translator and of a language model.
#include "fuzz/fuzz.h"
#include "interchange/huggingface/generation_settings.h"

using namespace heed;

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* bytes, size_t size) {
  static const fuzz::ScratchFolder scratch;
  const std::filesystem::path folder = scratch.path();
  if (!std::filesystem::exists(folder / "config.json")) {
    scratch.write("config.json", R"({"model_type": "mbart"})");
  }
  scratch.write("generation_config.json", fuzz::text_of(bytes, size));
  for (const Architecture architecture : {Architecture::seq2seq, Architecture::causal_lm}) {
    fuzz::allow_refusal([&] {
      ForeignModel model;
      model.config.architecture = architecture;
      model.config.target_vocabulary = 60;
      ConfigFile config(folder / "config.json");
      read_generation_settings(folder, config, model);
      for (const int32_t token : model.marks.suppressed) {
        ensure(token >= 0 && token < 60, "fuzz", "token {} of 60", token);
      }
      TranslationOptions translation;
      model.decoding.apply_to(translation);
      GenerationOptions generation;
      model.decoding.apply_to(generation);
    });
  }
  return 0;
}
