#include "interchange/huggingface/tokenizer_files.h"

#include <algorithm>
#include <optional>

#include "base/errors.h"
#include "base/system/files.h"
#include "interchange/huggingface/config_file.h"
#include "interchange/huggingface/sentence_modules.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/huggingface/json.h"
#include "text/huggingface/older/older_files.h"

namespace heed {
namespace {

using huggingface::BertFile;
using huggingface::ByteLevelFiles;
using huggingface::Composed;
using huggingface::SentencePieceFile;
using huggingface::TextFrame;

constexpr const char *kTokenizerFile = "tokenizer.json", *kTokenizerConfig = "tokenizer_config.json",
                     *kSpecialTokens = "special_tokens_map.json";

// A folder's tokenizer files, and what else they say.
class TokenizerFolder {
 public:
  explicit TokenizerFolder(std::filesystem::path path) : path_(std::move(path)) {
    for (const char* const file : {kSpecialTokens, kTokenizerConfig}) {
      if (has(file)) {
        read_special_names(read(file), where(file), names_);
      }
    }
    if (has(kTokenizerConfig)) {
      config_.emplace(path_ / kTokenizerConfig);
    }
  }

  bool has(const std::string& file) const { return std::filesystem::exists(path_ / file); }
  std::string read(const std::string& file) const { return read_file(path_ / file); }
  std::string where(const std::string& file) const { return (path_ / file).string(); }
  // The first of these files; FormatError, naming them all, if there is none.
  std::string one_of(const std::vector<std::string>& files) const {
    const auto found = std::ranges::find_if(files, [&](const std::string& file) { return has(file); });
    require<FormatError>(found != files.end(), path_.string(), "has no tokenizer: neither {} nor {}", kTokenizerFile,
                         fmt::join(files, " nor "));
    return *found;
  }

  const SpecialNames& names() const { return names_; }
  // Names where the files have none.
  SpecialNames names_or(const SpecialNames& usual) const {
    SpecialNames all = names_;
    for (const auto name : {&SpecialNames::bos, &SpecialNames::eos, &SpecialNames::unk, &SpecialNames::pad,
                            &SpecialNames::sep, &SpecialNames::cls, &SpecialNames::mask}) {
      all.*name = (names_.*name).empty() ? usual.*name : names_.*name;
    }
    return all;
  }
  bool flag(std::string_view key, bool absent) { return config_ ? config_->flag(key, absent) : absent; }
  std::string text(std::string_view key) { return config_ ? config_->text(key, "") : ""; }
  std::vector<std::string> texts(std::string_view key) {
    return config_ ? config_->texts(key) : std::vector<std::string>();
  }
  // As the original library assumes where the files name none: English, in the family's spelling.
  std::string language_of_sources() {
    const std::vector<std::string> languages = texts("additional_special_tokens");
    for (const char* const form : {"{}", "__{}__"}) {
      for (const std::string& name :
           {text("src_lang"), std::string("en"), std::string("en_XX"), std::string("eng_Latn")}) {
        std::string token = fmt::format(fmt::runtime(form), name);
        if (!name.empty() && std::ranges::find(languages, token) != languages.end()) {
          return token;
        }
      }
    }
    return text("src_lang");
  }
  std::optional<bool> optional_flag(std::string_view key) {
    return config_ && config_->has(key) ? std::optional(config_->flag(key)) : std::nullopt;
  }

 private:
  std::filesystem::path path_;
  SpecialNames names_;
  std::optional<ConfigFile> config_;
};

std::string from_vocabulary_list(TokenizerFolder& folder, TextFrame frame) {
  const std::string name = folder.one_of({"vocab.txt"}), vocabulary = folder.read(name);
  BertFile file{.vocabulary = vocabulary,
                .lower_case = folder.flag("do_lower_case", true),
                .chinese_characters = folder.flag("tokenize_chinese_chars", true),
                .strip_accents = folder.optional_flag("strip_accents"),
                .frame = frame};
  file.names = folder.names_or(file.names);
  return tokenizer_json_of(file, folder.where(name));
}

std::string from_merges(TokenizerFolder& folder, TextFrame frame, Composed composed = Composed::no) {
  const std::string name = folder.one_of({"vocab.json"}), vocabulary = folder.read(name),
                    merges = folder.read(folder.one_of({"merges.txt"}));
  ByteLevelFiles files{.vocabulary = vocabulary,
                       .merges = merges,
                       .prefix_space = folder.flag("add_prefix_space", false),
                       .composed = composed,
                       .frame = frame};
  files.names = folder.names_or(files.names);
  return tokenizer_json_of(files, folder.where(name));
}

struct PieceFiles {
  std::vector<std::string> model;
  std::string vocabulary = {};  // empty: there is none
  SentencePieceFile::Numbers numbers = SentencePieceFile::Numbers::own;
  SentencePieceFile::Spaces spaces = SentencePieceFile::Spaces::own;
  TextFrame frame = TextFrame::none;
  std::string begin = "<s>";  // where the files do not name it
};

std::string from_pieces(TokenizerFolder& folder, const PieceFiles& files) {
  const std::string name = folder.one_of(files.model), model = folder.read(name);
  const std::string vocabulary =
      files.vocabulary.empty() ? "" : folder.read(folder.one_of({files.vocabulary, "vocab.json"}));
  SentencePieceFile file{.model = model,
                         .vocabulary = vocabulary,
                         .numbers = files.numbers,
                         .spaces = files.spaces,
                         .frame = files.frame,
                         .language = folder.language_of_sources(),
                         .more = folder.texts("additional_special_tokens")};
  file.names.bos = files.begin;
  file.names = folder.names_or(file.names);
  return tokenizer_json_of(file, folder.where(name));
}

bool is_target(std::string_view role) { return role == "target"; }

// The family's older files as a tokenizer.json.
std::string from_older_files(TokenizerFolder& folder, const std::string& type, std::string_view role) {
  using Numbers = SentencePieceFile::Numbers;
  using Spaces = SentencePieceFile::Spaces;
  if (type == "bert" || type == "distilbert" || type == "electra") {
    return from_vocabulary_list(folder, TextFrame::bert);
  }
  if (type == "mpnet") {
    return from_vocabulary_list(folder, TextFrame::roberta);
  }
  if (type == "gpt2" || type == "gpt_neox") {
    return from_merges(folder, TextFrame::none, type == "gpt2" ? Composed::no : Composed::yes);
  }
  if (type == "roberta" || type == "bart") {
    return from_merges(folder, TextFrame::roberta);
  }
  if (type == "opt") {
    return from_merges(folder, TextFrame::begin);
  }
  if (type == "marian") {
    return from_pieces(folder, {.model = {is_target(role) ? "target.spm" : "source.spm"},
                                .vocabulary = is_target(role) ? "target_vocab.json" : "vocab.json",
                                .numbers = Numbers::listed,
                                .frame = TextFrame::end});
  }
  if (type == "m2m_100") {
    const bool is_nllb = !folder.has("vocab.json");
    return from_pieces(folder, {.model = {"sentencepiece.bpe.model"},
                                .vocabulary = is_nllb ? "" : "vocab.json",
                                .numbers = is_nllb ? Numbers::fairseq : Numbers::listed,
                                .frame = TextFrame::language});
  }
  if (type == "xlm-roberta") {
    return from_pieces(
        folder, {.model = {"sentencepiece.bpe.model"}, .numbers = Numbers::fairseq, .frame = TextFrame::roberta});
  }
  if (type == "mbart") {
    const bool is_25 = folder.text("tokenizer_class") == "MBartTokenizer";
    return from_pieces(folder, {.model = {"sentencepiece.bpe.model"},
                                .numbers = Numbers::fairseq,
                                .frame = is_25 ? TextFrame::language_end : TextFrame::language});
  }
  const std::vector<std::string> models{"spiece.model", "tokenizer.model", "sentencepiece.bpe.model"};
  if (type == "t5" || type == "mt5") {
    return from_pieces(folder, {.model = models, .frame = TextFrame::end});
  }
  if (type == "pegasus") {
    return from_pieces(folder, {.model = models, .numbers = Numbers::pegasus, .frame = TextFrame::end});
  }
  if (type == "albert") {
    return from_pieces(folder, {.model = models, .frame = TextFrame::bert});
  }
  const bool is_gemma = type.starts_with("gemma");
  require<FormatError>(is_gemma || type == "llama" || type == "mistral" || type == "phi3", folder.where(kTokenizerFile),
                       "is missing");
  // A file that does not say "legacy" is older than the word.
  const Spaces of_llama = folder.flag("legacy", true) ? Spaces::llama : Spaces::llama_once;
  return from_pieces(folder, {.model = models,
                              .spaces = is_gemma ? Spaces::gemma : of_llama,
                              .frame = TextFrame::begin,
                              .begin = is_gemma ? "<bos>" : "<s>"});
}

// A tokenizer.json that puts text into lower case before all else.
std::string in_lower_case(const std::string& content, const std::string& where) {
  JsonTree<huggingface::Json> tree = huggingface::parse_json(content, where);
  huggingface::Json& document = tree.root();
  require<FormatError>(document.is_object(), where, "is not a JSON object");
  huggingface::Json steps = huggingface::Json::array({{{"type", "Lowercase"}}});
  if (const auto own = document.find("normalizer"); own != document.end() && !own->is_null()) {
    steps.push_back(*own);
  }
  document["normalizer"] = {{"type", "Sequence"}, {"normalizers", std::move(steps)}};
  return document.dump();
}

}  // namespace

Tokenizers read_huggingface_tokenizers(const std::filesystem::path& folder_of_model, const ForeignModel& model) {
  const bool has_modules = has_sentence_modules(folder_of_model);
  const std::filesystem::path path = has_modules ? encoder_folder(folder_of_model) : folder_of_model;
  const bool lower_cases = has_modules && lower_cases_texts(path);
  TokenizerFolder folder(path);
  const ModelConfig& config = model.config;
  const auto made = [&](std::string_view role, int64_t rows) -> std::shared_ptr<const Tokenizer> {
    const bool is_new = folder.has(kTokenizerFile);
    const std::string where = is_new ? folder.where(kTokenizerFile) : path.string();
    std::string content = is_new ? folder.read(kTokenizerFile) : from_older_files(folder, model.type, role);
    return parse_huggingface_tokenizer(lower_cases ? in_lower_case(content, where) : std::move(content), where,
                                       {folder.names(), rows});
  };
  if (config.architecture != Architecture::seq2seq) {
    return {made("text",
                 config.architecture == Architecture::encoder ? config.source_vocabulary : config.target_vocabulary)};
  }
  std::shared_ptr<const Tokenizer> source = made("source", config.source_vocabulary);
  const bool one_for_both = folder.has(kTokenizerFile) || model.type != "marian";
  return {source, one_for_both ? source : made("target", config.target_vocabulary)};
}

}  // namespace heed
