#include "heed/chat.h"

#include <chrono>
#include <ctime>
#include <utility>

#include "checkpoint/chat_template_file.h"
#include "checkpoint/model_directory.h"

namespace heed {
namespace {

std::chrono::local_seconds local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm local{};
  localtime_r(&now, &local);
  using namespace std::chrono;
  return local_days(year(local.tm_year + 1900) / (local.tm_mon + 1) / local.tm_mday) + hours(local.tm_hour) +
         minutes(local.tm_min) + seconds(local.tm_sec);
}

std::optional<std::string> piece_of(const Tokenizer& tokenizer, TokenId token) {
  return token == kNoToken ? std::nullopt : std::optional(std::string(tokenizer.piece(token)));
}

}  // namespace

// The marks are spelled as the tokenizer does, since it reads them again.
struct ChatFormat::State {
  explicit State(const ModelFolder& folder) : stored(load_chat_template(folder)) {
    const ModelDescription description = load_description(folder);
    require<ConfigError>(description.config.architecture == Architecture::causal_lm, folder.path.string(),
                         "only language models hold conversations");
    const Tokenizers tokenizers = load_tokenizers(folder, description);
    const Tokenizer& text = *tokenizers.front();
    bos_token = stored.bos_token ? stored.bos_token : piece_of(text, text.special().bos);
    eos_token = stored.eos_token ? stored.eos_token : piece_of(text, text.special().eos);
  }

  std::string prompt(const Chat& chat) const {
    return stored.chat.render(
        chat,
        {.bos_token = bos_token, .eos_token = eos_token, .end = ChatOptions::End::before_answer, .now = local_time()});
  }

  StoredChatTemplate stored;
  std::optional<std::string> bos_token, eos_token;
};

ChatFormat::ChatFormat(const std::string& directory) : state_(std::make_unique<State>(ModelFolder{directory})) {}
ChatFormat::~ChatFormat() = default;
ChatFormat::ChatFormat(ChatFormat&& other) noexcept = default;
ChatFormat& ChatFormat::operator=(ChatFormat&& other) noexcept = default;

std::string ChatFormat::prompt(std::span<const ChatMessage> messages) const {
  return state_->prompt(chat_of(messages));
}

std::string ChatFormat::prompt(std::string_view json, std::string_view where) const {
  return state_->prompt(parse_chat(json, where));
}

}  // namespace heed
