#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "bindings/c/c_models.h"
#include "heed/generator.h"
#include "heed/translator.h"
#include "heed/version.h"

namespace heed::test {
namespace {

const std::vector<const char*> kLines{"ein Hund läuft", "zwei Kinder spielen", ""};

TEST(CApi, HasTheVersionOfTheLibrary) { EXPECT_EQ(std::string(heed_version()), version()); }

TEST(CApi, TranslatesAsTheCppApiDoes) {
  const std::vector<std::string> lines(kLines.begin(), kLines.end());
  const Translator expected(CModels::made().translator(), {.threads = 1});
  TranslationOptions wanted{.beam = 3, .n_best = 2, .alignments = Alignments::pieces};
  wanted.each = EachToken::listed;
  wanted.likeliest = 2;
  const auto reference = expected.translate(lines, wanted);

  const TranslatorOwner translator = open_translator();
  const OptionsOwner options = make_options(
      {{HEED_BEAM, 3}, {HEED_SAMPLES, 2}, {HEED_ALIGNMENTS, 1}, {HEED_LIST_TOKENS, 1}, {HEED_LIKELIEST, 2}});
  const TextsOwner texts = translate(translator, kLines, options.get());
  size_t inputs = 0;
  HEED_ASSERT_OK(heed_texts_inputs(texts.get(), &inputs));
  ASSERT_EQ(inputs, reference.size());
  for (size_t i = 0; i < inputs; ++i) {
    size_t samples = 0;
    HEED_ASSERT_OK(heed_texts_samples(texts.get(), i, &samples));
    ASSERT_EQ(samples, reference[i].size());
    for (size_t k = 0; k < samples; ++k) {
      const Translation& translation = reference[i][k];
      EXPECT_EQ(text_at(texts, i, k), translation.text);
      double score = 0.0;
      HEED_EXPECT_OK(heed_texts_score(texts.get(), i, k, &score));
      EXPECT_EQ(score, translation.score);
      const int64_t* pairs = nullptr;
      size_t count = 0;
      HEED_EXPECT_OK(heed_texts_alignment(texts.get(), i, k, &pairs, &count));
      ASSERT_EQ(count, translation.alignment.size());
      for (size_t p = 0; p < count; ++p) {
        EXPECT_EQ(pairs[2 * p], translation.alignment[p].source);
        EXPECT_EQ(pairs[2 * p + 1], translation.alignment[p].target);
      }
      HEED_EXPECT_OK(heed_texts_tokens(texts.get(), i, k, &count));
      ASSERT_EQ(count, translation.each.size());
      for (size_t t = 0; t < count; ++t) {
        const heed_token *token = nullptr, *likely = nullptr;
        HEED_ASSERT_OK(heed_texts_token(texts.get(), i, k, t, &token));
        int32_t id = -1;
        HEED_EXPECT_OK(heed_token_id(token, &id));
        EXPECT_EQ(id, translation.each[t].id);
        HEED_ASSERT_OK(heed_token_likeliest(token, 1, &likely));
        double log_probability = 0.0;
        HEED_EXPECT_OK(heed_token_log_probability(likely, &log_probability));
        EXPECT_EQ(log_probability, translation.each[t].likeliest[1].log_probability);
        EXPECT_EQ(code_of(heed_token_likeliest(token, 2, &likely)), HEED_ERROR_ARGUMENT);
      }
    }
  }
}

TEST(CApi, ScoresAndShowsAttention) {
  const TranslatorOwner translator = open_translator();
  const char* const lines[] = {"ein Hund läuft"};
  const char* const targets[] = {"a dog runs"};
  double log_probability = 1.0;
  int64_t tokens = 0;
  HEED_ASSERT_OK(
      heed_translator_score(translator.get(), lines, nullptr, targets, nullptr, 1, nullptr, &log_probability, &tokens));
  const Translator expected(CModels::made().translator(), {.threads = 1});
  const std::vector<std::string> source{lines[0]}, target{targets[0]};
  EXPECT_EQ(log_probability, expected.score({source, target}).front().log_probability);
  EXPECT_GT(tokens, 3);

  heed_attention* attention = nullptr;
  const OptionsOwner options = make_options({{HEED_ATTENTION_LAYER, 1}, {HEED_ATTENTION_NORMS, 1}});
  HEED_ASSERT_OK(heed_translator_attention(translator.get(), lines[0], HEED_TERMINATED, targets[0], HEED_TERMINATED,
                                           options.get(), &attention));
  size_t maps = 0, rows = 0, columns = 0;
  HEED_EXPECT_OK(heed_attention_maps(attention, &maps));
  EXPECT_EQ(maps, 4U) << "the heads of one layer";
  const float* weights = nullptr;
  HEED_ASSERT_OK(heed_attention_weights(attention, 3, &weights, &rows, &columns));
  size_t count = 0;
  HEED_EXPECT_OK(heed_attention_rows(attention, &count));
  EXPECT_EQ(rows, count);
  HEED_EXPECT_OK(heed_attention_columns(attention, &count));
  EXPECT_EQ(columns, count);
  double sum = 0.0;
  for (size_t c = 0; c < columns; ++c) {
    sum += static_cast<double>(weights[c]);
  }
  EXPECT_NEAR(sum, 1.0, 1e-5);
  int64_t layer = -1, head = -1;
  HEED_EXPECT_OK(heed_attention_place(attention, 3, &layer, &head));
  EXPECT_EQ(layer, 1);
  EXPECT_EQ(head, 3);
  const float* norms = nullptr;
  HEED_EXPECT_OK(heed_attention_norms(attention, 0, &norms));
  EXPECT_NE(norms, nullptr);
  EXPECT_EQ(message_of(heed_attention_norms(attention, 4, &norms)), "map 4 of 4");
  heed_attention_free(attention);
  HEED_EXPECT_OK(heed_options_set_int(options.get(), HEED_ATTENTION_SIZE, -1));
  EXPECT_EQ(message_of(heed_translator_attention(translator.get(), lines[0], HEED_TERMINATED, targets[0],
                                                 HEED_TERMINATED, options.get(), &attention)),
            "size of maps: expected at least 0, found -1");
}

struct Heard {
  std::string pieces, text;
  int calls = 0, tokens = 0, stop_after = 1000;
};

int hear_piece(void* user, size_t /*input*/, size_t /*sample*/, const char* piece, size_t length) {
  auto& heard = *static_cast<Heard*>(user);
  EXPECT_EQ(piece[length], '\0');
  heard.pieces.append(piece, length);
  return ++heard.calls >= heard.stop_after ? 7 : 0;
}

int hear_token(void* user, size_t /*input*/, size_t /*sample*/, const heed_token* token) {
  const char* piece = nullptr;
  HEED_EXPECT_OK(heed_token_piece(token, &piece, nullptr));
  ++static_cast<Heard*>(user)->tokens;
  return 0;
}

int hear_text(void* user, size_t /*input*/, size_t /*sample*/, const char* text, size_t length) {
  static_cast<Heard*>(user)->text.assign(text, length);
  return 0;
}

OptionsOwner listening(Heard& heard, const std::vector<IntOption>& values) {
  OptionsOwner options = make_options(values);
  HEED_EXPECT_OK(heed_options_on_piece(options.get(), hear_piece, &heard));
  HEED_EXPECT_OK(heed_options_on_token(options.get(), hear_token, &heard));
  HEED_EXPECT_OK(heed_options_on_text(options.get(), hear_text, &heard));
  return options;
}

TEST(CApi, StreamsTranslationsAndStopsThemWithAnError) {
  const TranslatorOwner translator = open_translator();
  Heard heard;
  const TextsOwner texts =
      translate(translator, {kLines[0]}, listening(heard, {{HEED_LIST_TOKENS, 1}, {HEED_MAX_TOKENS, 30}}).get());
  EXPECT_EQ(heard.pieces, text_at(texts, 0));
  EXPECT_EQ(heard.text, text_at(texts, 0));
  int64_t tokens = 0;
  HEED_EXPECT_OK(heed_texts_token_count(texts.get(), 0, 0, &tokens));
  EXPECT_EQ(heard.tokens, tokens);
  ASSERT_GT(heard.calls, 2) << "the test's model writes several words";

  Heard stopped{.stop_after = 2};
  heed_texts* none = nullptr;
  EXPECT_EQ(code_of(heed_translator_translate(translator.get(), kLines.data(), nullptr, 1,
                                              listening(stopped, {{HEED_MAX_TOKENS, 30}}).get(), &none)),
            HEED_ERROR_INTERRUPTED);
  EXPECT_EQ(none, nullptr);
  EXPECT_EQ(stopped.calls, 2) << "after the callback has stopped the call, it hears nothing more";
}

TEST(CApi, GeneratesAsTheCppApiDoesAndStopsWhereTheCallbackSays) {
  const Generator expected(CModels::made().writer(), {.threads = 1});
  const std::vector<std::string> prompts{"a dog"};
  GenerationOptions wanted;
  wanted.sampling.seed = 5;
  wanted.max_tokens = 20;
  const Completion reference = expected.generate(prompts, wanted).front().front();

  const GeneratorOwner generator = open_generator();
  const char* const texts_in[] = {"a dog!"};
  const size_t length = 5;  // without the "!"
  Heard heard;
  heed_texts* found = nullptr;
  HEED_ASSERT_OK(heed_generator_generate(
      generator.get(), texts_in, &length, 1,
      listening(heard, {{HEED_SEED, 5}, {HEED_MAX_TOKENS, 20}, {HEED_LIST_TOKENS, 1}}).get(), &found));
  const TextsOwner texts(found);
  EXPECT_EQ(text_at(texts, 0), reference.text);
  EXPECT_EQ(heard.pieces, reference.text);

  Heard stopped{.stop_after = 3};
  HEED_ASSERT_OK(heed_generator_generate(generator.get(), texts_in, &length, 1,
                                         listening(stopped, {{HEED_SEED, 5}, {HEED_MAX_TOKENS, 20}}).get(), &found));
  const TextsOwner shorter(found);
  const char* reason = nullptr;
  HEED_EXPECT_OK(heed_texts_reason(shorter.get(), 0, 0, &reason));
  EXPECT_EQ(std::string(reason), "cancelled");
  EXPECT_EQ(stopped.calls, 3);

  int64_t tokens = 0;
  HEED_EXPECT_OK(heed_generator_count_tokens(generator.get(), texts_in[0], 5, nullptr, &tokens));
  EXPECT_EQ(tokens, expected.count_tokens("a dog"));
  double nats = 0.0;
  HEED_EXPECT_OK(heed_generator_perplexity(generator.get(), "a dog runs", HEED_TERMINATED, &nats, nullptr));
  EXPECT_EQ(nats, expected.perplexity("a dog runs").nats_per_token);
}

TEST(CApi, CallsEndAtTheirStopAndTimeout) {
  const TranslatorOwner translator = open_translator();
  heed_texts* texts = nullptr;
  heed_stop* stop = nullptr;
  HEED_ASSERT_OK(heed_stop_create(&stop));
  const OptionsOwner options = make_options();
  HEED_EXPECT_OK(heed_options_set_stop(options.get(), stop));
  translate(translator, kLines, options.get());
  HEED_EXPECT_OK(heed_stop_request(stop));
  EXPECT_EQ(code_of(heed_translator_translate(translator.get(), kLines.data(), nullptr, kLines.size(), options.get(),
                                              &texts)),
            HEED_ERROR_INTERRUPTED);
  HEED_EXPECT_OK(heed_options_set_stop(options.get(), nullptr));
  HEED_EXPECT_OK(heed_options_set_real(options.get(), HEED_TIMEOUT, 0.0));
  EXPECT_EQ(code_of(heed_translator_translate(translator.get(), kLines.data(), nullptr, kLines.size(), options.get(),
                                              &texts)),
            HEED_ERROR_INTERRUPTED);
  HEED_EXPECT_OK(heed_options_set_real(options.get(), HEED_TIMEOUT, HUGE_VAL));
  translate(translator, kLines, options.get());
  heed_stop_free(stop);
}

TEST(CApi, TokenizesAndBack) {
  heed_tokenizer* tokenizer = nullptr;
  HEED_ASSERT_OK(heed_tokenizer_open(CModels::made().tokenizer().c_str(), &tokenizer));
  int32_t* ids = nullptr;
  size_t count = 0, length = 0;
  char* text = nullptr;
  const OptionsOwner options = make_options({{HEED_MARK_END, 1}});
  HEED_ASSERT_OK(heed_tokenizer_encode(tokenizer, "a dog runs", HEED_TERMINATED, options.get(), &ids, &count));
  ASSERT_GT(count, 3U);
  int32_t id = -1;
  HEED_ASSERT_OK(heed_tokenizer_piece(tokenizer, ids[count - 1], &text, nullptr));
  EXPECT_EQ(std::string(text), "</s>");
  heed_string_free(text);
  HEED_ASSERT_OK(heed_tokenizer_decode(tokenizer, ids, count - 1, &text, &length));
  EXPECT_EQ(std::string(text, length), "a dog runs");
  HEED_EXPECT_OK(heed_tokenizer_id(tokenizer, "</s>", HEED_TERMINATED, &id));
  EXPECT_EQ(id, ids[count - 1]);
  heed_string_free(text);
  heed_ids_free(ids);
  ids = nullptr;
  const OptionsOwner few = make_options({{HEED_MAX_TOKENS, 1}});
  EXPECT_EQ(code_of(heed_tokenizer_encode(tokenizer, "a dog runs", HEED_TERMINATED, few.get(), &ids, &count)),
            HEED_ERROR_FORMAT);
  HEED_EXPECT_OK(heed_options_set_text(few.get(), HEED_TOO_LONG, "drop", HEED_TERMINATED));
  EXPECT_EQ(message_of(heed_tokenizer_encode(tokenizer, "a dog runs", HEED_TERMINATED, few.get(), &ids, &count)),
            "HEED_TOO_LONG: 'drop' is none of refuse, truncate");
  EXPECT_EQ(ids, nullptr);
  EXPECT_EQ(code_of(heed_tokenizer_piece(tokenizer, -1, &text, nullptr)), HEED_ERROR_FORMAT);
  int64_t size = 0;
  HEED_EXPECT_OK(heed_tokenizer_size(tokenizer, &size));
  EXPECT_GT(size, 100);
  heed_tokenizer_free(tokenizer);
}

}  // namespace
}  // namespace heed::test
