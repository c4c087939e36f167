#include "checkpoint/imported_model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/system/files.h"
#include "checkpoint/chat_template_file.h"
#include "source_root.h"
#include "test_folder.h"

namespace heed::test {
namespace {

using nlohmann::json;

TEST(ImportedModel, KeepsItsChatTemplate) {
  const std::filesystem::path folder = folder_of_test(), original = source_root() / "tests/interchange/golden/decoders";
  for (const char* const name : {"text", "list", "file", "none"}) {
    const ModelFolder source{folder / name}, imported{folder / (std::string(name) + "-imported")};
    std::filesystem::create_directories(folder);
    std::filesystem::copy(original / "llama", source.path);
    json config = json::parse(read_file(source.path / "tokenizer_config.json"));
    config["eos_token"] = {{"content", "<end>"}};
    const std::string text = "{{ messages[0].content }}{{ eos_token }}";
    if (name == std::string_view("text")) {
      config["chat_template"] = text;
    } else if (name == std::string_view("list")) {
      config["chat_template"] = {{{"name", "default"}, {"template", text}}};
    } else if (name == std::string_view("file")) {
      write_file(source.path / "chat_template.jinja", text);
    }
    write_file(source.path / "tokenizer_config.json", config.dump());
    write_imported_model(source.path, imported);
    if (name == std::string_view("none")) {
      EXPECT_THROW(load_chat_template(imported), ConfigError);
      continue;
    }
    const StoredChatTemplate found = load_chat_template(imported);
    EXPECT_EQ(found.eos_token, "<end>") << name;
    const std::vector<ChatMessage> messages{{.role = "user", .content = "Hi."}};
    EXPECT_EQ(found.chat.render(chat_of(messages), {.eos_token = "!"}), "Hi.!") << name;
  }
  std::filesystem::remove_all(folder);
}

class ImportedTranslators : public testing::TestWithParam<const char*> {};

// Marian's and T5's tokenizers have no bos: their translations begin with a token that the model names.
TEST_P(ImportedTranslators, KeepTokenizersAndMarks) {
  const ModelFolder source{source_root() / "tests/interchange/golden/encoder_decoders" / GetParam()};
  const ModelFolder imported{folder_of_test()};
  write_imported_model(source.path, imported);
  const ModelDescription before = load_description(source), after = load_description(imported);
  EXPECT_EQ(after.marks, before.marks);
  EXPECT_EQ(after.decoding, before.decoding);
  EXPECT_NE(after.marks.at_limit, AtLimit::end);
  const Tokenizers from = load_tokenizers(source, before), to = load_tokenizers(imported, after);
  ASSERT_EQ(to.size(), from.size());
  for (size_t i = 0; i < from.size(); ++i) {
    EXPECT_EQ(to[i]->special(), from[i]->special());
    EXPECT_EQ(to[i]->encode("the cat sat"), from[i]->encode("the cat sat"));
  }
  std::filesystem::remove_all(imported.path);
}

INSTANTIATE_TEST_SUITE_P(Families, ImportedTranslators,
                         testing::Values("bart", "m2m-100", "marian", "marian-apart", "mbart-25", "mbart-50", "mt5",
                                         "nllb", "t5", "t5-1.1"));

}  // namespace
}  // namespace heed::test
