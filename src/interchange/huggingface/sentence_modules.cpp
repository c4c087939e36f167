#include "interchange/huggingface/sentence_modules.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "base/text/json_depth.h"
#include "interchange/archive/safetensors_archive.h"
#include "interchange/huggingface/config_file.h"
#include "interchange/pickle/pickle_archive.h"

namespace heed {
namespace {

using nlohmann::json;

constexpr const char *kModulesFile = "modules.json", *kModuleConfig = "config.json",
                     *kLengthFile = "sentence_bert_config.json", *kLengthOfTokenizer = "tokenizer_config.json",
                     *kPromptsFile = "config_sentence_transformers.json";

struct Module {
  std::string kind, path;  // "Pooling", "1_Pooling"
};

// What was read of a module's file, and what was not.
void keep_origins(const ConfigFile& file, const std::string& name, ForeignModel& model) {
  for (SettingOrigin origin : file.origins()) {
    origin.file = name;
    model.origins.push_back(std::move(origin));
  }
  for (const std::string& key : file.unread()) {
    model.unread.push_back(fmt::format("{} {}", name, key));
  }
}

std::vector<Module> modules_in(const std::filesystem::path& folder) {
  const std::filesystem::path file = folder / kModulesFile;
  const std::string where = file.string(), text = read_file(file);
  require_shallow_json(text, where);
  const json root = json::parse(text, nullptr, false);
  require<FormatError>(root.is_array() && !root.empty(), where, "is not a list of modules");
  std::vector<Module> modules;
  for (const json& one : root) {
    const bool fits = one.is_object() && one.value("type", json()).is_string() && one.value("path", json()).is_string();
    require<FormatError>(fits, where, "has a module without \"type\" or \"path\"");
    const auto type = one.at("type").get<std::string>(), path = one.at("path").get<std::string>();
    require<FormatError>(path.empty() || is_plain_name(path), where,
                         "\"path\" is \"{}\", expected the name of a folder in the same folder", shown(path));
    modules.push_back({type.substr(type.rfind('.') + 1), path});
  }
  require<FormatError>(modules.front().kind == "Transformer", where,
                       "begins with a module \"{}\", expected Transformer", shown(modules.front().kind));
  return modules;
}

struct PoolingName {
  std::string_view flag, name;  // older files have the flag, newer ones (version 5) the name
  Pooling pooling;
};

constexpr std::array kPoolings{
    PoolingName{"pooling_mode_cls_token", "cls", Pooling::first},
    PoolingName{"pooling_mode_mean_tokens", "mean", Pooling::mean},
    PoolingName{"pooling_mode_max_tokens", "max", Pooling::max},
    PoolingName{"pooling_mode_lasttoken", "lasttoken", Pooling::last},
    PoolingName{"pooling_mode_mean_sqrt_len_tokens", "mean_sqrt_len_tokens", Pooling::mean_sqrt_length}};

// The names of the ways of pooling, whose results are put together.
std::vector<std::string> named_poolings(ConfigFile& file) {
  constexpr std::string_view kMode = "pooling_mode";
  return file.is_text(kMode) ? std::vector{file.text(kMode)} : file.texts(kMode);
}

void read_pooling(const std::filesystem::path& folder, const Module& module, ForeignModel& model) {
  const std::string name = module.path + "/" + kModuleConfig;
  ConfigFile file(folder / name);
  std::vector<std::string> names = named_poolings(file);
  for (const PoolingName& one : kPoolings) {
    if (file.flag(one.flag, false)) {
      names.emplace_back(one.name);
    }
  }
  if (!file.flag("include_prompt", true)) {
    model.prompts.pooled = PooledPrompt::no;
  }
  if (file.flag("pooling_mode_weightedmean_tokens", false)) {
    names.emplace_back("weightedmean");
  }
  require<FormatError>(names.size() == 1, file.where(), "has {} ways of pooling, expected one", names.size());
  const auto* const found = std::ranges::find(kPoolings, names.front(), &PoolingName::name);
  require<FormatError>(found != kPoolings.end(), file.where(), "pools by \"{}\", which heed lacks",
                       shown(names.front()));
  model.config.text_pooling = found->pooling;
  file.pass_over({"word_embedding_dimension", "embedding_dimension"});
  keep_origins(file, name, model);
}

struct ActivationClass {
  std::string_view name, module;
  Activation activation;
};
constexpr std::array kClasses{
    ActivationClass{"Tanh", "activation", Activation::tanh}, ActivationClass{"Identity", "linear", Activation::none},
    ActivationClass{"ReLU", "activation", Activation::relu}, ActivationClass{"GELU", "activation", Activation::gelu},
    ActivationClass{"SiLU", "activation", Activation::silu}};

Activation activation_of_class(const ConfigFile& file, const std::string& name) {
  const std::string last = name.substr(name.rfind('.') + 1);
  const auto* const found = std::ranges::find(kClasses, last, &ActivationClass::name);
  require<FormatError>(found != kClasses.end(), file.where(), "\"activation_function\" is \"{}\", which heed lacks",
                       shown(name));
  return found->activation;
}

void name_dense_layer(ForeignNames& names, const std::string& module) {
  names.tensors.push_back({"{text}.linear.{term}", {WeightRole::text_layer}});
  names.text_layer = module;
}

void read_dense(const std::filesystem::path& folder, const Module& module, ForeignModel& model,
                TensorArchive& archive) {
  const std::string name = module.path + "/" + kModuleConfig;
  ConfigFile file(folder / name);
  ModelConfig& config = model.config;
  require<FormatError>(config.text_width == 0, file.where(), "is a second Dense module, but heed has one");
  config.text_width = file.integer("out_features");
  config.text_bias = file.flag("bias", true) ? Bias::present : Bias::none;
  config.text_activation =
      activation_of_class(file, file.text("activation_function", "torch.nn.modules.activation.Tanh"));
  const int64_t inputs = file.integer("in_features");
  require<FormatError>(inputs == config.model, file.where(), "\"in_features\" is {}, but the encoder's width is {}",
                       inputs, config.model);
  const std::filesystem::path own = folder / module.path;
  const std::optional<std::filesystem::path> pickle = has_safetensors(own) ? std::nullopt : pickle_in(own);
  pickle ? add_pickle(*pickle, archive, module.path + ".")
         : add_safetensors(own / "model.safetensors", archive, module.path + ".");
  name_dense_layer(model.names, module.path);
  keep_origins(file, name, model);
}

// Positions beyond the longest text are not used.
void read_length(const std::filesystem::path& folder, ForeignModel& model) {
  // The second counts where the first says nothing.
  constexpr std::array<std::pair<const char*, std::string_view>, 2> kPlaces{
      {{kLengthFile, "max_seq_length"}, {kLengthOfTokenizer, "model_max_length"}}};
  for (const auto& [name, key] : kPlaces) {
    if (!std::filesystem::exists(folder / name)) {
      continue;
    }
    ConfigFile file(folder / name);
    if (file.has(key)) {
      const double length = file.number(key);
      require<FormatError>(length >= 1.0, file.where(), "\"{}\" is {}, expected at least 1", key, length);
      if (length < static_cast<double>(model.config.max_length)) {
        model.config.max_length = static_cast<int64_t>(length);
      }
      model.origins.push_back(file.origins().front());
      return;
    }
  }
}

void read_prompts(const std::filesystem::path& folder, TextPrompts& prompts) {
  const std::filesystem::path file = folder / kPromptsFile;
  if (!std::filesystem::exists(file)) {
    return;
  }
  const std::string where = file.string(), text = read_file(file);
  require_shallow_json(text, where);
  const json root = json::parse(text, nullptr, false);
  require<FormatError>(root.is_object(), where, "is not a JSON object");
  const json texts = root.value("prompts", json()), chosen = root.value("default_prompt_name", json());
  require<FormatError>(texts.is_null() || texts.is_object(), where, "\"prompts\" is not an object");
  require<FormatError>(chosen.is_null() || chosen.is_string(), where, "\"default_prompt_name\" is not a string");
  for (const auto& [name, prompt] : texts.items()) {
    require<FormatError>(prompt.is_string(), where, "the prompt \"{}\" is not a string", shown(name));
    prompts.all.push_back({name, prompt.get<std::string>()});
  }
  prompts.chosen = chosen.is_null() ? "" : chosen.get<std::string>();
  require<FormatError>(
      prompts.chosen.empty() || std::ranges::count(prompts.all, prompts.chosen, &TextPrompt::name) == 1, where,
      "\"default_prompt_name\" is \"{}\", which is not among the prompts", shown(prompts.chosen));
}

// A language model that is saved to embed texts may lack the projection of its output, which it does not need: the
// table of embeddings takes its place, which is right where the settings say that the two are one.
void tie_missing_output(const TensorArchive& archive, ForeignModel& model) {
  const bool has_output = std::ranges::any_of(model.names.tensors, [&](const ForeignTensor& tensor) {
    return tensor.roles.front() == WeightRole::logits && archive.find(std::string(tensor.name)) != nullptr;
  });
  if (!has_output && model.config.tying == Tying::none) {
    model.config.tying = Tying::output;
    model.marks.output_layer = OutputLayer::missing;
  }
}

}  // namespace

bool lower_cases_texts(const std::filesystem::path& folder) {
  return std::filesystem::exists(folder / kLengthFile) && ConfigFile(folder / kLengthFile).flag("do_lower_case", false);
}

bool has_sentence_modules(const std::filesystem::path& folder) {
  return std::filesystem::is_regular_file(folder / kModulesFile);
}

std::filesystem::path encoder_folder(const std::filesystem::path& folder) {
  const std::string path = modules_in(folder).front().path;
  return path.empty() ? folder : folder / path;
}

void add_sentence_modules(const std::filesystem::path& folder, ForeignModel& model, TensorArchive& archive) {
  const std::vector<Module> modules = modules_in(folder);
  const bool is_encoder = model.config.architecture == Architecture::encoder;
  if (is_encoder) {
    model.config.head = Head::none;
  } else if (model.config.architecture == Architecture::causal_lm) {
    tie_missing_output(archive, model);
  }
  model.config.text_normalized = Normalized::no;
  for (size_t i = 1; i < modules.size(); ++i) {
    const Module& module = modules[i];
    const std::string where = (folder / kModulesFile).string();
    if (module.kind == "Pooling") {
      require<FormatError>(i == 1, where, "has Pooling as module {}, expected behind the encoder", i);
      read_pooling(folder, module, model);
    } else if (module.kind == "Dense") {
      require<FormatError>(is_encoder, where, "has Dense behind a model that is not an encoder, which heed lacks");
      read_dense(folder, module, model, archive);
    } else if (module.kind == "Normalize") {
      require<FormatError>(i + 1 == modules.size(), where, "has Normalize as module {}, expected at the end", i);
      model.config.text_normalized = Normalized::yes;
    } else {
      fail<FormatError>(where, "has a module \"{}\", which heed lacks", shown(module.kind));
    }
  }
  read_length(encoder_folder(folder), model);
  read_prompts(folder, model.prompts);
}

namespace {

json module_of(size_t number, const std::string& kind, const std::string& path) {
  return {{"idx", number},
          {"name", std::to_string(number)},
          {"path", path},
          {"type", "sentence_transformers.models." + kind}};
}

void write_json(const std::filesystem::path& file, const json& content) {
  std::filesystem::create_directories(file.parent_path());
  write_file(file, content.dump(2) + "\n");
}

void write_pooling(const std::filesystem::path& file, const ModelConfig& config, PooledPrompt prompt) {
  json modes{{"word_embedding_dimension", config.model}, {"include_prompt", prompt == PooledPrompt::yes}};
  for (const PoolingName& one : kPoolings) {
    modes[std::string(one.flag)] = one.pooling == config.text_pooling;
  }
  write_json(file, modes);
}

void write_prompts(const std::filesystem::path& file, const TextPrompts& prompts) {
  json texts = json::object();
  for (const TextPrompt& prompt : prompts.all) {
    texts[prompt.name] = prompt.text;
  }
  write_json(file,
             {{"prompts", texts}, {"default_prompt_name", prompts.chosen.empty() ? json() : json(prompts.chosen)}});
}

void write_dense(const std::filesystem::path& file, const ModelConfig& config) {
  const auto* const found = std::ranges::find(kClasses, config.text_activation, &ActivationClass::activation);
  require<ConfigError>(found != kClasses.end(), "text_activation", "is one that sentence-transformers lacks");
  write_json(file, {{"in_features", config.model},
                    {"out_features", config.text_width},
                    {"bias", config.text_bias == Bias::present},
                    {"activation_function", fmt::format("torch.nn.modules.{}.{}", found->module, found->name)}});
}

}  // namespace

void write_sentence_modules(const ExportedModel& model, ForeignNames& names, const std::filesystem::path& folder) {
  const ModelConfig& config = model.config;
  const bool has_dense = config.text_width > 0, is_scaled = config.text_normalized == Normalized::yes;
  const bool is_plain = config.text_pooling == Pooling::mean && !has_dense && !is_scaled &&
                        model.prompts == TextPrompts{} && model.marks.output_layer == OutputLayer::present;
  if ((config.architecture == Architecture::encoder && config.head != Head::none) || is_plain) {
    return;
  }
  json modules{module_of(0, "Transformer", ""), module_of(1, "Pooling", "1_Pooling")};
  write_pooling(folder / "1_Pooling" / "config.json", config, model.prompts.pooled);
  if (!model.prompts.all.empty()) {
    write_prompts(folder / kPromptsFile, model.prompts);
  }
  if (has_dense) {
    modules.push_back(module_of(2, "Dense", kDenseModule));
    write_dense(folder / kDenseModule / "config.json", config);
    name_dense_layer(names, kDenseModule);
  }
  if (is_scaled) {
    modules.push_back(module_of(modules.size(), "Normalize", fmt::format("{}_Normalize", modules.size())));
  }
  write_json(folder / kModulesFile, modules);
  write_json(folder / kLengthFile, {{"max_seq_length", config.max_length}, {"do_lower_case", false}});
}

}  // namespace heed
