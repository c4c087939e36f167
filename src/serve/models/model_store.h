// The models of a server, by name.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

#include "serve/models/served_model.h"

namespace heed::serve {

// Models are loaded, replaced and dropped while others answer: whoever holds one keeps it until it is done. A model that
// had to make room for another is still known, and is loaded again for the next request that names it.
class ModelStore {
 public:
  // `max_bytes` of the files of all models together; 0: no limit.
  explicit ModelStore(int64_t max_bytes) : max_bytes_(max_bytes) {}

  // Loads a model; one of this name answers until the new one takes its place. Before, models that were used longest ago
  // make room. RequestError 507 for a model that alone is larger than the limit. Throws where it can't be loaded; then
  // the same models are known as before.
  void load(const ModelSettings& settings) { load_all({&settings, 1}); }
  // The same for several: all are loaded before the first one takes its place.
  void load_all(std::span<const ModelSettings> settings);
  // False where there is none of this name.
  bool drop(const std::string& name);

  // RequestError 404 where there is none. Empty: the only model.
  std::shared_ptr<const ServedModel> find(const std::string& name);
  // The models that are known, in the order of their names, with null for one that made room.
  struct Known {
    ModelSettings settings;
    ModelKind kind;
    std::shared_ptr<const ServedModel> model;
  };
  std::vector<Known> list() const;

 private:
  struct Entry {
    ModelSettings settings;
    ModelKind kind = ModelKind::translator;
    std::shared_ptr<const ServedModel> model;  // null: it made room
    uint64_t used = 0;
  };

  // Those that were loaded `before` by the same call make room too.
  std::shared_ptr<const ServedModel> loaded(const ModelSettings& settings, std::span<Entry> before);
  void make_room(int64_t bytes, const std::string& name);

  const int64_t max_bytes_;
  std::mutex loading_;  // one model at a time
  mutable std::mutex mutex_;
  std::map<std::string, Entry, std::less<>> models_;
  uint64_t uses_ = 0;
};

}  // namespace heed::serve
