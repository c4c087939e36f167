// The directory of an adapter: what was trained on top of a base model, whose own weights stay where they are.
#pragma once

#include <string>
#include <vector>

#include "checkpoint/model_directory.h"
#include "checkpoint/widened_weights.h"
#include "nn/weights/adapters.h"

namespace heed {

// A weight that another model has under another name.
struct RenamedWeight {
  std::string name, there;
};
// What the other model calls a weight.
const std::string& name_there(const std::vector<RenamedWeight>& renamed, const std::string& name);

// The content of adapter.json.
struct AdapterDescription {
  std::filesystem::path base;  // the model's directory, as seen from the adapter's, with all links resolved
  std::string checksum;        // of the base's weights
  int64_t rank = 0;
  double alpha = 0.0;
  std::vector<std::string> matrices;   // that have an adapter
  std::vector<std::string> whole;      // weights that were trained as a whole: their values are not the base's
  std::vector<RenamedWeight> renamed;  // that the base has under another name

  double scale() const { return alpha / static_cast<double>(rank); }
};

bool holds_adapter(const ModelFolder& folder);
void save_adapter(const ModelFolder& folder, const AdapterDescription& description);
// FormatError for what no run writes: no matrices, a rank or alpha that is not above 0, a plain model beside the
// adapter.
AdapterDescription load_adapter(const ModelFolder& folder);

// What identifies a base: the checksum in its file, which is not verified here, or for another program's model, the one
// that an import of it would have.
std::string checksum_of_base(const TensorFile& base);

// Where the base is expected, and whether it is there.
ModelFolder base_of(const ModelFolder& folder, const AdapterDescription& description);
bool has_base(const ModelFolder& folder, const AdapterDescription& description);
// FormatError unless the adapter is one of a model with these weights.
void require_adapter_of(const ModelFolder& folder, const AdapterDescription& description, const Weights& weights);

// The base's weights. FormatError, naming both checksums, when they are not those that the adapter was trained on;
// IoError, saying how to give another directory, when there are none.
WidenedWeights open_base(const ModelFolder& folder, const AdapterDescription& description,
                         const std::filesystem::path& base = {});

// Where an adapter's weights are; empty: in its folder, and in the base that it records.
struct AdapterSources {
  std::filesystem::path file;
  std::filesystem::path base;
};

// An adapter and its base, as the weights of one model.
class AdaptedWeights {
 public:
  // FormatError when the configuration is not the one that the adapter was trained with.
  AdaptedWeights(const ModelFolder& folder, const ModelConfig& config, const AdapterSources& sources = {});

  // FormatError unless the adapter is one of a model with these weights, and its file has what it names and nothing
  // else.
  void require_complete(const Weights& weights) const;
  // W + scale B A, computed in f32. FormatError when the files do not have it in the weight's shape.
  std::vector<float> values(const Weight& weight) const;

  // Where the base has packed matrices, inference holds them as they are, with the same errors, and has their adapters
  // beside them; rank 0: there are none.
  bool stays_packed(const Weight& weight) const;
  std::unique_ptr<PackedWeight> packed(const Weight& weight, Backend& backend, DType inputs) const;
  AdapterConfig adapters_beside(const Weights& weights) const;
  // One of these adapters' matrices.
  std::vector<float> adapter_values(const Weight& weight) const;

 private:
  bool is_whole(const std::string& name) const;
  bool has_adapter(const std::string& name) const;

  ModelFolder folder_;
  AdapterDescription description_;
  SafeTensors adapter_;
  WidenedWeights base_;
};

// For inference; see load_weights() and require_complete(). Registers the adapters that stay beside packed matrices.
void load_adapted_weights(const AdaptedWeights& source, Backend& backend, DType precision, Weights& weights);

// Writes a model directory without an adapter: weights, description and tokenizers.
void merge_adapter(const ModelFolder& adapter, const std::filesystem::path& base, const ModelFolder& to);

}  // namespace heed
