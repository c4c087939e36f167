#include "serve/models/model_store.h"

#include <algorithm>
#include <utility>

#include "base/system/memory.h"
#include "serve/request_error.h"

namespace heed::serve {

void ModelStore::load_all(std::span<const ModelSettings> settings) {
  const std::lock_guard loading(loading_);
  std::vector<Entry> entries;
  for (const ModelSettings& one : settings) {
    std::shared_ptr<const ServedModel> model = loaded(one, entries);
    const ModelKind kind = model->kind();
    entries.push_back({one, kind, std::move(model)});
  }
  {
    const std::lock_guard lock(mutex_);
    for (Entry& entry : entries) {
      entry.used = ++uses_;
      std::swap(models_[entry.settings.name], entry);  // the former ones end when nothing is locked
    }
  }
  entries.clear();
  if (max_bytes_ > 0) {
    make_room(0, "");  // each of them had room beside the former ones, but not all together
  }
}

bool ModelStore::drop(const std::string& name) {
  Entry dropped;
  {
    const std::lock_guard lock(mutex_);
    const auto found = models_.find(name);
    if (found == models_.end()) {
      return false;
    }
    dropped = std::move(found->second);
    models_.erase(found);
  }
  dropped.model.reset();
  return_freed_memory();
  return true;
}

std::shared_ptr<const ServedModel> ModelStore::find(const std::string& name) {
  const auto known = [&]() -> Entry {
    const std::lock_guard lock(mutex_);
    const auto found = name.empty() && models_.size() == 1 ? models_.begin() : models_.find(name);
    if (found == models_.end()) {
      throw RequestError(404, "model",
                         name.empty() ? "model: is missing; it may be left out only where there is one model"
                                      : fmt::format("model: there is no model '{}'", name));
    }
    found->second.used = ++uses_;
    return found->second;
  };
  if (const Entry entry = known(); entry.model) {
    return entry.model;
  }
  const std::lock_guard loading(loading_);
  const Entry entry = known();
  if (entry.model) {  // another request has loaded it meanwhile
    return entry.model;
  }
  std::shared_ptr<const ServedModel> model = loaded(entry.settings, {});
  const std::lock_guard lock(mutex_);
  if (const auto found = models_.find(entry.settings.name); found != models_.end()) {
    found->second.model = model;
  }
  return model;
}

std::vector<ModelStore::Known> ModelStore::list() const {
  const std::lock_guard lock(mutex_);
  std::vector<Known> all;
  std::ranges::transform(models_, std::back_inserter(all), [](const auto& entry) {
    return Known{entry.second.settings, entry.second.kind, entry.second.model};
  });
  return all;
}

std::shared_ptr<const ServedModel> ModelStore::loaded(const ModelSettings& settings, std::span<Entry> before) {
  if (max_bytes_ > 0) {
    int64_t bytes = bytes_of_files(settings);
    if (bytes > max_bytes_) {
      throw RequestError(507, "model",
                         fmt::format("model: '{}' has {} bytes, but all models together may have {}", settings.name,
                                     bytes, max_bytes_));
    }
    std::for_each(before.rbegin(), before.rend(), [&](Entry& other) {
      if (other.model && bytes + other.model->bytes() > max_bytes_) {
        other.model.reset();
      }
      bytes += other.model ? other.model->bytes() : 0;
    });
    make_room(bytes, settings.name);
  }
  return std::make_shared<const ServedModel>(settings);
}

void ModelStore::make_room(int64_t bytes, const std::string& name) {
  std::vector<std::shared_ptr<const ServedModel>> dropped;
  {
    const std::lock_guard lock(mutex_);
    while (true) {
      int64_t sum = bytes;
      Entry* oldest = nullptr;
      for (auto& [other, entry] : models_) {
        if (entry.model && other != name) {
          sum += entry.model->bytes();
          oldest = oldest == nullptr || entry.used < oldest->used ? &entry : oldest;
        }
      }
      if (sum <= max_bytes_ || oldest == nullptr) {
        break;
      }
      dropped.push_back(std::exchange(oldest->model, nullptr));
    }
  }
  if (!dropped.empty()) {
    dropped.clear();
    return_freed_memory();
  }
}

}  // namespace heed::serve
