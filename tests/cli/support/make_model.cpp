// Writes a model with random weights, for tests of the program and measurements:
//   heed_make_model DIRECTORY [name=value]...
//     architecture                             seq2seq (translation), causal-lm (a language model) or encoder
//     width layers heads inner max_length seed    of the model
//     kind vocabulary                          of the tokenizers
//     source target                            files to learn them from; heed's own German and English without;
//                                              a language model has the target's, and so has a source if `shared` is 1
//     scale                                    of the weights after initialization: more makes choices differ more
//     documents                                none, line, file or blank-line: what a language model's text was cut into
//     model.KEY                                any other key of [model]
// The same arguments give the same files.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <map>
#include <string>

#include "base/text/names.h"
#include "checkpoint/model_directory.h"
#include "checkpoint/weights.h"
#include "data/lines/line_reader.h"
#include "demo/german_english.h"
#include "kernels/cpu/cpu_backend.h"
#include "models/any_model.h"
#include "models/config_keys.h"
#include "text/tokenizer_training.h"

namespace heed {
namespace {

using Arguments = std::map<std::string, std::string>;

int64_t number(const Arguments& arguments, const std::string& name, int64_t otherwise) {
  const auto it = arguments.find(name);
  return it == arguments.end() ? otherwise : std::stoll(it->second);
}

std::string text(const Arguments& arguments, const std::string& name, const std::string& otherwise) {
  const auto it = arguments.find(name);
  return it == arguments.end() ? otherwise : it->second;
}

std::unique_ptr<Tokenizer> make_tokenizer(const Arguments& arguments, const std::string& side) {
  const TokenizerTraining training{.kind = parse_tokenizer_kind(text(arguments, "kind", "bpe")),
                                   .vocabulary = number(arguments, "vocabulary", 400),
                                   .user_symbols = {}};
  if (const std::string path = text(arguments, side, ""); !path.empty()) {
    LineReader reader(path);
    return train_tokenizer(training, [&](std::string& line) { return reader.next(line); });
  }
  const auto pairs = german_english_corpus(Split::training, 500);
  size_t next = 0;
  return train_tokenizer(training, [&](std::string& line) {
    if (next < pairs.size()) {
      line = side == "source" ? pairs[next].source : pairs[next].target;
    }
    return next++ < pairs.size();
  });
}

void make_model(const ModelFolder& folder, const Arguments& arguments) {
  std::filesystem::create_directories(folder.path);
  const std::string kind = text(arguments, "architecture", "seq2seq");
  const bool translates = kind == "seq2seq", encodes = kind == "encoder";
  Tokenizers tokenizers{make_tokenizer(arguments, "target")};
  if (translates) {
    const bool shares = number(arguments, "shared", 0) != 0;
    tokenizers.insert(tokenizers.begin(),
                      shares ? tokenizers.front() : Tokenizers::value_type(make_tokenizer(arguments, "source")));
  }
  const int64_t layers = number(arguments, "layers", 2);
  ModelConfig config{.architecture = translates ? Architecture::seq2seq
                                     : encodes  ? Architecture::encoder
                                                : Architecture::causal_lm,
                     .model = number(arguments, "width", 32),
                     .inner = number(arguments, "inner", 64),
                     .heads = number(arguments, "heads", 4),
                     .encoder_layers = translates || encodes ? layers : 0,
                     .decoder_layers = encodes ? 0 : layers,
                     .source_vocabulary = translates || encodes ? tokenizers.front()->vocabulary_size() : 0,
                     .target_vocabulary = encodes ? 0 : tokenizers.back()->vocabulary_size(),
                     .max_length = number(arguments, "max_length", 64)};
  const std::vector<SettingTable> settings{model_settings(config)};
  override_setting("model.positions=" + text(arguments, "positions", "sinusoidal"), settings);
  for (const auto& [name, value] : arguments) {
    if (name.starts_with("model.")) {
      override_setting(fmt::format("{}={}", name, value), settings);
    }
  }
  config.validate();
  save_description(folder, config, tokenizers,
                   value_named("documents", text(arguments, "documents", "none"), kDocumentNames));

  const auto backend = make_cpu_backend(1);
  Weights weights;
  const AnyModel model(Scope(weights), config);
  Trainables trainables(*backend, weights, DType::f32, Trainables::Gradients::none);
  trainables.initialize(*backend, static_cast<uint64_t>(number(arguments, "seed", 1)));
  backend->scale(trainables.masters(), static_cast<double>(number(arguments, "scale", 2)));
  save_weights(folder.weights(), trainables, mark_of(config));
}

}  // namespace
}  // namespace heed

int main(int argc, char** argv) {
  try {
    heed::Arguments arguments;
    for (int i = 2; i < argc; ++i) {
      const std::string argument = argv[i];
      const size_t equals = std::min(argument.find('='), argument.size() - 1);
      arguments[argument.substr(0, equals)] = argument.substr(equals + 1);
    }
    heed::make_model({argc > 1 ? argv[1] : "model"}, arguments);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
