#include "heed/export.h"

#include <array>
#include <filesystem>
#include <memory>
#include <optional>

#include "base/system/new_folder.h"
#include "base/text/names.h"
#include "checkpoint/adapter.h"
#include "checkpoint/chat_template_file.h"
#include "checkpoint/stored_model.h"
#include "checkpoint/stored_weight.h"
#include "checkpoint/weights.h"
#include "interchange/ctranslate2/ctranslate2_export.h"
#include "interchange/gguf/gguf_export.h"
#include "interchange/huggingface/huggingface_export.h"
#include "tensor_files/safetensors.h"
#include "text/huggingface/huggingface_tokenizer.h"

namespace heed {
namespace {

std::string name_of_folder(const std::filesystem::path& path) {
  return std::filesystem::absolute(path / ".").lexically_normal().parent_path().filename().string();
}

// FormatError unless the file has all of the model's weights, as floats and undamaged.
void require_exact(const TensorFile& stored, const ModelConfig& config) {
  Weights weights;
  const AnyModel model(Scope(weights), config);
  for (const Weight& weight : weights.all()) {
    require_stored(stored, weight);
  }
  require_not_quantized(stored);
  verify_checksum(stored);
}

// What an export reads of a model.
struct ReadModel {
  ModelFolder folder;
  ModelDescription description;
  Tokenizers tokenizers;
  std::shared_ptr<const TensorFile> weights;

  explicit ReadModel(const std::string& path)
      : folder{path},
        description(load_description(folder)),
        tokenizers(load_tokenizers(folder, description)),
        weights(open_weights(folder, description.config, BlocksAs::floats)) {}

  ExportedModel exported(const ExportOptions& options, const TensorFile* integers = nullptr) const {
    for (const auto& tokenizer : tokenizers) {
      const auto* const of_file = dynamic_cast<const HuggingFaceTokenizer*>(tokenizer.get());
      require<ConfigError>(of_file == nullptr || !of_file->has_merge_steps(), folder.path.string(),
                           "its words are cut by the codes of subword-nmt, which no exported file can hold");
    }
    return {.name = name_of_folder(folder.path),
            .where = folder.path.string(),
            .config = description.config,
            .tokenizers = tokenizers,
            .documents = description.documents.value_or(Documents::none),
            .marks = description.marks,
            .decoding = description.decoding,
            .prompts = description.prompts,
            .chat_template = chat_template_text(folder),
            .weights = *weights,
            .integers = integers,
            .interruption = options.interruption};
  }
};

constexpr std::array<NamedValue<StoredType>, 3> kFloatTypes{
    {{"f32", StoredType::f32}, {"bf16", StoredType::bf16}, {"f16", StoredType::f16}}};

std::optional<StoredType> float_type(const std::string& name) {
  return name.empty() ? std::nullopt : std::optional(value_named("--type", name, kFloatTypes));
}

ExportSummary export_gguf(const ReadModel& read, const ExportOptions& options) {
  const GgufType type = options.type.empty() ? GgufType::f16 : value_named("--type", options.type, kGgufTypeNames);
  const auto integers = open_weights(read.folder, read.description.config, BlocksAs::stored);
  const ExportedModel model = read.exported(options, integers.get());
  require_gguf_form(model);
  require_exact(*read.weights, read.description.config);
  return write_gguf_model(model, options.output, type);
}

ExportSummary export_huggingface(const ReadModel& read, const ExportOptions& options) {
  const std::optional<StoredType> type = float_type(options.type);
  const ExportedModel model = read.exported(options);
  const ModelFolder to{options.output};
  require_huggingface_form(model);
  require_exact(*read.weights, read.description.config);
  require_no_model(to);
  NewFolder folder(to.path);
  copy_chat_template(read.folder, to);
  ExportSummary summary = write_huggingface_model(model, to.path, type);
  folder.keep();
  return summary;
}

constexpr std::array<NamedValue<CTranslate2Type>, 4> kCTranslate2Types{{{"f32", CTranslate2Type::f32},
                                                                        {"bf16", CTranslate2Type::bf16},
                                                                        {"f16", CTranslate2Type::f16},
                                                                        {"int8", CTranslate2Type::int8}}};

ExportSummary export_ctranslate2(const ReadModel& read, const ExportOptions& options) {
  const CTranslate2Type type =
      options.type.empty() ? CTranslate2Type::as_stored : value_named("--type", options.type, kCTranslate2Types);
  const ModelFolder to{options.output};
  require_exact(*read.weights, read.description.config);
  require_no_model(to);
  NewFolder folder(to.path);
  ExportSummary summary = write_ctranslate2_model(read.exported(options), to.path, type);
  folder.keep();
  return summary;
}

ExportFormat format_of(const ExportOptions& options) {
  const bool is_gguf = std::filesystem::path(options.output).extension() == ".gguf";
  require<ConfigError>(options.format || is_gguf, options.output,
                       "expected a name that ends in .gguf, or --format huggingface or ctranslate2");
  const ExportFormat format = options.format.value_or(ExportFormat::gguf);
  require<ConfigError>(format != ExportFormat::gguf || is_gguf, options.output, "expected a name that ends in .gguf");
  return format;
}

}  // namespace

ExportSummary export_model(const ExportOptions& options) {
  const ExportFormat format = format_of(options);
  const ModelFolder folder{options.model};
  require<ConfigError>(!holds_adapter(folder), options.model,
                       "is an adapter: make a plain model of it first, with heed merge");
  if (format == ExportFormat::gguf) {
    require_architecture(folder, Architecture::causal_lm);
  } else if (format == ExportFormat::ctranslate2) {
    require_architecture(folder, Architecture::seq2seq);
  }
  const ReadModel read(options.model);
  switch (format) {
    case ExportFormat::huggingface:
      return export_huggingface(read, options);
    case ExportFormat::ctranslate2:
      return export_ctranslate2(read, options);
    default:
      return export_gguf(read, options);
  }
}

}  // namespace heed
