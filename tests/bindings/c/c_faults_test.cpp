#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <new>
#include <set>
#include <string>
#include <vector>

#include "bindings/c/c_training.h"
#include "source_root.h"

#if !defined(HEED_SANITIZED)
namespace {

// How many allocations of this thread still succeed; negative: all do.
thread_local int64_t allocations_left = -1;

void* allocate(size_t size) {
  if (allocations_left >= 0 && allocations_left-- == 0) {
    throw std::bad_alloc();
  }
  if (void* memory = std::malloc(size == 0 ? 1 : size)) {
    return memory;
  }
  throw std::bad_alloc();
}

}  // namespace

// The library's allocations come here too.
void* operator new(size_t size) { return allocate(size); }
void* operator new[](size_t size) { return allocate(size); }
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, size_t /*size*/) noexcept { std::free(memory); }
void operator delete[](void* memory, size_t /*size*/) noexcept { std::free(memory); }
#endif

namespace heed::test {
namespace {

template <class... Arguments>
int code_with_nulls(heed_error* (*function)(Arguments...)) {
  return code_of(function(Arguments{}...));
}

// Functions that cannot fail accept NULL.
template <class Result, class... Arguments>
int code_with_nulls(Result (*function)(Arguments...)) {
  function(Arguments{}...);
  return HEED_ERROR_ARGUMENT;
}

#define HEED_FUNCTION(name) \
  Function { #name, code_with_nulls(heed_##name) }

TEST(CFaults, NoFunctionFollowsNull) {
  struct Function {
    std::string name;
    int code;
  };
  const Function functions[] = {
      HEED_FUNCTION(version),
      HEED_FUNCTION(error_code),
      HEED_FUNCTION(error_message),
      HEED_FUNCTION(error_free),
      HEED_FUNCTION(string_free),
      HEED_FUNCTION(options_create),
      HEED_FUNCTION(options_free),
      HEED_FUNCTION(options_set_int),
      HEED_FUNCTION(options_set_real),
      HEED_FUNCTION(options_set_text),
      HEED_FUNCTION(stop_create),
      HEED_FUNCTION(stop_request),
      HEED_FUNCTION(stop_free),
      HEED_FUNCTION(options_set_stop),
      HEED_FUNCTION(options_on_piece),
      HEED_FUNCTION(options_on_token),
      HEED_FUNCTION(options_on_text),
      HEED_FUNCTION(token_piece),
      HEED_FUNCTION(token_id),
      HEED_FUNCTION(token_log_probability),
      HEED_FUNCTION(token_offset),
      HEED_FUNCTION(token_likeliest_count),
      HEED_FUNCTION(token_likeliest),
      HEED_FUNCTION(texts_free),
      HEED_FUNCTION(texts_inputs),
      HEED_FUNCTION(texts_samples),
      HEED_FUNCTION(texts_text),
      HEED_FUNCTION(texts_score),
      HEED_FUNCTION(texts_log_probability),
      HEED_FUNCTION(texts_token_count),
      HEED_FUNCTION(texts_reason),
      HEED_FUNCTION(texts_tokens),
      HEED_FUNCTION(texts_token),
      HEED_FUNCTION(texts_alignment),
      HEED_FUNCTION(attention_free),
      HEED_FUNCTION(attention_rows),
      HEED_FUNCTION(attention_row),
      HEED_FUNCTION(attention_columns),
      HEED_FUNCTION(attention_column),
      HEED_FUNCTION(attention_maps),
      HEED_FUNCTION(attention_place),
      HEED_FUNCTION(attention_weights),
      HEED_FUNCTION(attention_norms),
      HEED_FUNCTION(translator_open),
      HEED_FUNCTION(translator_free),
      HEED_FUNCTION(translator_max_length),
      HEED_FUNCTION(translator_threads),
      HEED_FUNCTION(translator_translate),
      HEED_FUNCTION(translator_score),
      HEED_FUNCTION(translator_attention),
      HEED_FUNCTION(generator_open),
      HEED_FUNCTION(generator_free),
      HEED_FUNCTION(generator_max_length),
      HEED_FUNCTION(generator_threads),
      HEED_FUNCTION(generator_generate),
      HEED_FUNCTION(generator_count_tokens),
      HEED_FUNCTION(generator_attention),
      HEED_FUNCTION(generator_perplexity),
      HEED_FUNCTION(chat_open),
      HEED_FUNCTION(chat_free),
      HEED_FUNCTION(chat_prompt),
      HEED_FUNCTION(encoder_open),
      HEED_FUNCTION(encoder_free),
      HEED_FUNCTION(encoder_max_length),
      HEED_FUNCTION(encoder_threads),
      HEED_FUNCTION(encoder_width),
      HEED_FUNCTION(encoder_embed),
      HEED_FUNCTION(encoder_classify),
      HEED_FUNCTION(encoder_tag),
      HEED_FUNCTION(encoder_attention),
      HEED_FUNCTION(labels_free),
      HEED_FUNCTION(labels_texts),
      HEED_FUNCTION(labels_words),
      HEED_FUNCTION(labels_chosen),
      HEED_FUNCTION(labels_label),
      HEED_FUNCTION(labels_scores),
      HEED_FUNCTION(labels_score),
      HEED_FUNCTION(labels_number),
      HEED_FUNCTION(encoder_fill),
      HEED_FUNCTION(guesses_free),
      HEED_FUNCTION(guesses_texts),
      HEED_FUNCTION(guesses_text),
      HEED_FUNCTION(guesses_masks),
      HEED_FUNCTION(guesses_count),
      HEED_FUNCTION(guesses_guess),
      HEED_FUNCTION(tokenizer_open),
      HEED_FUNCTION(tokenizer_free),
      HEED_FUNCTION(tokenizer_size),
      HEED_FUNCTION(tokenizer_encode),
      HEED_FUNCTION(ids_free),
      HEED_FUNCTION(tokenizer_decode),
      HEED_FUNCTION(tokenizer_piece),
      HEED_FUNCTION(tokenizer_id),
      HEED_FUNCTION(record_free),
      HEED_FUNCTION(record_kind),
      HEED_FUNCTION(record_figures),
      HEED_FUNCTION(record_figure),
      HEED_FUNCTION(record_value),
      HEED_FUNCTION(record_texts),
      HEED_FUNCTION(record_text),
      HEED_FUNCTION(options_on_event),
      HEED_FUNCTION(train),
      HEED_FUNCTION(import),
      HEED_FUNCTION(export),
      HEED_FUNCTION(quantize),
  };
  std::set<std::string> names;
  for (const Function& function : functions) {
    EXPECT_EQ(function.code, HEED_ERROR_ARGUMENT) << function.name;
    names.insert("heed_" + function.name + "@HEED_0");
  }
  std::ifstream exported(source_root() / "bindings" / "c" / "symbols.txt");
  size_t count = 0;
  for (std::string name; std::getline(exported, name); ++count) {
    EXPECT_TRUE(names.contains(name)) << name << " is not tried";
  }
  EXPECT_EQ(count, names.size());
}

TEST(CFaults, NullsBesideAModelAreErrors) {
  const TranslatorOwner translator = open_translator();
  const char* const good[] = {"ein Hund"};
  const char* const bad[] = {nullptr};
  heed_texts* texts = nullptr;
  EXPECT_EQ(message_of(heed_translator_translate(translator.get(), nullptr, nullptr, 1, nullptr, &texts)),
            "lines is NULL");
  EXPECT_EQ(message_of(heed_translator_translate(translator.get(), bad, nullptr, 1, nullptr, &texts)), "lines is NULL");
  EXPECT_EQ(message_of(heed_translator_translate(translator.get(), good, nullptr, 1, nullptr, nullptr)),
            "translations is NULL");
  EXPECT_EQ(
      message_of(heed_translator_score(translator.get(), good, nullptr, good, nullptr, 1, nullptr, nullptr, nullptr)),
      "log_probabilities is NULL");
  EXPECT_EQ(texts, nullptr);
  const TextsOwner none = translate(translator, {});
  size_t count = 1;
  HEED_EXPECT_OK(heed_texts_inputs(none.get(), &count));
  EXPECT_EQ(count, 0U);
  EXPECT_EQ(message_of(heed_texts_samples(none.get(), 0, &count)), "input 0 of 0");
}

TEST(CFaults, ErrorsHaveTheCodesOfTheCppTypes) {
  heed_translator* translator = nullptr;
  heed_error* error = heed_translator_open("/no/such/folder", nullptr, &translator);
  ASSERT_NE(error, nullptr);
  EXPECT_NE(std::string(heed_error_message(error)).find("/no/such/folder"), std::string::npos);
  EXPECT_EQ(code_of(error), HEED_ERROR_IO);
  EXPECT_EQ(code_of(heed_translator_open(CModels::made().writer().c_str(), nullptr, &translator)), HEED_ERROR_FORMAT);
  EXPECT_EQ(translator, nullptr);
  const TranslatorOwner good = open_translator();
  const char* const lines[] = {"\xff"};
  heed_texts* texts = nullptr;
  EXPECT_EQ(code_of(heed_translator_translate(good.get(), lines, nullptr, 1, nullptr, &texts)), HEED_ERROR_FORMAT);
  EXPECT_EQ(
      code_of(heed_translator_translate(good.get(), lines, nullptr, 1, make_options({{HEED_BEAM, -1}}).get(), &texts)),
      HEED_ERROR_CONFIG);
  EXPECT_EQ(texts, nullptr);
}

TEST(CFaults, AMessageIsOneLineThatBeginsWithTheFile) {
  heed_translator* translator = nullptr;
  EXPECT_EQ(message_of(heed_translator_open("no\nsuch\tfolder", nullptr, &translator)),
            "no such folder: there is no such model directory");
  const std::string long_name(5000, 'a');
  EXPECT_EQ(message_of(heed_translator_open(long_name.c_str(), nullptr, &translator)),
            long_name + ": File name too long");
}

TEST(CFaults, OptionsAreRefusedWithTheirName) {
  const OptionsOwner options = make_options();
  EXPECT_EQ(message_of(heed_options_set_int(options.get(), 1000, 1)), "heed_options: there is no option 1000");
  EXPECT_EQ(message_of(heed_options_set_int(options.get(), HEED_TOP_P, 1)),
            "HEED_TOP_P: expected a real number, got an integer");
  EXPECT_EQ(message_of(heed_options_set_text(options.get(), HEED_BEAM, "4", 1)),
            "HEED_BEAM: expected an integer, got a text");
  const TranslatorOwner translator = open_translator();
  const auto refusal = [&](heed_options* some) {
    const char* const lines[] = {"ein Hund"};
    heed_texts* texts = nullptr;
    return message_of(heed_translator_translate(translator.get(), lines, nullptr, 1, some, &texts));
  };
  EXPECT_EQ(refusal(make_options({{HEED_TOP_K, 5}}).get()), "HEED_TOP_K: means nothing to this call");
  EXPECT_EQ(refusal(make_options({{HEED_ALIGNMENTS, 2}}).get()), "HEED_ALIGNMENTS: 2 is not between 0 and 1");
  EXPECT_EQ(refusal(make_options({{HEED_PRIORITY, std::numeric_limits<int64_t>::max()}}).get()),
            "HEED_PRIORITY: 9223372036854775807 is not between -2147483648 and 2147483647");
  HEED_EXPECT_OK(heed_options_set_text(options.get(), HEED_EARLY_STOPPING, "perhaps", HEED_TERMINATED));
  EXPECT_EQ(refusal(options.get()), "HEED_EARLY_STOPPING: 'perhaps' is none of true, false, never");
  const OptionsOwner listening = make_options();
  HEED_EXPECT_OK(heed_options_on_text(
      listening.get(), [](void*, size_t, size_t, const char*, size_t) { return 0; }, nullptr));
  heed_translator* second = nullptr;
  EXPECT_EQ(message_of(heed_translator_open(CModels::made().translator().c_str(), listening.get(), &second)),
            "heed_options: this call tells no callback of anything");
  EXPECT_EQ(message_of(heed_translator_open(CModels::made().translator().c_str(),
                                            make_options({{HEED_PREFIX_BYTES, 1000}}).get(), &second)),
            "HEED_PREFIX_BYTES: means nothing to this call");
}

#if !defined(HEED_SANITIZED)
// Each allocation of the calling thread fails once, in turn.
TEST(CFaults, NoMemoryIsAnError) {
  const TranslatorOwner translator = open_translator({{HEED_THREADS, 1}}, CModels::made().word_translator());
  const OptionsOwner options = make_options({{HEED_BEAM, 2}, {HEED_MAX_TOKENS, 4}, {HEED_LIST_TOKENS, 1}});
  const char* const lines[] = {"ein Hund läuft"};
  const std::string expected = text_at(translate(translator, {lines[0]}, options.get()), 0);
  int failures = 0;
  for (int64_t left = 0;; ++left) {
    heed_texts* texts = nullptr;
    allocations_left = left;
    heed_error* error = heed_translator_translate(translator.get(), lines, nullptr, 1, options.get(), &texts);
    const bool ran_out = allocations_left < 0;
    allocations_left = -1;
    if (error == nullptr) {
      EXPECT_EQ(text_at(TextsOwner(texts), 0), expected);
      if (!ran_out) {
        break;
      }
      continue;  // something else did without the memory
    }
    ASSERT_EQ(code_of(error), HEED_ERROR_MEMORY);
    ASSERT_EQ(texts, nullptr);
    ++failures;
  }
  EXPECT_GT(failures, 50);
  EXPECT_EQ(text_at(translate(translator, {lines[0]}, options.get()), 0), expected);
  allocations_left = 0;
  heed_options* none = nullptr;
  heed_error* error = heed_options_create(&none);
  allocations_left = -1;
  EXPECT_EQ(std::string(heed_error_message(error)), "no memory");
  EXPECT_EQ(code_of(error), HEED_ERROR_MEMORY);
}

class CFaultsOfTools : public CTrainingTest {
 protected:
  // Calls make(directory, made) with memory for no allocation, for one, and so on below `most`, and counts how often
  // there was none. JSON and TOML must not come that early: JSON's library frees objects with memory that it asks for,
  // TOML's lets no exception out of where it begins to parse, and both end the process where there is none.
  template <class Make>
  int failures_of(int64_t most, const Make& make) {
    int failures = 0;
    for (int64_t left = 0; left < most; ++left) {
      const std::string directory = path("out-" + std::to_string(left));
      heed_record* made = nullptr;
      allocations_left = left;
      heed_error* error = make(directory.c_str(), &made);
      allocations_left = -1;
      if (error == nullptr) {
        heed_record_free(made);
        continue;
      }
      EXPECT_EQ(message_of(error), "no memory") << "after " << left << " allocations";
      EXPECT_EQ(made, nullptr);
      ++failures;
    }
    return failures;
  }
};

TEST_F(CFaultsOfTools, NoMemoryIsAnErrorOfTrainingToo) {
  const OptionsOwner options = training_options();
  const std::string recipe_path = recipe();
  EXPECT_EQ(failures_of(20,
                        [&](const char* directory, heed_record** made) {
                          return heed_train(recipe_path.c_str(), directory, options.get(), made);
                        }),
            20);
}

TEST_F(CFaultsOfTools, NoMemoryIsAnErrorOfConversionsToo) {
  const std::string model = CModels::made().word_translator();
  const OptionsOwner options = make_options();
  HEED_ASSERT_OK(heed_options_set_text(options.get(), HEED_KEEP, "a.name.that.is.not.short=f32", HEED_TERMINATED));
  EXPECT_GE(
      failures_of(4, [&](const char* directory,
                         heed_record** made) { return heed_quantize(model.c_str(), directory, options.get(), made); }),
      3);
  EXPECT_GE(failures_of(4, [&](const char* directory,
                               heed_record** made) { return heed_import(model.c_str(), directory, nullptr, made); }),
            3);
  const OptionsOwner format = make_options();
  HEED_ASSERT_OK(heed_options_set_text(format.get(), HEED_FORMAT, "ctranslate2", HEED_TERMINATED));
  EXPECT_GE(
      failures_of(4, [&](const char* directory,
                         heed_record** made) { return heed_export(model.c_str(), directory, format.get(), made); }),
      3);
}
#endif

}  // namespace
}  // namespace heed::test
