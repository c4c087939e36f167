// The memory of caches: pages of keys and values, each counted by its readers.
#pragma once

#include <vector>

#include "decode/cache/cache_shape.h"
#include "kernels/kernels.h"

namespace heed {

// Caches of one shape of pages can share a pool, so that what one of them returns serves the other: together they take
// what both need at one time, and not the most that each ever needs.
class PagePool {
 public:
  // `storage` of keys and values: the pass's own; bf16 where that is f32; or int8.
  PagePool(Backend& backend, DType storage, const CacheShape& shape);
  PagePool(const PagePool&) = delete;
  PagePool& operator=(const PagePool&) = delete;

  // The bytes of a page, without sums of linear attention.
  static int64_t page_bytes(DType storage, const CacheShape& shape);
  int64_t bytes_of_page() const { return bytes_of_page_; }

  int32_t take();  // with one reader
  void share(int32_t page) { ++readers_[static_cast<size_t>(page)]; }
  bool release(int32_t page);  // true: it had no other reader
  int64_t readers(int32_t page) const { return readers_[static_cast<size_t>(page)]; }
  void copy_rows(int32_t from, int32_t to, int64_t count);  // the first tokens of a page
  void make_some();                                         // so that there is memory, whether it is used or not
  int64_t in_use() const { return static_cast<int64_t>(readers_.size() - free_.size()); }
  int64_t free() const { return static_cast<int64_t>(free_.size()); }

  // A page holds, for each layer, a block of rows of keys and one of values. Views of a layer begin at its block in
  // page 0, and go to the end; they are valid until a page is taken.
  int64_t blocks() const { return blocks_; }  // of a page
  int64_t page_tokens() const { return page_tokens_; }
  View keys(int64_t layer, int64_t width) const { return blocks_from(rows_, 2 * layer).column_range(0, width); }
  View values(int64_t layer, int64_t width) const { return blocks_from(rows_, 2 * layer + 1).column_range(0, width); }
  bool has_scales() const { return storage_ == DType::i8; }
  KeyValueScales scales(int64_t layer, int64_t heads) const;

 private:
  View blocks_from(const Tensor& rows, int64_t block) const;
  View first_rows_of_blocks(const Tensor& rows, int32_t page, int64_t count) const;
  void grow();

  Backend& backend_;
  DType storage_;
  int64_t page_tokens_, blocks_, columns_, heads_, first_pages_, bytes_of_page_;
  // [pages * blocks * page_tokens, columns]: blocks end to end, so that only the memory of a page's tokens is touched.
  Tensor rows_;
  Tensor scales_;                 // in int8: f32 [its rows, heads]
  std::vector<int32_t> readers_;  // of each page
  std::vector<int32_t> free_;
};

}  // namespace heed
