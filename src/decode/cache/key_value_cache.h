// The keys and values of sequences, in pages that sequences can share.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/errors.h"
#include "base/strong.h"
#include "kernels/calls/linear_attention.h"
#include "kernels/kernels.h"

namespace heed {

// Identifies a sequence while it exists; one cache or stepper never uses an id twice.
using SequenceId = Strong<struct SequenceIdTag, int64_t>;

struct CacheShape {
  int64_t layers, width;    // of keys
  int64_t value_width = 0;  // of values; 0: as keys
  int64_t window = 0;       // the latest tokens that any layer needs; 0: all tokens are cached
  int64_t max_tokens = 0;   // the budget: of all sequences together, in whole pages; 0: as many as memory holds
  int64_t begin_with = 0;   // tokens that there is room for at first; 0: some
  int64_t roll_back = 0;    // tokens that roll_back() can always drop, also where pages are freed
  // The layers of linear attention, which keep sums (see LinearStates). The budget does not count these: their size
  // does not depend on a sequence's length.
  std::vector<int64_t> linear_layers = {};
  int64_t heads = 1;  // of keys: each has sums of its own, and in int8 scales of its own
  LinearFeature linear_feature = LinearFeature::elu;
  // Heads of keys of each layer where layers differ: `width`, `value_width` and `heads` are then those of the widest,
  // and other layers use the first columns of as much room.
  std::vector<int64_t> heads_of_layers = {};

  int64_t heads_of(int64_t layer) const {
    return heads_of_layers.empty() ? heads : heads_of_layers[static_cast<size_t>(layer)];
  }
  int64_t width_of(int64_t layer) const { return width / heads * heads_of(layer); }
  int64_t value_width_of(int64_t layer) const {
    return (value_width > 0 ? value_width : width) / heads * heads_of(layer);
  }
};

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
  static constexpr int64_t kPageTokens = 16;

  // `storage` of keys and values: the pass's own; bf16 where that is f32; or int8, without linear layers.
  KeyValueCache(Backend& backend, DType storage, const CacheShape& shape);
  KeyValueCache(const KeyValueCache&) = delete;
  KeyValueCache& operator=(const KeyValueCache&) = delete;

  // Bytes of kPageTokens tokens, without sums of linear attention.
  static int64_t page_bytes(DType storage, const CacheShape& shape);

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
  int64_t pages_in_use() const { return static_cast<int64_t>(readers_.size() - free_.size()); }

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
  void grow();
  // The rows of the listed sequences, without the last `withheld` tokens of each.
  const std::vector<KeyValueView>& list_views(int64_t withheld = 0);
  View blocks_from(const Tensor& rows, int64_t block) const;
  View first_rows_of_blocks(const Tensor& rows, int32_t page, int64_t count) const;
  KeyValueScales scales_of(int64_t layer) const;
  LinearStates states_of(int64_t layer) const;

  Backend& backend_;
  DType storage_;
  CacheShape shape_;
  // [pages * blocks * kPageTokens, the wider of keys and values]: a page holds, for each layer, a block of rows of keys
  // and one of values, end to end, so that only the memory of its tokens is touched.
  Tensor rows_;
  Tensor scales_;  // in int8: f32 [its rows, heads]
  int64_t blocks_;
  std::vector<int32_t> readers_;  // of each page
  std::vector<int32_t> free_;
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
