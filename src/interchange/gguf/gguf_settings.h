// The settings in a GGUF file's metadata, by what follows the name of the architecture: "block_count" is
// "llama.block_count". It remembers what was read.
#pragma once

#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "interchange/foreign_model.h"
#include "interchange/gguf/gguf_metadata.h"
#include "models/per_layer.h"

namespace heed {

// Each getter throws FormatError, naming file and key, for a value of another type, and for a missing one without a
// default.
class GgufSettings {
 public:
  // FormatError unless the file is a model, with its tokenizer and tensors.
  explicit GgufSettings(const GgufMetadata& metadata);

  const std::string& where() const { return metadata_.where(); }
  const std::string& architecture() const { return architecture_; }
  std::string full(std::string_view key) const { return architecture_ + "." + std::string(key); }
  bool has(std::string_view key) const { return metadata_.has(full(key)); }

  int64_t integer(std::string_view key, std::optional<int64_t> absent = {});
  int64_t size(std::string_view key, std::optional<int64_t> absent = {});  // above 0, within reason
  double number(std::string_view key, std::optional<double> absent = {});
  std::string text(std::string_view key, std::optional<std::string> absent = {});
  // One size for all layers, or a list with one for each.
  PerLayer<int64_t> sizes(std::string_view key, int64_t layers, std::optional<int64_t> absent = {});

  // FormatError, saying that heed lacks it, unless the number or boolean is absent or has this value.
  void require_neutral(std::string_view key, double neutral);
  // Marks keys, or all that begin with one that ends in ".", as read elsewhere or as irrelevant to what the model
  // computes.
  void pass_over(std::initializer_list<std::string_view> keys);

  // A setting that is a tensor.
  void note_tensor(std::string_view name, std::string value) { note(std::string(name), std::move(value), {}); }

  const std::vector<SettingOrigin>& origins() const { return origins_; }
  std::vector<std::string> unread() const;  // the keys that nothing has read

 private:
  void note(const std::string& key, std::string value, std::optional<std::string> absent);
  template <class T>
  T noted(const std::string& key, std::optional<T> found, std::optional<T> absent);

  const GgufMetadata& metadata_;
  std::string architecture_;
  std::set<std::string, std::less<>> read_;
  std::vector<SettingOrigin> origins_;
};

}  // namespace heed
