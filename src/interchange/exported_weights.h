// The weights of a stored model by the names of another program, for a GGUF file.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "checkpoint/safetensors.h"
#include "interchange/gguf.h"
#include "models/config.h"

namespace heed {

struct StoredRows {
  int64_t first, count;
};

// Lists tensors one by one. They refer to the file, which they read when their turn comes.
class ExportedWeights {
 public:
  // Matrices are written in `type`.
  ExportedWeights(const ModelConfig& config, const SafeTensors& stored, GgufType type)
      : config_(config), stored_(stored), type_(type) {}

  // A vector or a table, in f32.
  void add_plain(std::string name, const std::string& weight);
  // A matrix, or some of its rows. ConfigError if its rows are not whole blocks of the type.
  void add_matrix(std::string name, const std::string& weight);
  void add_matrix(std::string name, const std::string& weight, StoredRows rows);
  // Rows of queries or keys. heed rotates columns c and c + width / 2 of a head together, llama.cpp 2c and 2c + 1.
  void add_rotated(std::string name, const std::string& weight, StoredRows rows);
  // The table of embeddings multiplied by the model's scale, since llama.cpp applies no factor after the look-up; and
  // the output projection, unless it is the same table with the same factor, which llama.cpp finds by itself.
  void add_vocabulary();

  std::vector<GgufTensor> take() { return std::move(tensors_); }

 private:
  using Values = std::vector<float>;
  using Change = std::function<Values(Values)>;

  void add(std::string name, const std::string& weight, StoredRows rows, const Change& change);

  const ModelConfig& config_;
  const SafeTensors& stored_;
  GgufType type_;
  std::vector<GgufTensor> tensors_;
};

}  // namespace heed
