// Models for tests of the C library, and what they do about errors.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "heed.h"

namespace heed::test {

// The code of an error, which is freed; HEED_OK for none.
inline int code_of(heed_error* error) {
  const int code = heed_error_code(error);
  heed_error_free(error);
  return code;
}

// Its message.
inline std::string message_of(heed_error* error) {
  std::string message = heed_error_message(error);
  heed_error_free(error);
  return message;
}

#define HEED_EXPECT_OK(call) EXPECT_EQ(::heed::test::message_of(call), "")
#define HEED_ASSERT_OK(call) ASSERT_EQ(::heed::test::message_of(call), "")

// A translator and a language model with random weights, made once.
class CModels {
 public:
  CModels() {
    make("translator", "");
    make("writer", "architecture=causal-lm");
    make("word-translator", "kind=wordpiece");
  }
  ~CModels() { std::filesystem::remove_all(folder_); }
  CModels(const CModels&) = delete;
  CModels& operator=(const CModels&) = delete;

  static const CModels& made() {
    static const CModels models;
    return models;
  }
  std::string translator() const { return (folder_ / "translator").string(); }
  // Without SentencePiece, whose library ends the process where there is no memory.
  std::string word_translator() const { return (folder_ / "word-translator").string(); }
  std::string writer() const { return (folder_ / "writer").string(); }
  std::string tokenizer() const { return (folder_ / "writer" / "text.tokenizer").string(); }

 private:
  void make(const std::string& name, const std::string& arguments) {
    std::filesystem::create_directories(folder_);
    const std::string command = "'" HEED_MAKE_MODEL "' '" + (folder_ / name).string() + "' " + arguments;
    if (std::system(command.c_str()) != 0) {
      ADD_FAILURE() << command;
    }
  }

  std::filesystem::path folder_ =
      std::filesystem::path(testing::TempDir()) / ("heed-c-models-" + std::to_string(getpid()));
};

template <auto kFree>
struct FreedBy {
  template <class Handle>
  void operator()(Handle* handle) const {
    kFree(handle);
  }
};
using OptionsOwner = std::unique_ptr<heed_options, FreedBy<heed_options_free>>;
using TranslatorOwner = std::unique_ptr<heed_translator, FreedBy<heed_translator_free>>;
using GeneratorOwner = std::unique_ptr<heed_generator, FreedBy<heed_generator_free>>;
using EncoderOwner = std::unique_ptr<heed_encoder, FreedBy<heed_encoder_free>>;
using TextsOwner = std::unique_ptr<heed_texts, FreedBy<heed_texts_free>>;

struct IntOption {
  heed_option option;
  int64_t value;
};
inline OptionsOwner make_options(const std::vector<IntOption>& values = {}) {
  heed_options* options = nullptr;
  HEED_EXPECT_OK(heed_options_create(&options));
  for (const IntOption& value : values) {
    HEED_EXPECT_OK(heed_options_set_int(options, value.option, value.value));
  }
  return OptionsOwner(options);
}

inline TranslatorOwner open_translator(const std::vector<IntOption>& options = {{HEED_THREADS, 1}},
                                       const std::string& directory = CModels::made().translator()) {
  heed_translator* translator = nullptr;
  HEED_EXPECT_OK(heed_translator_open(directory.c_str(), make_options(options).get(), &translator));
  return TranslatorOwner(translator);
}

inline GeneratorOwner open_generator() {
  heed_generator* generator = nullptr;
  HEED_EXPECT_OK(
      heed_generator_open(CModels::made().writer().c_str(), make_options({{HEED_THREADS, 1}}).get(), &generator));
  return GeneratorOwner(generator);
}

// Texts of lines that end with a zero byte.
inline TextsOwner translate(const TranslatorOwner& translator, const std::vector<const char*>& lines,
                            const heed_options* options = nullptr) {
  heed_texts* texts = nullptr;
  HEED_EXPECT_OK(heed_translator_translate(translator.get(), lines.data(), nullptr, lines.size(), options, &texts));
  return TextsOwner(texts);
}

inline std::string text_at(const TextsOwner& texts, size_t input, size_t sample = 0) {
  const char* text = nullptr;
  size_t length = 0;
  HEED_EXPECT_OK(heed_texts_text(texts.get(), input, sample, &text, &length));
  return text == nullptr ? std::string() : std::string(text, length);
}

}  // namespace heed::test
