#include "interchange/marian/marian_model.h"

#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <set>
#include <utility>

#include "base/errors.h"
#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "interchange/marian/marian_names.h"
#include "interchange/zero_token.h"

namespace heed {
namespace {

const char* const kDecoderFile = "decoder.yml";
constexpr std::array<std::string_view, 5> kDecoderKeys{"models", "vocabs", "shortlist", "beam-size", "normalize"};

// Settings that are read, each with where it came from.
class MarianSettings {
 public:
  explicit MarianSettings(const MarianFile& file)
      : yaml_(file.settings, file.tensors.where() + ": special:model.yml"), where_(file.tensors.where()) {
    require<FormatError>(!file.settings.empty(), where_, "has no special:model.yml, which says what the model is");
  }

  const std::string& where() const { return yaml_.where(); }
  std::string text(std::string_view key, std::string_view otherwise) {
    return noted(key, yaml_.text(key, std::string(otherwise)));
  }
  int64_t integer(std::string_view key, std::optional<int64_t> otherwise = {}) {
    const int64_t value = yaml_.integer(key, otherwise);
    noted(key, std::to_string(value));
    return value;
  }
  bool flag(std::string_view key, bool otherwise = false) {
    const bool value = yaml_.flag(key, otherwise);
    noted(key, value ? "true" : "false");
    return value;
  }
  void require_flag_off(std::string_view key) {
    require<FormatError>(!flag(key), where(), "'{}' is true, which heed's form lacks", key);
  }
  void require_empty(std::string_view key) {
    require<FormatError>(yaml_.texts(key).empty(), where(), "'{}' is not empty, which heed's form lacks", key);
    read_.insert(std::string(key));
  }
  void require_integer(std::string_view key, int64_t value) {
    const int64_t found = integer(key, value);
    require<FormatError>(found == value, where(), "'{}' is {}, but heed's form has {}", key, found, value);
  }
  std::vector<std::string> texts(std::string_view key) const { return yaml_.texts(key); }

  std::vector<SettingOrigin> take_origins() { return std::move(origins_); }
  std::vector<std::string> unread() const {
    std::vector<std::string> keys = yaml_.keys();
    std::erase_if(keys, [this](const std::string& key) { return read_.contains(key); });
    return keys;
  }

 private:
  std::string noted(std::string_view key, std::string value) {
    origins_.push_back({where_, std::string(key), value, !yaml_.has(key)});
    read_.insert(std::string(key));
    return value;
  }

  FlatYaml yaml_;
  std::string where_;
  std::set<std::string, std::less<>> read_;
  std::vector<SettingOrigin> origins_;
};

// d: dropout, a: the sum with the input, n: a norm.
std::string without_dropout(std::string steps) {
  std::erase(steps, 'd');
  return steps;
}

void read_norms(MarianSettings& settings, ModelConfig& config) {
  const std::string before = without_dropout(settings.text("transformer-preprocess", "")),
                    after = without_dropout(settings.text("transformer-postprocess", "dan")),
                    top = without_dropout(settings.text("transformer-postprocess-top", "")),
                    embeddings = without_dropout(settings.text("transformer-postprocess-emb", "d"));
  const bool is_before = before == "n" && after == "a", is_after = before.empty() && after == "an";
  require<FormatError>(is_before || is_after, settings.where(),
                       "'transformer-preprocess' is '{}' and 'transformer-postprocess' '{}', but heed has norms before "
                       "sublayers ('n', 'da') or after them ('', 'dan')",
                       shown(before), shown(after));
  require<FormatError>(top.empty() || top == "n", settings.where(),
                       "'transformer-postprocess-top' is '{}', expected '' or 'n'", shown(top));
  require<FormatError>(embeddings.empty() || embeddings == "n", settings.where(),
                       "'transformer-postprocess-emb' is '{}', expected 'd' or 'nd'", shown(embeddings));
  config.placement = is_before ? NormPlacement::pre : NormPlacement::post;
  config.final_norm = top == "n" ? FinalNorm::present : FinalNorm::none;
  config.embedding_norm = embeddings == "n" ? EmbeddingNorm::present : EmbeddingNorm::none;
  config.epsilon = 1e-6;
}

void read_decoder_kind(MarianSettings& settings, ModelConfig& config) {
  const std::string type = settings.text("type", ""),
                    decoder = settings.text("transformer-decoder-autoreg", "self-attention");
  require<FormatError>(type == "transformer", settings.where(), "'type' is '{}', expected 'transformer'", shown(type));
  if (decoder == "rnn") {
    const std::string cell = settings.text("dec-cell", "gru");
    require<FormatError>(cell == "ssru", settings.where(),
                         "'dec-cell' is '{}', but heed's recurrent decoders are 'ssru'", shown(cell));
    settings.require_flag_off("transformer-rnn-projection");
    settings.require_flag_off("layer-normalization");
    config.autoregression = Autoregression::ssru;
  } else {
    require<FormatError>(decoder == "self-attention", settings.where(),
                         "'transformer-decoder-autoreg' is '{}', expected 'self-attention' or 'rnn'", shown(decoder));
  }
  for (const std::string_view key :
       {"transformer-no-projection", "transformer-pool", "transformer-no-bias", "transformer-no-affine", "ulr"}) {
    settings.require_flag_off(key);
  }
  settings.require_empty("transformer-tied-layers");
  settings.require_empty("input-types");
  settings.require_integer("lemma-dim-emb", 0);
  for (const std::string& vocabulary : settings.texts("vocabs")) {
    require<FormatError>(!vocabulary.ends_with(".fsv"), settings.where(), "'vocabs' has factors, {}, which heed lacks",
                         shown(vocabulary));
  }
}

void read_feed_forward_settings(MarianSettings& settings, ModelConfig& config) {
  config.inner = settings.integer("transformer-dim-ffn");
  const int64_t of_decoder = settings.integer("transformer-decoder-dim-ffn", 0);
  require<FormatError>(of_decoder == 0 || of_decoder == config.inner.of(0), settings.where(),
                       "'transformer-decoder-dim-ffn' is {}, but heed has one width for both stacks", of_decoder);
  constexpr int64_t kMatrices = 2;
  settings.require_integer("transformer-ffn-depth", kMatrices);
  const int64_t decoder_depth = settings.integer("transformer-decoder-ffn-depth", 0);
  require<FormatError>(decoder_depth == 0 || decoder_depth == kMatrices, settings.where(),
                       "'transformer-decoder-ffn-depth' is {}, but heed's form has {}", decoder_depth, kMatrices);
  const std::string activation = settings.text("transformer-ffn-activation", "swish");
  require<FormatError>(activation == "relu" || activation == "swish", settings.where(),
                       "'transformer-ffn-activation' is '{}'{}, which heed lacks", shown(activation),
                       activation == "gelu" ? ", x sigmoid(1.702 x) there" : "");
  config.activation = activation == "relu" ? Activation::relu : Activation::silu;
}

// Positions that are learned come without the factor.
void read_positions(const MarianFile& file, MarianSettings& settings, ModelConfig& config) {
  if (settings.flag("transformer-train-positions")) {
    config.positions = Positions::learned;
    config.embedding_scale = EmbeddingScale::none;
    config.max_length = file.tensors.at("Wpos").shape.front();
  } else {
    config.positions = Positions::sinusoidal;
    config.sinusoid = SinusoidLayout::halves_inclusive;
    config.embedding_scale = EmbeddingScale::sqrt_model;
  }
}

MarianTables read_tables(MarianSettings& settings, ModelConfig& config) {
  const bool all = settings.flag("tied-embeddings-all"), inputs = settings.flag("tied-embeddings-src"),
             output = settings.flag("tied-embeddings");
  config.tying = all || (inputs && output) ? Tying::all : output ? Tying::output : Tying::none;
  return all || inputs ? MarianTables{"Wemb", "Wemb"} : MarianTables{"encoder_Wemb", "decoder_Wemb"};
}

int64_t rows_of_table(const MarianFile& file, std::string_view name, int64_t width) {
  const ArchiveTensor& table = file.tensors.at(name);
  require<FormatError>(table.shape.size() == 2 && table.shape[1] == width, file.tensors.where(),
                       "{}, but 'dim-emb' is {}", table.text(), width);
  return table.shape[0];
}

// The file that a path names, in the folder.
std::filesystem::path beside_decoder(const std::filesystem::path& folder, std::string_view key,
                                     const std::string& named) {
  const std::filesystem::path name = std::filesystem::path(named).filename();
  require<FormatError>(is_plain_name(name.string()) && std::filesystem::is_regular_file(folder / name),
                       (folder / kDecoderFile).string(), "'{}': {} is not in the folder", key, shown(named));
  return folder / name;
}

}  // namespace

bool is_marian(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kDecoderFile;
  if (!std::filesystem::is_regular_file(path)) {
    return false;
  }
  try {
    return FlatYaml(read_file(path), path.string()).has("models");
  } catch (const Error&) {
    return false;
  }
}

MarianDecoder read_marian_decoder(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / kDecoderFile;
  const FlatYaml yaml(read_file(path), path.string());
  const std::vector<std::string> models = yaml.texts("models"), vocabularies = yaml.texts("vocabs"),
                                 shortlist = yaml.texts("shortlist");
  require<FormatError>(models.size() == 1, path.string(), "'models' has {} entries, expected one", models.size());
  MarianDecoder decoder{.weights = beside_decoder(folder, "models", models.front()), .vocabularies = {}};
  require<FormatError>(vocabularies.size() == 2 || vocabularies.empty(), path.string(),
                       "'vocabs' has {} entries, expected two", vocabularies.size());
  for (const std::string& vocabulary : vocabularies) {
    decoder.vocabularies.push_back(beside_decoder(folder, "vocabs", vocabulary));
  }
  if (!shortlist.empty()) {
    decoder.shortlist = MarianShortlist{beside_decoder(folder, "shortlist", shortlist.front()), {}};
    // After the file: of a text both sizes, of a binary file whether it is checked.
    if (shortlist.size() >= 3) {
      const FlatYaml sizes(fmt::format("frequent: {}\nbest: {}\n", shortlist[1], shortlist[2]), path.string());
      decoder.shortlist->sizes = {sizes.integer("frequent"), sizes.integer("best")};
    }
  }
  if (yaml.has("beam-size")) {
    decoder.beam = yaml.integer("beam-size");
  }
  if (yaml.has("normalize")) {
    decoder.length_penalty = yaml.number("normalize", 0.0);
  }
  constexpr std::string_view kPaths = "relative-paths";  // files are in the folder, whatever it says
  for (const std::string& key : yaml.keys()) {
    const bool is_read = std::ranges::find(kDecoderKeys, key) != kDecoderKeys.end();
    if (is_read) {
      const std::string use = key == "shortlist" ? " (where --shortlist names it)" : "";
      decoder.origins.push_back({path.string(), key, fmt::format("{}{}", fmt::join(yaml.texts(key), ", "), use)});
    } else if (key != kPaths) {
      decoder.unread.push_back(key);
    }
  }
  return decoder;
}

MarianModel read_marian_model(const std::filesystem::path& weights) {
  MarianFile file = open_marian_file(weights);
  MarianSettings settings(file);
  MarianModel read;
  ModelConfig& config = read.model.config;
  config.embedding_dropout = config.attention_dropout = config.inner_dropout = config.branch_dropout =
      Probability(0.0F);
  read_decoder_kind(settings, config);
  config.model = settings.integer("dim-emb");
  config.encoder_layers = settings.integer("enc-depth");
  config.decoder_layers = settings.integer("dec-depth");
  config.heads = settings.integer("transformer-heads");
  read_feed_forward_settings(settings, config);
  read_norms(settings, config);
  read_positions(file, settings, config);
  const MarianTables tables = read_tables(settings, config);
  rows_of_table(file, tables.target, config.model);
  read.zero_token = add_zero_token(file.tensors, {std::string(tables.target), std::string(kMarianLogitsBias),
                                                  config.tying == Tying::none ? std::string(kMarianLogits) : ""});
  config.source_vocabulary = rows_of_table(file, tables.source, config.model);
  config.target_vocabulary = rows_of_table(file, tables.target, config.model);
  read.model.type = "marian.npz";
  read.model.family = "Marian's Transformer";
  read.model.marks.target_start = {static_cast<int32_t>(read.zero_token)};
  read.model.names = marian_names(file, config, tables);
  read.model.origins = settings.take_origins();
  read.model.unread = settings.unread();
  read.model.archive = std::make_shared<const TensorArchive>(std::move(file.tensors));
  return read;
}

}  // namespace heed
