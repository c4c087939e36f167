#include "train/learner/training_state.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <nlohmann/json.hpp>

#include "base/system/files.h"
#include "base/text/excerpt.h"
#include "base/text/json_depth.h"
#include "checkpoint/weights.h"
#include "kernels/host_copy.h"
#include "tensor/view_bytes.h"
#include "text/vocabulary/vocabulary.h"

namespace heed {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

constexpr std::string_view kPrefix = "update-";
constexpr const char* kStateFile = "state.json";
constexpr const char* kTensorFile = "training.safetensors";
constexpr const char* kWeightFile = "weights.safetensors";
constexpr const char* kPartial = ".partial";
constexpr const char* kChecksum = "checksum";
constexpr std::string_view kFormat = "heed-training-state";
constexpr int kVersion = 3;

struct NamedView {
  const char* name;
  View view;
};

std::vector<NamedView> named(const Optimizer::State& state) {
  return {{"applied", state.applied}, {"first_moments", state.first_moments}, {"second_moments", state.second_moments}};
}

std::vector<NamedView> named(const TrainingTensors& tensors) {
  std::vector<NamedView> all = named(tensors.optimizer);
  all.insert(all.begin() + 1, {"masters", tensors.masters});
  if (!tensors.moving_average.empty()) {
    all.push_back({"moving_average", tensors.moving_average});
  }
  if (!tensors.outer_momentum.empty()) {
    all.push_back({"outer_momentum", tensors.outer_momentum});
  }
  return all;
}

void write_tensors(const fs::path& file, Backend& backend, const std::vector<NamedView>& tensors) {
  std::vector<TensorSource> sources;
  sources.reserve(tensors.size());
  for (const NamedView& tensor : tensors) {
    sources.push_back(
        {tensor.name,
         stored_as(tensor.view.type()),
         {tensor.view.elements()},
         [view = tensor.view, &backend](const ByteSink& write) { write(bytes_of(HostCopy(backend, view).view())); }});
  }
  write_checked_safetensors(file, sources, {});
}

void read_tensors(const fs::path& path, Backend& backend, const std::vector<NamedView>& tensors) {
  const SafeTensors file(path);
  require_checksum(file);
  verify_checksum(file);
  for (const NamedView& tensor : tensors) {
    const StoredTensor& stored = file.at(tensor.name);
    HostRoom room(backend, tensor.view);
    const std::span<std::byte> to = bytes_of(room.view());
    require<FormatError>(stored.type == stored_as(tensor.view.type()) && stored.bytes.size() == to.size(),
                         file.path().string(), "{}, but the model needs {}", stored.text(), tensor.view);
    std::memcpy(to.data(), stored.bytes.data(), to.size());
    room.put();
  }
}

std::string optimizer_file(int rank) { return fmt::format("rank-{}.safetensors", rank); }

// All other keys, in the order in which they are written.
std::string checksum_without(json root) {
  root.erase(kChecksum);
  return checksum_of(root.dump(2));
}

json to_json(const TrainingState& state) {
  json candidates = json::array();
  for (const Candidate& candidate : state.candidates) {
    candidates.push_back({candidate.update, candidate.value, candidate.on_schedule});
  }
  const BatchPosition& p = state.position;
  json root{{"format", kFormat},
            {"version", kVersion},
            {"update", state.update},
            {"position", {{"stream", p.stream}, {"epoch", p.epoch}, {"pool", p.pool}, {"batch", p.batch}}},
            {"sentences", state.examples},
            {"seconds", state.seconds},
            {"metrics_bytes", state.metrics_bytes},
            {"candidates", candidates}};
  if (!state.arithmetic.empty()) {
    root["arithmetic"] = state.arithmetic;
  }
  root[kChecksum] = checksum_without(root);
  return root;
}

TrainingState from_json(const json& root, const std::string& where) {
  try {
    require<FormatError>(root.at("format") == kFormat, where, "is not a training state");
    require<FormatError>(root.at("version") == kVersion, where, "version {}, but this program reads {}",
                         shown(root.at("version").dump()), kVersion);
    require<FormatError>(root.at(kChecksum) == checksum_without(root), where,
                         "its checksum does not match: it was damaged or edited");
    TrainingState state;
    state.update = root.at("update").get<int64_t>();
    const json& p = root.at("position");
    state.position = {p.at("stream").get<uint64_t>(), p.at("epoch").get<int64_t>(), p.at("pool").get<int64_t>(),
                      p.at("batch").get<int64_t>()};
    state.examples = root.at("sentences").get<int64_t>();
    state.seconds = root.at("seconds").get<double>();
    state.metrics_bytes = root.at("metrics_bytes").get<int64_t>();
    for (const json& candidate : root.at("candidates")) {
      state.candidates.push_back(
          {candidate.at(0).get<int64_t>(), candidate.at(1).get<double>(), candidate.at(2).get<bool>()});
    }
    // Early versions wrote none.
    state.arithmetic = root.value("arithmetic", "");
    return state;
  } catch (const json::exception&) {
    fail<FormatError>(where, "is not a training state: something is missing or has the wrong type");
  }
}

}  // namespace

fs::path Checkpoints::at(int64_t update) const { return folder_ / fmt::format("{}{:08}", kPrefix, update); }
fs::path Checkpoints::weights(int64_t update) const { return at(update) / kWeightFile; }

void Checkpoints::save(const TrainingState& state, const TrainingTensors& tensors, const Trainables& validated,
                       const OtherOptimizers& others) const {
  const fs::path partial = at(state.update).concat(kPartial);
  fs::remove_all(partial);
  try {
    write(partial, state, tensors, validated, others);
    replace_folder(partial, at(state.update));
  } catch (...) {
    std::error_code ignored;
    fs::remove_all(partial, ignored);
    throw;
  }
}

void Checkpoints::write(const fs::path& folder, const TrainingState& state, const TrainingTensors& tensors,
                        const Trainables& validated, const OtherOptimizers& others) const {
  fs::create_directories(folder);
  save_weights(folder / kWeightFile, validated, {});
  write_tensors(folder / kTensorFile, validated.backend(), named(tensors));
  for (int rank = 1; rank < others.ranks; ++rank) {
    write_tensors(folder / optimizer_file(rank), validated.backend(), named(others.of(rank)));
  }
  write_file(folder / kStateFile, to_json(state).dump(2) + "\n");
}

std::vector<int64_t> Checkpoints::updates() const {
  std::vector<int64_t> found;
  if (!fs::is_directory(folder_)) {
    return found;
  }
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    const std::string name = entry.path().filename().string();
    int64_t update = 0;
    const char* const end = name.data() + name.size();
    if (name.starts_with(kPrefix) && std::from_chars(name.data() + kPrefix.size(), end, update).ptr == end) {
      found.push_back(update);
    }
  }
  std::ranges::sort(found);
  return found;
}

bool Checkpoints::is_resumable(int64_t update) const {
  return fs::exists(at(update) / kStateFile) && fs::exists(at(update) / kTensorFile) && fs::exists(weights(update));
}

std::vector<int64_t> Checkpoints::resumable() const {
  std::vector<int64_t> found = updates();
  std::erase_if(found, [&](int64_t update) { return !is_resumable(update); });
  return found;
}

void Checkpoints::verify_weights(std::span<const int64_t> updates) const {
  for (const int64_t update : updates) {
    if (fs::exists(weights(update))) {
      const SafeTensors file(weights(update));
      require_checksum(file);
      verify_checksum(file);
    }
  }
}

TrainingState Checkpoints::load(int64_t update, Backend& backend, const TrainingTensors& tensors) const {
  const fs::path state_path = at(update) / kStateFile;
  const std::string text = read_file(state_path);
  require_shallow_json(text, state_path.string());
  const json root = json::parse(text, nullptr, false);
  require<FormatError>(root.is_object(), state_path.string(), "is not JSON");
  TrainingState state = from_json(root, state_path.string());
  require<FormatError>(state.update == update, state_path.string(), "is of update {}: it belongs in another folder",
                       state.update);
  read_tensors(at(update) / kTensorFile, backend, named(tensors));
  return state;
}

void Checkpoints::load_optimizer(int64_t update, int rank, Backend& backend, const Optimizer::State& state) const {
  int saved = 1;
  while (fs::exists(at(update) / optimizer_file(saved))) {
    ++saved;
  }
  const int from = rank % saved;
  read_tensors(at(update) / (from == 0 ? kTensorFile : optimizer_file(from)), backend, named(state));
}

void Checkpoints::prune(int64_t resumable, const std::set<int64_t>& weights) const {
  for (const fs::directory_entry& entry : fs::directory_iterator(folder_)) {
    if (entry.path().extension() == kPartial) {
      fs::remove_all(entry.path());
    }
  }
  const std::vector<int64_t> all = updates();
  for (size_t i = 0; i < all.size(); ++i) {
    if (static_cast<int64_t>(all.size() - i) <= resumable) {
      break;
    }
    if (!weights.contains(all[i])) {
      fs::remove_all(at(all[i]));
      continue;
    }
    fs::remove(at(all[i]) / kStateFile);  // first: without it, the rest is not taken for resumable
    fs::remove(at(all[i]) / kTensorFile);
    for (int rank = 1; fs::remove(at(all[i]) / optimizer_file(rank)); ++rank) {
    }
  }
}

}  // namespace heed
