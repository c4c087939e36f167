// The keys and values of sequences, in pages that sequences can share.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/errors.h"
#include "base/rounding.h"
#include "base/strong.h"
#include "decode/cache/page_pool.h"

namespace heed {

// Identifies a sequence while it exists; one cache or stepper never uses an id twice.
using SequenceId = Strong<struct SequenceIdTag, int64_t>;

// How a sequence grows.
struct Extension {
  SequenceId sequence;
  int64_t tokens;
};

// Forking and rolling back change page numbers and copy no keys: a page is copied only when a sequence is about to
// write into one that another still reads. Pages that no future token needs are freed: with local attention those out
// of sight, with linear attention those whose tokens are in the sums. Sums are shared and copied like pages.
class KeyValueCache {
 public:
  // The pool, of pages of this shape, must outlive it; in int8 there are no linear layers.
  KeyValueCache(Backend& backend, PagePool& pool, const CacheShape& shape);
  ~KeyValueCache();
  KeyValueCache(const KeyValueCache&) = delete;
  KeyValueCache& operator=(const KeyValueCache&) = delete;

  SequenceId add();  // an empty one
  SequenceId fork(SequenceId sequence);
  void remove(SequenceId sequence);
  // Drops the tokens from position `new_length` on. Where pages are freed, this is limited to the tokens of the last
  // extension, or to CacheShape::roll_back of them.
  void roll_back(SequenceId sequence, int64_t new_length);

  int64_t count() const { return static_cast<int64_t>(live_.size()); }
  int64_t length(SequenceId sequence) const { return find(sequence).length; }

  // Makes room for more tokens of these sequences, each named once. Returns one view per layer, of these sequences in
  // this order, which includes the new tokens; the caller must append their keys and values. Valid until the next call.
  // BudgetError when the budget does not suffice; then nothing has changed.
  const std::vector<KeyValueView>& extend(std::span<const Extension> extensions);
  // BudgetError unless there is room for them when they are extended by at most `at_once` tokens per call.
  void require_room(std::span<const Extension> extensions, int64_t at_once);
  // A view of these sequences, without new tokens.
  const std::vector<KeyValueView>& view(std::span<const SequenceId> sequences);

  int64_t states_in_use() const { return static_cast<int64_t>(state_readers_.size() - free_states_.size()); }
  int64_t pages_in_use() const { return pages_; }
  // That no other sequence reads.
  int64_t pages_only_of(std::span<const SequenceId> sequences) const;

 private:
  struct Sequence {
    int64_t id = -1, length = 0;
    int64_t first_page = 0;  // the pages before it were freed, and must not be read
    std::vector<int32_t> pages;
    int32_t state = -1;  // the row of its sums of linear attention; -1: none
    int64_t summed = 0;  // tokens in them: whole chunks
  };

  Sequence& find(SequenceId sequence) { return slots_[slot_of(sequence)]; }
  const Sequence& find(SequenceId sequence) const { return slots_[slot_of(sequence)]; }
  size_t slot_of(SequenceId sequence) const;
  Sequence& open();

  int64_t pages_for(int64_t tokens) const { return ceil_div(tokens, pool_.page_tokens()); }
  int64_t certain_length(const Sequence& sequence) const {
    return std::max<int64_t>(0, sequence.length - shape_.roll_back);
  }
  int64_t first_page_in_sight(int64_t length) const;
  int64_t copies_of_shared_pages(std::span<const Extension> extensions);
  void free_pages(Sequence& sequence, int64_t first_page);
  void own_last_page(Sequence& sequence);
  void sum_whole_chunks(std::span<const Extension> extensions);
  void own_state(Sequence& sequence);
  void release_state(Sequence& sequence);
  int32_t take_page();
  void release(int32_t page);
  // The rows of the listed sequences, without the last `withheld` tokens of each.
  const std::vector<KeyValueView>& list_views(int64_t withheld = 0);
  LinearStates states_of(int64_t layer) const;

  Backend& backend_;
  PagePool& pool_;
  CacheShape shape_;
  int64_t pages_ = 0;  // of the pool's that sequences read
  // For linear attention: a row for each state, in which the sums of all linear layers follow each other.
  Tensor states_;
  int64_t state_size_;  // of the widest layer
  std::vector<int32_t> state_readers_, free_states_;
  std::vector<Sequence> slots_;
  std::vector<size_t> free_slots_;
  std::vector<std::pair<int64_t, size_t>> live_;  // id and slot, ids ascending
  int64_t next_id_ = 0;

  // Results of the last call.
  std::vector<const Sequence*> listed_;
  std::vector<int64_t> lengths_;
  std::vector<int32_t> shared_;
  std::vector<int32_t> table_, state_rows_, summed_;
  Segments segments_;
  std::vector<KeyValueView> views_;
};

}  // namespace heed
