#include "train/corpus/conversations.h"

#include <gmock/gmock.h>

#include "base/system/files.h"
#include "ops/roles.h"
#include "test_folder.h"
#include "text/tokenizer_training.h"

namespace heed::test {
namespace {

using testing::HasSubstr;

constexpr std::string_view kTemplate =
    "{% for m in messages %}{{ m.role[0] }}:{{ m.content }}{{ eos_token }}{% endfor %}"
    "{% if add_generation_prompt %}a:{% endif %}";

std::unique_ptr<Tokenizer> byte_tokenizer() {
  bool given = false;
  return train_tokenizer({.kind = TokenizerKind::byte, .vocabulary = 0, .user_symbols = {}}, [&](std::string& line) {
    line = "a";
    return !std::exchange(given, true);
  });
}

class ReadConversations : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  Conversations read(const std::string& content, TooLong too_long = TooLong::drop, int64_t max_length = 100) const {
    const std::string file = (folder_ / "talks.jsonl").string();
    write_file(file, content);
    return read_conversations({file}, {*tokenizer_, template_, max_length, too_long});
  }
  std::string error(const std::string& content, TooLong too_long = TooLong::drop, int64_t max_length = 100) const {
    try {
      read(content, too_long, max_length);
    } catch (const FormatError& refusal) {
      return refusal.what();
    }
    return "";
  }
  // The expected tokens as text, with a dot for each token that is not expected.
  std::string expected(const Conversation& conversation) const {
    std::string text;
    for (const int32_t token : conversation.expected) {
      const bool ends = token == tokenizer_->special().eos.value;
      text += token == Targets::kIgnored ? "." : ends ? "$" : tokenizer_->decode({{TokenId(token)}});
    }
    return text;
  }

  std::filesystem::path folder_ = folder_of_test();
  std::unique_ptr<Tokenizer> tokenizer_ = byte_tokenizer();
  StoredChatTemplate template_{ChatTemplate::parse(kTemplate, "template"), {}, {}};
};

const std::string kShortTalk =
    R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"}]})";
const std::string kLongTalk =
    R"({"messages": [{"role": "user", "content": "Hi"}, {"role": "assistant", "content": "Yo"},)"
    R"( {"role": "user", "content": "Go on"}, {"role": "assistant", "content": "No"}, {"role": "user", "content": "!"}]})";

TEST_F(ReadConversations, ExpectOnlyWhatTheAssistantWrites) {
  const Conversations found = read(kShortTalk + "\n\n" + kLongTalk + "\n");
  ASSERT_EQ(found.all.size(), 2U);
  // u:Hi$a:Yo$, shifted by one; what follows the last answer is left out.
  EXPECT_EQ(expected(found.all[0]), "......Yo$");
  EXPECT_EQ(expected(found.all[1]), "......Yo$..........No$");
  EXPECT_EQ(found.all[0].where, (folder_ / "talks.jsonl").string() + ":1");
  EXPECT_EQ(found.all[1].where, (folder_ / "talks.jsonl").string() + ":3");
  EXPECT_EQ(found.all[1].learned(), 6);
  EXPECT_EQ(found.text(), "2 conversations, 31 tokens, 9 of them learned");
  EXPECT_EQ(end_of_answers(found, *tokenizer_), tokenizer_->special().eos);
}

TEST_F(ReadConversations, DropTruncateOrRefuseWhatIsTooLong) {
  const std::string both = kShortTalk + "\n" + kLongTalk + "\n";
  const Conversations dropped = read(both, TooLong::drop, 20);
  EXPECT_EQ(dropped.all.size(), 1U);
  EXPECT_THAT(dropped.text(), HasSubstr("; too long: 1 dropped, 0 truncated (first "));
  const Conversations truncated = read(both, TooLong::truncate, 20);
  ASSERT_EQ(truncated.all.size(), 2U);
  EXPECT_EQ(expected(truncated.all[1]), "......Yo$..........N");
  EXPECT_EQ(end_of_answers(truncated, *tokenizer_), tokenizer_->special().eos);
  EXPECT_EQ(read(both, TooLong::truncate, 12).all[1].ids.size(), 9U) << "up to the last token that is learned";
  EXPECT_THAT(error(both, TooLong::refuse, 20), HasSubstr("talks.jsonl:2: 22 tokens, more than data.context 20"));
  EXPECT_THAT(error(both, TooLong::truncate, 5), HasSubstr("all 2 conversations are longer than data.context 5"));
}

TEST_F(ReadConversations, NameTheLineThatIsNotAConversation) {
  for (const auto& [line, mention] : std::vector<std::pair<std::string, std::string>>{
           {R"({"messages": [{"role": "usr", "content": "a"}]})", R"(the role "usr", did you mean 'user'?)"},
           {R"({"messages": [{"role": "zebra", "content": "a"}]})", R"(the role "zebra", expected one of system, )"},
           {R"({"messages": [{"role": "user", "content": "a"}]})", "no message is the assistant's"},
           {R"({"messages": [{"role": "assistant", "content": ""}]})", "message 1 is the assistant's and says nothing"},
           {R"({"messages": [{"role": "assistant", "content": []}]})", "message 1 is the assistant's and says nothing"},
           {R"({"messages": {}})", "\"messages\" is not a list"},
           {"[1]", "expected an object"}}) {
    EXPECT_THAT(error(kShortTalk + "\n" + line), testing::AllOf(HasSubstr("talks.jsonl:2: "), HasSubstr(mention)));
  }
  EXPECT_THAT(error("\n \n"), HasSubstr("holds no conversation"));
}

TEST_F(ReadConversations, NameTheLineThatTheTemplateRefuses) {
  template_.chat = ChatTemplate::parse("{{ raise_exception('never') }}", "template");
  EXPECT_THAT(error(kShortTalk), testing::AllOf(HasSubstr("talks.jsonl:1: template:1: "), HasSubstr("never")));
  template_.chat =
      ChatTemplate::parse("{{ messages | length }}{% for m in messages %}{{ m.content }}{% endfor %}", "t");
  EXPECT_THAT(error(kLongTalk), HasSubstr("talks.jsonl:1: t: where the answer in message 2 lies can't be told"));
  template_.chat = ChatTemplate::parse("{{ messages[0].content }}", "t");
  EXPECT_THAT(error(kShortTalk), HasSubstr("talks.jsonl:1: the chat template writes nothing of the assistant's"));
}

TEST_F(ReadConversations, HaveNoCommonEndWhereTheTemplateWritesNone) {
  template_.chat = ChatTemplate::parse("{% for m in messages %}{{ m.content }}\n{% endfor %}", "t");
  EXPECT_EQ(end_of_answers(read(kShortTalk), *tokenizer_), std::nullopt);
}

}  // namespace
}  // namespace heed::test
