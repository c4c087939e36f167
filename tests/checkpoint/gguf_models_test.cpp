// GGUF files as models: every setting counts, what heed lacks is refused by its key, and tokens, templates and blocks
// are read correctly.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "changed_gguf.h"
#include "checkpoint/chat_template_file.h"
#include "checkpoint/imported_model.h"
#include "checkpoint/weights.h"
#include "interchange/foreign_source.h"
#include "interchange/gguf/gguf_file.h"
#include "interchange/gguf/gguf_rotary.h"
#include "kernels/reference/reference_backend.h"
#include "models/any_model.h"
#include "tensor/float16.h"
#include "tensor_files/tensor_values.h"
#include "text/huggingface/huggingface_tokenizer.h"

namespace heed::test {
namespace {

using nlohmann::json;
using testing::HasSubstr;

json golden_json(const std::string& name) {
  return json::parse(read_file(source_root() / "tests/interchange/golden" / name));
}

// Those of the first golden case, in double.
std::vector<double> logits_of_file(const ChangedGguf& file, const json& golden) {
  const ForeignModel found = read_foreign_model(file.path());
  const std::unique_ptr<Backend> backend = make_reference_backend();
  Weights weights;
  const AnyModel model(Scope(weights), found.config);
  load_weights(open_foreign_weights(found), *backend, DType::f64, weights);
  Pass pass = Pass::infer(*backend, DType::f64);
  const auto ids = golden.at("cases").at(0).at("ids").get<std::vector<int32_t>>();
  const CausalLM& decoder = model.causal_lm();
  const Sequences tokens{ids, Segments(std::vector<int64_t>{std::ssize(ids)})};
  const ConstView view = decoder.logits(pass, decoder.hidden(pass, tokens)).var().value();
  const auto rows = host<double>(view);
  std::vector<double> values;
  for (int64_t r = 0; r < view.rows(); ++r) {
    for (int64_t c = 0; c < view.columns(); ++c) {
      values.push_back(rows(r, c));
    }
  }
  return values;
}

double change_of(const std::vector<double>& a, const std::vector<double>& b) {
  double largest = 0.0, worst = 0.0;
  for (size_t i = 0; i < a.size(); ++i) {
    largest = std::max(largest, std::abs(a[i]));
    worst = std::max(worst, std::abs(a[i] - b[i]));
  }
  return worst / largest;
}

// The message without the folder; empty where the file is read.
template <class Read>
std::string refusal_by(const ChangedGguf& file, Read read) {
  try {
    read(file.path());
  } catch (const FormatError& error) {
    const std::string text = error.what(), path = file.path().string();
    return text.starts_with(path + ": ") ? text.substr(path.size() + 2) : text;
  }
  return "";
}
std::string refusal_of_file(const ChangedGguf& file) {
  return refusal_by(file, [](const auto& path) { open_foreign_weights(read_foreign_model(path)); });
}
std::string refusal_of_tokenizer(const ChangedGguf& file) {
  return refusal_by(file, [](const auto& path) { read_foreign_tokenizers(path, read_foreign_model(path)); });
}

class GgufSettingsOf : public testing::TestWithParam<const char*> {};

TEST_P(GgufSettingsOf, ChangeTheLogitsOrAreRefused) {
  const std::string name = GetParam();
  const json golden = golden_json("gguf/" + name + "/golden.json");
  const ChangedGguf original(name);
  const std::vector<double> right = logits_of_file(original, golden);
  const GgufFile file = open_gguf(original.path());
  const std::string prefix = file.metadata.text("general.architecture") + ".";
  int changed = 0;
  for (const std::string& key : file.metadata.keys()) {
    // The maximum length changes no logits of shorter texts.
    if (!key.starts_with(prefix) || key.ends_with("context_length")) {
      continue;
    }
    ChangedGguf other(name);
    if (other.type(key) == kGgufF32) {
      other.set(key, other.value<float>(key) * 8.0F + 1e-3F);
    } else if (other.type(key) == kGgufU32) {
      // A longer period may leave no full layer.
      other.set(key,
                key.ends_with("pattern") || key.ends_with("sliding_window") ? 2U : other.value<uint32_t>(key) * 8 + 1);
    } else {
      other.set(key, uint64_t{0});  // a text of no bytes: the file ends somewhere else
    }
    try {
      EXPECT_GT(change_of(right, logits_of_file(other, golden)), 1e-7) << key << " changed, and nothing noticed";
    } catch (const FormatError&) {
    }
    ++changed;
  }
  EXPECT_GE(changed, 5);
}

INSTANTIATE_TEST_SUITE_P(Families, GgufSettingsOf,
                         testing::Values("gemma", "gemma-2", "gemma-3", "gpt2", "llama", "llama-biases", "mistral",
                                         "qwen2", "qwen3"));

TEST(GgufModels, WhatHeedLacksIsRefusedByItsKey) {
  const auto refused = [](std::string_view key, auto type, auto value) {
    return refusal_of_file(ChangedGguf("llama").add(key, type, value));
  };
  EXPECT_EQ(refused("llama.expert_count", kGgufU32, 8U),
            "'llama.expert_count' is 8, which heed's form of the model lacks");
  EXPECT_EQ(refused("llama.expert_count", kGgufU32, 0U), "");
  EXPECT_EQ(refused("llama.attention.clamp_kqv", kGgufF32, 0.5F),
            "'llama.attention.clamp_kqv' is 0.5, which heed's form of the model lacks");
  EXPECT_EQ(refused("llama.attention.causal", kGgufFlag, false),
            "'llama.attention.causal' is false, which heed's form of the model lacks");
  EXPECT_EQ(refused("llama.attention.causal", kGgufFlag, true), "");
  EXPECT_EQ(refused("llama.logit_scale", kGgufF32, 2.0F),
            "'llama.logit_scale' is 2, which heed's form of the model lacks");
  EXPECT_EQ(refusal_of_file(ChangedGguf("llama-tied").add("llama.rope.scaling.type", "longrope")),
            "'llama.rope.scaling.type' is 'longrope', a scaling of rotary positions that heed lacks");
  EXPECT_EQ(
      refusal_of_file(ChangedGguf("llama").replace("general.type", "general.tyqe").add("general.type", "adapter")),
      "'general.type' is 'adapter', expected 'model'");
}

TEST(GgufModels, AnUnknownArchitectureIsRefusedByItsName) {
  const std::string five("\x05\0\0\0\0\0\0\0", 8);
  EXPECT_EQ(refusal_of_file(ChangedGguf("llama").replace(five + "llama", five + "mamba")),
            "'general.architecture' is 'mamba', which heed does not read; it reads llama, qwen2, qwen3, gemma, gemma2, "
            "gemma3, gpt2");
}

TEST(GgufModels, SettingsThatDoNotFitTheTensorsAreRefused) {
  EXPECT_EQ(refusal_of_file(ChangedGguf("llama").set("llama.block_count", 1U << 30)),
            "'llama.block_count' is 1073741824, but the file has 22 tensors");
  EXPECT_EQ(refusal_of_file(ChangedGguf("llama").set("llama.embedding_length", 0U)),
            "'llama.embedding_length' is 0, expected a size above 0");
  EXPECT_EQ(refusal_of_file(ChangedGguf("llama").set("llama.feed_forward_length", 45U)),
            "blk.0.ffn_gate.weight BF16[44, 32], but the model has [45, 32]");
  EXPECT_EQ(refusal_of_file(ChangedGguf("llama").set("llama.vocab_size", 55U)),
            "'llama.vocab_size' is 55, but there is token_embd.weight BF16[54, 32]");
  EXPECT_THAT(refusal_of_file(ChangedGguf("qwen3").replace("blk.1.attn_q_norm", "blk.1.attn_q_nora")),
              HasSubstr("there is no tensor 'blk.1.attn_q_norm.weight'"));
  EXPECT_EQ(refusal_of_file(ChangedGguf("llama").replace("block_count", "block_xount")),
            "there is no 'llama.block_count'");
  EXPECT_THAT(refusal_of_file(ChangedGguf("gpt2").replace("blk.0.ffn_up.bias", "blk.0.ffn_ux.bias")),
              HasSubstr("there is no tensor 'blk.0.ffn_up.bias'"));
}

TEST(GgufModels, ADamagedFileIsRefusedInOneLine) {
  const ChangedGguf whole("gemma-2");
  for (size_t size = 32; size < whole.bytes().size(); size += 501) {
    ChangedGguf cut("gemma-2");
    cut.cut(size);
    EXPECT_NE(refusal_of_file(cut), "") << size;
    EXPECT_EQ(refusal_of_file(cut).find('\n'), std::string::npos);
  }
}

TEST(GgufModels, KeysThatNothingReadsAreReported) {
  ChangedGguf file("llama");
  EXPECT_TRUE(read_foreign_model(file.path()).unread.empty());
  file.add("llama.unheard_of", kGgufU32, 1U).add("tokenizer.ggml.unheard_of", kGgufU32, 1U);
  EXPECT_THAT(read_foreign_model(file.path()).unread,
              testing::UnorderedElementsAre("llama.unheard_of", "tokenizer.ggml.unheard_of"));
}

TEST(GgufModels, AWindowOfZeroMeansNoWindow) {
  EXPECT_EQ(read_foreign_model(ChangedGguf("mistral").path()).config.window, 5);
  EXPECT_EQ(read_foreign_model(ChangedGguf("mistral").set("llama.attention.sliding_window", 0U).path()).config.window,
            0);
}

TEST(GgufModels, TokensThatEndTurnsEndTexts) {
  // <|end_of_text|> and <|eot_id|> are known by their spelling, in files without keys for them.
  EXPECT_EQ(read_foreign_model(ChangedGguf("llama").path()).marks.ends, (std::vector<int32_t>{52, 53}));
  ChangedGguf spelled("llama");
  spelled.replace("<|eot_id|>", "<|xot_id|>").add("tokenizer.ggml.eot_token_id", kGgufU32, 7U);
  EXPECT_EQ(read_foreign_model(spelled.path()).marks.ends, (std::vector<int32_t>{7, 52, 53}));
}

class GgufTokenizersOf : public testing::TestWithParam<std::pair<const char*, const char*>> {};

// The same vocabularies as tokenizer.json, cut by the original library.
TEST_P(GgufTokenizersOf, GiveTheTokensOfTheOriginalLibrary) {
  const auto [name, original] = GetParam();
  const ChangedGguf file(name);
  const Tokenizers tokenizers = read_foreign_tokenizers(file.path(), read_foreign_model(file.path()));
  const auto& tokenizer = dynamic_cast<const HuggingFaceTokenizer&>(*tokenizers.front());
  for (const json& expected : golden_json(std::string("decoders/") + original + "/texts.json")) {
    const auto text = expected.at("text").get<std::string>();
    // Qwen's own tokenizer composes characters; GGUF files, and so llama.cpp, do not.
    if (std::string_view(name) == "qwen2" && text.find("\u0301") != std::string::npos) {
      continue;
    }
    std::vector<int32_t> ids;
    for (const TokenId id : tokenizer.encode_text(text, {}).ids) {
      ids.push_back(id.value);
    }
    EXPECT_EQ(json(ids), expected.at("ids")) << text;
  }
}

INSTANTIATE_TEST_SUITE_P(Kinds, GgufTokenizersOf,
                         testing::Values(std::pair("llama", "llama"), std::pair("gpt2", "gpt2"),
                                         std::pair("qwen2", "qwen2"), std::pair("llama-biases", "llama-biases"),
                                         std::pair("gemma", "gemma")));

TEST(GgufModels, TokenizersThatHeedLacksAreRefused) {
  EXPECT_THAT(refusal_of_tokenizer(ChangedGguf("llama").replace("llama-bpe", "llama-xyz")),
              HasSubstr("'tokenizer.ggml.pre' is 'llama-xyz', a way to cut texts that heed lacks; it knows gpt-2, "));
  const std::string four("\x04\0\0\0\0\0\0\0", 8);
  EXPECT_THAT(refusal_of_tokenizer(ChangedGguf("qwen2").replace(four + "gpt2", four + "bert")),
              HasSubstr("'tokenizer.ggml.model' is 'bert', a kind of tokenizer that heed does not read"));
  EXPECT_EQ(refusal_of_tokenizer(ChangedGguf("llama").set("tokenizer.ggml.eos_token_id", 54U)),
            "'tokenizer.ggml.eos_token_id' is 54, but there are 54 tokens");
  EXPECT_THAT(refusal_of_tokenizer(ChangedGguf("llama").add("tokenizer.ggml.add_eos_token", kGgufFlag, true)),
              HasSubstr("add_eos_token"));
  EXPECT_EQ(refusal_of_tokenizer(ChangedGguf("llama").replace("<|eot_id|>", "<|eot_id\xff>")),
            "'tokenizer.ggml.tokens': token 53 is not UTF-8");
  EXPECT_EQ(refusal_of_tokenizer(ChangedGguf("gemma").replace("<eos>", "<bos>")),
            "'tokenizer.ggml.tokens': token 2, '<bos>', occurs twice");
  EXPECT_EQ(refusal_of_tokenizer(ChangedGguf("gemma").replace("ggml.scores", "ggml.xcores")),
            "there is no 'tokenizer.ggml.scores'");
  EXPECT_EQ(refusal_of_tokenizer(ChangedGguf("llama").replace("ggml.merges", "ggml.xerges")),
            "there is no 'tokenizer.ggml.merges'");
}

TEST(GgufModels, MoreTokensThanRowsAreRefused) {
  const ChangedGguf file("llama");
  ForeignModel model = read_foreign_model(file.path());
  model.config.target_vocabulary = 53;
  EXPECT_THROW(read_foreign_tokenizers(file.path(), model), FormatError);
}

TEST(GgufModels, TextsBeginWithBosWhereTheFileOrTheKindOfTokenizerSaysSo) {
  const auto frame = [](const ChangedGguf& file) {
    const Tokenizers found = read_foreign_tokenizers(file.path(), read_foreign_model(file.path()));
    return found.front()->frame(1).size();
  };
  EXPECT_EQ(frame(ChangedGguf("llama")), 2U);
  EXPECT_EQ(frame(ChangedGguf("gpt2")), 1U);
  EXPECT_EQ(frame(ChangedGguf("llama").add("tokenizer.ggml.add_bos_token", kGgufFlag, false)), 1U);
  EXPECT_EQ(frame(ChangedGguf("gpt2").add("tokenizer.ggml.add_bos_token", kGgufFlag, true)), 2U);
}

TEST(GgufModels, ChatTemplatesAreReadAndImported) {
  const ChangedGguf file("gemma");
  const ModelFolder imported{folder_of_test()};
  write_imported_model(file.path(), imported);
  for (const ModelFolder& folder : {ModelFolder{file.path()}, imported}) {
    const StoredChatTemplate found = load_chat_template(folder);
    EXPECT_EQ(found.bos_token, "<bos>");
    EXPECT_EQ(found.eos_token, "<eos>");
    const std::vector<ChatMessage> messages{{.role = "user", .content = "Hi."}};
    EXPECT_EQ(found.chat.render(chat_of(messages), {.bos_token = "!"}), "!Hi.");
  }
  ChangedGguf without("gemma");
  without.replace("tokenizer.chat_template", "tokenizer.chat_xemplate");
  EXPECT_THROW(load_chat_template({without.path()}), ConfigError);
  std::filesystem::remove_all(imported.path);
  ChangedGguf damaged("gpt2");
  damaged.add("tokenizer.chat_template", "{{ messages[0].content }}\xff");
  EXPECT_THROW(load_chat_template({damaged.path()}), FormatError);
  EXPECT_THROW(write_imported_model(damaged.path(), imported), FormatError);
  EXPECT_FALSE(std::filesystem::exists(imported.path));
}

std::vector<float> row_of(const TensorFile& file, const std::string& name, int64_t row) {
  std::vector<std::byte> buffer;
  const StoredTensor& tensor = file.at(name);
  std::vector<float> values(static_cast<size_t>(tensor.elements() / tensor.rows()));
  convert_floats(file, tensor, file.rows(tensor, {row, 1}, buffer), values);
  return values;
}

// Row r of heed's queries is row 2 r or 2 (r - 4) + 1 of the file's, in heads of 8.
int64_t row_in_file(int64_t row) {
  return row % 8 < 4 ? row - row % 8 + 2 * (row % 8) : row - row % 8 + 2 * (row % 8 - 4) + 1;
}

TEST(GgufBlocks, OfFourBitsKeepTheirIntegersAndScales) {
  const ChangedGguf file("llama-q4_0");
  const ForeignModel model = read_foreign_model(file.path());
  const auto weights = open_foreign_weights(model);
  const std::string name = "decoder.layers.1.attention.projection.weight";
  const ArchiveTensor& queries = model.archive->at("blk.1.attn_q.weight");
  const StoredTensor& stored = weights->at(name);
  EXPECT_EQ(stored.text(), name + " U8[64, 16]");
  EXPECT_EQ(weights->at(scales_of(name)).text(), scales_of(name) + " F16[64, 1]");
  std::vector<std::byte> buffer;
  for (int64_t row = 0; row < 32; ++row) {
    std::vector<float> exact(32);
    read_floats(queries, row_in_file(row) * 32, exact);
    const auto block = queries.bytes.subspan(static_cast<size_t>(row_in_file(row)) * 18, 18);
    EXPECT_TRUE(std::ranges::equal(weights->rows(weights->at(scales_of(name)), {row, 1}, buffer), block.first(2)));
    const float scale = row_of(*weights, scales_of(name), row).front();
    const auto bytes = weights->rows(stored, {row, 1}, buffer);
    for (size_t i = 0; i < 32; ++i) {
      const int both = std::to_integer<int>(bytes[i / 2]), integer = (i % 2 == 0 ? both & 15 : both >> 4) - 8;
      EXPECT_FLOAT_EQ(static_cast<float>(integer) * scale, exact[i]) << row << " " << i;
    }
  }
}

TEST(GgufBlocks, OfEightBitsKeepTheirIntegersAndScales) {
  const ChangedGguf file("llama-q8_0");
  const ForeignModel model = read_foreign_model(file.path());
  const auto weights = open_foreign_weights(model);
  const std::string name = "decoder.layers.1.attention.projection.weight";
  const ArchiveTensor& queries = model.archive->at("blk.1.attn_q.weight");
  const StoredTensor &stored = weights->at(name), &scales = weights->at(scales_of(name));
  EXPECT_EQ(stored.text(), name + " I8[64, 32]");
  EXPECT_EQ(scales.text(), scales_of(name) + " F16[64, 1]");
  EXPECT_TRUE(has_groups(*weights, stored));
  std::vector<std::byte> buffer;
  for (int64_t row = 0; row < 32; ++row) {
    const auto block = queries.bytes.subspan(static_cast<size_t>(row_in_file(row)) * 34, 34);
    EXPECT_TRUE(std::ranges::equal(weights->rows(scales, {row, 1}, buffer), block.first(2))) << row;
    EXPECT_TRUE(std::ranges::equal(weights->rows(stored, {row, 1}, buffer), block.subspan(2))) << row;
  }
}

TEST(GgufBlocks, OfEightBitsBecomeTheNearestF16WhereFloatsAreNeeded) {
  const ChangedGguf file("llama-q8_0");
  const ForeignModel model = read_foreign_model(file.path());
  const auto weights = open_foreign_weights(model, BlocksAs::floats);
  const std::string name = "decoder.layers.0.attention.projection.weight";
  EXPECT_EQ(weights->at(name).text(), name + " F16[64, 32]");
  const ArchiveTensor& queries = model.archive->at("blk.0.attn_q.weight");
  for (int64_t row = 0; row < 32; ++row) {
    std::vector<float> exact(32);
    read_floats(queries, row_in_file(row) * 32, exact);
    const std::vector<float> found = row_of(*weights, name, row);
    for (size_t i = 0; i < exact.size(); ++i) {
      EXPECT_LE(std::abs(found[i] - exact[i]), std::abs(exact[i]) * 0x1p-11F);
    }
  }
}

TEST(GgufBlocks, TheErrorOfAConversionIsMeasured) {
  const auto conversions_of = [](const char* name, BlocksAs blocks) {
    const ChangedGguf file(name);
    return open_foreign_weights(read_foreign_model(file.path()), blocks)->conversions();
  };
  EXPECT_TRUE(conversions_of("llama", BlocksAs::stored).empty());
  const auto kept = conversions_of("llama-q8_0", BlocksAs::stored);
  ASSERT_EQ(kept.size(), 1U);
  EXPECT_EQ(kept.front().tensors, 16);
  EXPECT_EQ(kept.front().to, StoredType::i8);
  EXPECT_EQ(kept.front().relative_error, 0.0);
  const auto eight = conversions_of("llama-q8_0", BlocksAs::floats);
  const auto four = conversions_of("llama-q4_0", BlocksAs::stored);
  ASSERT_EQ(eight.size(), 1U);
  EXPECT_EQ(eight.front().tensors, 16);
  EXPECT_EQ(eight.front().to, StoredType::f16);
  EXPECT_GT(eight.front().relative_error, 1e-4);
  EXPECT_LT(eight.front().relative_error, 4e-4);
  ASSERT_EQ(four.size(), 1U);
  EXPECT_EQ(four.front().to, StoredType::u8);
  EXPECT_EQ(four.front().relative_error, 0.0);
}

// As the published Llama 3 models have it: heads of 128, factor 8 or 32, 8,192 tokens, turns from 1 to 4.
TEST(GgufRotary, Llama3sScalingIsFoundFromItsDivisors) {
  const auto divisors_of = [](double base, size_t pairs, double factor, double turns, double slow, double fast) {
    std::vector<float> divisors;
    for (size_t i = 0; i < pairs; ++i) {
      const double times = turns * std::pow(base, -static_cast<double>(i) / static_cast<double>(pairs));
      const double share = std::clamp((times - slow) / (fast - slow), 0.0, 1.0);
      divisors.push_back(static_cast<float>(1.0 / ((1.0 - share) / factor + share)));
    }
    return divisors;
  };
  const double turns_of_8192 = 8192.0 / (2.0 * M_PI);
  for (const double factor : {8.0, 32.0}) {
    const std::vector<float> divisors = divisors_of(500000.0, 64, factor, turns_of_8192, 1.0, 4.0);
    const auto found = llama3_scaling_of({divisors, 500000.0});
    ASSERT_TRUE(found.has_value());
    EXPECT_EQ(found->factor, factor);
    EXPECT_EQ(found->trained_length, 8192);
    EXPECT_EQ(found->slow_turns, 1.0);
    EXPECT_EQ(found->fast_turns, 4.0);
  }
  // Unusual turns, with two or more pairs on the line between, one, or none.
  for (const auto& [pairs, slow, fast] :
       {std::tuple{size_t{64}, 0.7, 5.5}, {size_t{8}, 2.0, 60.0}, {size_t{4}, 2.0, 50.0}}) {
    const std::vector<float> divisors = divisors_of(20000.0, pairs, 6.0, 3000.0 / (2.0 * M_PI), slow, fast);
    EXPECT_TRUE(llama3_scaling_of({divisors, 20000.0}).has_value()) << pairs;
  }
  std::vector<float> others = divisors_of(500000.0, 64, 8.0, turns_of_8192, 1.0, 4.0);
  others[30] += 0.01F;
  EXPECT_FALSE(llama3_scaling_of({others, 500000.0}).has_value());
  EXPECT_FALSE(llama3_scaling_of({std::vector<float>{0.5F, 2.0F}, 500000.0}).has_value());
}

}  // namespace
}  // namespace heed::test
