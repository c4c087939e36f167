#include "decode/cache/key_value_cache.h"

#include <algorithm>
#include <utility>

namespace heed {
namespace {

constexpr int64_t kFirstStates = 4;
constexpr int64_t kAllAtOnce = int64_t{1} << 40;

}  // namespace

KeyValueCache::KeyValueCache(Backend& backend, PagePool& pool, const CacheShape& shape)
    : backend_(backend),
      pool_(pool),
      shape_(shape),
      state_size_(LinearStates::size(shape.heads, shape.width / shape.heads, shape.width_of_values() / shape.heads)) {}

KeyValueCache::~KeyValueCache() {
  for (const auto& [id, slot] : live_) {
    free_pages(slots_[slot], static_cast<int64_t>(slots_[slot].pages.size()));
  }
}

SequenceId KeyValueCache::add() { return SequenceId(open().id); }

SequenceId KeyValueCache::fork(SequenceId sequence) {
  const size_t parent = slot_of(sequence);
  Sequence& child = open();
  child.length = slots_[parent].length;
  child.first_page = slots_[parent].first_page;
  child.pages = slots_[parent].pages;
  for (auto page = child.pages.begin() + child.first_page; page != child.pages.end(); ++page) {
    pool_.share(*page);
  }
  child.state = slots_[parent].state;
  child.summed = slots_[parent].summed;
  if (child.state >= 0) {
    ++state_readers_[static_cast<size_t>(child.state)];
  }
  return SequenceId(child.id);
}

void KeyValueCache::remove(SequenceId sequence) {
  const size_t slot = slot_of(sequence);
  free_pages(slots_[slot], static_cast<int64_t>(slots_[slot].pages.size()));
  release_state(slots_[slot]);
  slots_[slot].id = -1;
  free_slots_.push_back(slot);
  live_.erase(std::ranges::lower_bound(live_, sequence.value, {}, [](const auto& entry) { return entry.first; }));
}

void KeyValueCache::roll_back(SequenceId sequence, int64_t new_length) {
  Sequence& s = find(sequence);
  require(new_length >= 0 && new_length <= s.length, "cache", "a sequence of {} tokens cannot be rolled back to {}",
          s.length, new_length);
  const int64_t length = std::exchange(s.length, new_length);
  if (first_page_in_sight(new_length) < s.first_page || (new_length < s.summed && s.first_page > 0)) {
    s.length = length;
    fail<ShapeError>("cache", "a sequence of {} tokens cannot be rolled back to {}: what it would see was freed",
                     length, new_length);
  }
  if (new_length < s.summed) {
    release_state(s);  // no page was freed: the tokens that remain are summed again
  }
  while (static_cast<int64_t>(s.pages.size()) > pages_for(new_length)) {
    release(s.pages.back());
    s.pages.pop_back();
  }
}

const std::vector<KeyValueView>& KeyValueCache::extend(std::span<const Extension> extensions) {
  sum_whole_chunks(extensions);
  for (const Extension& extension : extensions) {
    Sequence& sequence = find(extension.sequence);
    free_pages(sequence, first_page_in_sight(certain_length(sequence)));
  }
  require_room(extensions, kAllAtOnce);
  listed_.clear();
  for (const auto& [id, tokens] : extensions) {
    Sequence& sequence = find(id);
    if (tokens > 0 && sequence.length % pool_.page_tokens() != 0) {
      own_last_page(sequence);
    }
    sequence.length += tokens;
    while (static_cast<int64_t>(sequence.pages.size()) < pages_for(sequence.length)) {
      sequence.pages.push_back(take_page());
    }
    listed_.push_back(&sequence);
  }
  return list_views();
}

const std::vector<KeyValueView>& KeyValueCache::view(std::span<const SequenceId> sequences) {
  listed_.clear();
  for (const SequenceId sequence : sequences) {
    listed_.push_back(&find(sequence));
  }
  return list_views();
}

int64_t KeyValueCache::pages_only_of(std::span<const SequenceId> sequences) const {
  std::vector<int32_t> pages;
  for (const SequenceId id : sequences) {
    const Sequence& sequence = find(id);
    pages.insert(pages.end(), sequence.pages.begin() + sequence.first_page, sequence.pages.end());
  }
  std::ranges::sort(pages);
  int64_t only = 0;
  for (auto first = pages.begin(); first != pages.end();) {
    const auto last = std::find_if(first, pages.end(), [page = *first](int32_t other) { return other != page; });
    only += last - first == pool_.readers(*first) ? 1 : 0;
    first = last;
  }
  return only;
}

const std::vector<KeyValueView>& KeyValueCache::list_views(int64_t withheld) {
  pool_.make_some();  // sequences without tokens have views, too
  lengths_.clear();
  size_t max_pages = 1;
  for (const Sequence* sequence : listed_) {
    lengths_.push_back(sequence->length - withheld);
    max_pages = std::max(max_pages, sequence->pages.size());
  }
  segments_ = Segments(lengths_);
  table_.assign(listed_.size() * max_pages, 0);
  for (size_t s = 0; s < listed_.size(); ++s) {
    // In blocks: the views of a layer begin at its blocks in page 0.
    std::ranges::transform(listed_[s]->pages, table_.begin() + static_cast<int64_t>(s * max_pages),
                           [this](int32_t page) { return page * static_cast<int32_t>(pool_.blocks()); });
  }
  const auto rows = static_cast<int64_t>(listed_.size()), columns = static_cast<int64_t>(max_pages);
  state_rows_.clear();
  summed_.clear();
  for (const Sequence* sequence : listed_) {
    state_rows_.push_back(std::max(0, sequence->state));
    summed_.push_back(static_cast<int32_t>(sequence->summed));
  }
  const PageTable table{ConstView(table_.data(), DType::i32, rows, columns, columns), pool_.page_tokens()};
  views_.clear();
  for (int64_t layer = 0; layer < shape_.layers; ++layer) {
    views_.push_back({.keys = pool_.keys(layer, shape_.width_of(layer)),
                      .values = pool_.values(layer, shape_.value_width_of(layer)),
                      .segments = &segments_,
                      .table = table,
                      .states = states_of(layer),
                      .scales = pool_.has_scales() ? pool_.scales(layer, shape_.heads_of(layer)) : KeyValueScales{}});
  }
  return views_;
}

LinearStates KeyValueCache::states_of(int64_t layer) const {
  const auto found = std::ranges::find(shape_.linear_layers, layer);
  if (found == shape_.linear_layers.end() || states_.empty()) {
    return {};
  }
  const auto count = static_cast<int64_t>(state_rows_.size());
  const int64_t heads = shape_.heads_of(layer), size = state_size_ / shape_.heads * heads;
  const auto indices = [count](const std::vector<int32_t>& values) {
    return ConstView(values.data(), DType::i32, 1, count, count);
  };
  return {states_.view().column_range((found - shape_.linear_layers.begin()) * state_size_, size), indices(state_rows_),
          indices(summed_)};
}

size_t KeyValueCache::slot_of(SequenceId sequence) const {
  const auto found = std::ranges::lower_bound(live_, sequence.value, {}, [](const auto& entry) { return entry.first; });
  require(found != live_.end() && found->first == sequence.value, "cache", "there is no sequence {}", sequence.value);
  return found->second;
}

KeyValueCache::Sequence& KeyValueCache::open() {
  if (free_slots_.empty()) {
    free_slots_.push_back(slots_.size());
    slots_.emplace_back();
  }
  const size_t slot = free_slots_.back();
  free_slots_.pop_back();
  Sequence& sequence = slots_[slot];
  sequence.id = next_id_++;
  sequence.length = sequence.first_page = sequence.summed = 0;
  sequence.state = -1;
  sequence.pages.clear();
  live_.emplace_back(sequence.id, slot);
  return sequence;
}

// The token at position `length` sees tokens less than `window` positions before it.
int64_t KeyValueCache::first_page_in_sight(int64_t length) const {
  return shape_.window == 0 ? 0 : std::max<int64_t>(0, length - shape_.window + 1) / pool_.page_tokens();
}

void KeyValueCache::require_room(std::span<const Extension> extensions, int64_t at_once) {
  if (shape_.max_tokens == 0) {
    return;
  }
  int64_t needed = copies_of_shared_pages(extensions), more = 0;
  for (const auto& [id, tokens] : extensions) {
    const Sequence& sequence = find(id);
    const int64_t first = std::max(sequence.first_page, first_page_in_sight(certain_length(sequence)));
    int64_t held_then = pages_for(sequence.length + tokens) - first;
    if (shape_.window > 0) {
      held_then = std::min(held_then, pages_for(shape_.window + shape_.roll_back + at_once) + 1);
    }
    needed += std::max<int64_t>(0, held_then - (static_cast<int64_t>(sequence.pages.size()) - first));
    more += tokens;
  }
  const int64_t budget = pages_for(shape_.max_tokens), held = pages_in_use();
  require<BudgetError>(held + needed <= budget, "cache",
                       "{} more tokens need {} pages of {} tokens, but {} of the budget's {} are taken by {} sequences",
                       more, needed, pool_.page_tokens(), held, budget, count());
}

// All but one of a page's readers must copy it before they write; those that do not write keep it.
int64_t KeyValueCache::copies_of_shared_pages(std::span<const Extension> extensions) {
  shared_.clear();
  for (const auto& [id, tokens] : extensions) {
    const Sequence& sequence = find(id);
    if (tokens > 0 && sequence.length % pool_.page_tokens() != 0 && pool_.readers(sequence.pages.back()) > 1) {
      shared_.push_back(sequence.pages.back());
    }
  }
  std::ranges::sort(shared_);
  int64_t copies = 0;
  for (auto first = shared_.begin(); first != shared_.end();) {
    const auto last = std::find_if(first, shared_.end(), [page = *first](int32_t other) { return other != page; });
    copies += std::min<int64_t>(last - first, pool_.readers(*first) - 1);
    first = last;
  }
  return copies;
}

void KeyValueCache::free_pages(Sequence& sequence, int64_t first_page) {
  for (; sequence.first_page < first_page; ++sequence.first_page) {
    release(sequence.pages[static_cast<size_t>(sequence.first_page)]);
  }
}

void KeyValueCache::own_last_page(Sequence& sequence) {
  const int32_t shared = sequence.pages.back();
  if (pool_.readers(shared) == 1) {
    return;
  }
  const int32_t own = take_page();
  pool_.copy_rows(shared, own, sequence.length % pool_.page_tokens());
  release(shared);
  sequence.pages.back() = own;
}

// Sums only tokens that can no longer be rolled back, and none of the extension that follows.
void KeyValueCache::sum_whole_chunks(std::span<const Extension> extensions) {
  listed_.clear();
  for (const Extension& extension : extensions) {
    Sequence& sequence = find(extension.sequence);
    if (!shape_.linear_layers.empty() && certain_length(sequence) - sequence.summed >= kLinearChunk) {
      own_state(sequence);
      listed_.push_back(&sequence);
    }
  }
  if (listed_.empty()) {
    return;
  }
  const std::vector<KeyValueView>& views = list_views(shape_.roll_back);
  for (const int64_t layer : shape_.linear_layers) {
    backend_.fold_linear_attention({shape_.heads_of(layer), shape_.linear_feature, views[static_cast<size_t>(layer)]});
  }
  for (const Extension& extension : extensions) {
    Sequence& sequence = find(extension.sequence);
    sequence.summed = std::max(sequence.summed, certain_length(sequence) / kLinearChunk * kLinearChunk);
  }
}

void KeyValueCache::own_state(Sequence& sequence) {
  const int32_t shared = sequence.state;
  if (shared >= 0 && state_readers_[static_cast<size_t>(shared)] == 1) {
    return;
  }
  if (free_states_.empty()) {
    const auto old = static_cast<int64_t>(state_readers_.size()), count = std::max(kFirstStates, 2 * old);
    Tensor larger({count, static_cast<int64_t>(shape_.linear_layers.size()) * state_size_}, backend_.master_type(),
                  backend_.arena());
    if (old > 0) {
      backend_.copy(states_.view(), larger.view().row_range(0, old));
    }
    states_ = std::move(larger);
    state_readers_.resize(static_cast<size_t>(count), 0);
    for (int64_t row = count - 1; row >= old; --row) {
      free_states_.push_back(static_cast<int32_t>(row));
    }
  }
  sequence.state = free_states_.back();
  free_states_.pop_back();
  state_readers_[static_cast<size_t>(sequence.state)] = 1;
  if (shared >= 0) {
    backend_.copy(states_.view().row_range(shared, 1), states_.view().row_range(sequence.state, 1));
    --state_readers_[static_cast<size_t>(shared)];
  }
}

void KeyValueCache::release_state(Sequence& sequence) {
  if (sequence.state >= 0 && --state_readers_[static_cast<size_t>(sequence.state)] == 0) {
    free_states_.push_back(sequence.state);
  }
  sequence.state = -1;
  sequence.summed = 0;
}

int32_t KeyValueCache::take_page() {
  ++pages_;
  return pool_.take();
}

void KeyValueCache::release(int32_t page) { pages_ -= pool_.release(page) ? 1 : 0; }

}  // namespace heed
