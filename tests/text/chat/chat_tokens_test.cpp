#include "text/chat/chat_tokens.h"

#include <gtest/gtest.h>

#include "base/errors.h"
#include "base/system/files.h"
#include "source_root.h"
#include "text/chat/marked_text.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/token_ids.h"
#include "text/tokenizer_training.h"

namespace heed::test {
namespace {

std::unique_ptr<Tokenizer> bytes() {
  bool given = false;
  return train_tokenizer({.kind = TokenizerKind::byte, .vocabulary = 0, .user_symbols = {}}, [&](std::string& line) {
    line = "a";
    return !std::exchange(given, true);
  });
}

std::unique_ptr<HuggingFaceTokenizer> qwen() {
  const auto path = source_root() / "tests/interchange/golden/decoders/qwen2/tokenizer.json";
  return parse_huggingface_tokenizer(read_file(path), path.string());
}

// The tokens that the assistant writes, as text.
std::string learned(const Tokenizer& tokenizer, const ChatTokens& tokens) {
  std::string text;
  for (size_t i = 0; i < tokens.ids.size(); ++i) {
    if (tokens.of_assistant[i]) {
      const TokenId token(tokens.ids[i]);
      const std::string plain = tokenizer.decode({{token}});
      text += plain.empty() ? std::string(tokenizer.piece(token)) : plain;
    }
  }
  return text;
}

TEST(ChatTokens, OfTheAssistantAreThoseInItsSpans) {
  const auto tokenizer = bytes();
  const ChatSpans chat{.text = "u:a</s>b:xy</s>u:c</s>b:z</s>", .assistant = {{9, 15}, {24, 29}}};
  const ChatTokens tokens = chat_tokens(*tokenizer, chat);
  EXPECT_EQ(tokens.ids, ids_of(encode_marked_text(*tokenizer, chat.text)));
  EXPECT_EQ(learned(*tokenizer, tokens), "xy</s>z</s>");
}

TEST(ChatTokens, IncludeAllMarksThatAnotherProgramsTokenizerKnows) {
  const auto tokenizer = qwen();
  const ChatSpans chat{.text = "<|im_start|>the cat<|im_end|>\n<|im_start|>is on it<|im_end|>\n",
                       .assistant = {{42, 60}}};
  const ChatTokens tokens = chat_tokens(*tokenizer, chat);
  EXPECT_EQ(learned(*tokenizer, tokens), "is on it<|im_end|>");
  EXPECT_EQ(std::ranges::count(tokens.ids, tokenizer->token_of("<|im_start|>")->value), 2);
  EXPECT_EQ(encode_marked_text(*tokenizer, "<|im_end|>"), std::vector<TokenId>{*tokenizer->token_of("<|im_end|>")});
}

// "Ġthe" lies across the border: the prompt alone ends with "Ġ".
TEST(ChatTokens, ATokenAcrossABorderBelongsToTheAnswerThatItBegins) {
  const auto tokenizer = qwen();
  const ChatTokens tokens = chat_tokens(*tokenizer, {.text = "a the cat", .assistant = {{2, 9}}});
  EXPECT_EQ(learned(*tokenizer, tokens), " the cat");
  const ChatTokens before = chat_tokens(*tokenizer, {.text = "a the cat", .assistant = {{0, 2}}});
  EXPECT_EQ(learned(*tokenizer, before), "a");
}

}  // namespace
}  // namespace heed::test
