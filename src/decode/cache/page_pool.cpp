#include "decode/cache/page_pool.h"

#include <algorithm>
#include <utility>

#include "base/rounding.h"

namespace heed {
namespace {

constexpr int64_t kFirstTokens = 1024;

}  // namespace

PagePool::PagePool(Backend& backend, DType storage, const CacheShape& shape)
    : backend_(backend),
      storage_(storage),
      page_tokens_(shape.page_tokens),
      blocks_(2 * shape.layers),
      columns_(std::max(shape.width, shape.width_of_values())),
      heads_(shape.heads),
      first_pages_(ceil_div(std::max(kFirstTokens, shape.begin_with), shape.page_tokens)),
      bytes_of_page_(page_bytes(storage, shape)) {}

int64_t PagePool::page_bytes(DType storage, const CacheShape& shape) {
  const int64_t scales = storage == DType::i8 ? shape.heads * size_of(DType::f32) : 0;
  return 2 * shape.layers * shape.page_tokens *
         (std::max(shape.width, shape.width_of_values()) * size_of(storage) + scales);
}

int32_t PagePool::take() {
  if (free_.empty()) {
    grow();
  }
  const int32_t page = free_.back();
  free_.pop_back();
  readers_[static_cast<size_t>(page)] = 1;
  return page;
}

bool PagePool::release(int32_t page) {
  const bool is_free = --readers_[static_cast<size_t>(page)] == 0;
  if (is_free) {
    free_.push_back(page);
  }
  return is_free;
}

void PagePool::copy_rows(int32_t from, int32_t to, int64_t count) {
  for (const Tensor* part : {&rows_, &scales_}) {
    if (!part->empty()) {
      backend_.copy(first_rows_of_blocks(*part, from, count), first_rows_of_blocks(*part, to, count));
    }
  }
}

void PagePool::make_some() {
  if (rows_.empty()) {
    grow();
  }
}

KeyValueScales PagePool::scales(int64_t layer, int64_t heads) const {
  return {blocks_from(scales_, 2 * layer).column_range(0, heads),
          blocks_from(scales_, 2 * layer + 1).column_range(0, heads)};
}

// The rows from a block on, to the end.
View PagePool::blocks_from(const Tensor& rows, int64_t block) const {
  const View all = rows.view();
  return all.row_range(block * page_tokens_, all.rows() - block * page_tokens_);
}

// The first rows of each block of a page, which are one row here.
View PagePool::first_rows_of_blocks(const Tensor& rows, int32_t page, int64_t count) const {
  const View blocks = blocks_from(rows, page * blocks_);
  const int64_t width = blocks.columns();
  return blocks.regrouped(blocks_, count * width, page_tokens_ * width);
}

void PagePool::grow() {
  const auto old_pages = static_cast<int64_t>(readers_.size());
  // Large steps: a page that was never written takes no memory yet, and copying after each small step would cost more.
  const int64_t pages = std::max(first_pages_, 4 * old_pages);
  const auto enlarge = [&](Tensor& rows, int64_t columns, DType type) {
    // From the arena, whose memory is reused by the next pool.
    Tensor larger({pages * blocks_ * page_tokens_, columns}, type, backend_.arena());
    if (old_pages > 0) {
      backend_.copy(rows.view(), larger.view().row_range(0, old_pages * blocks_ * page_tokens_));
    }
    rows = std::move(larger);
  };
  enlarge(rows_, columns_, storage_);
  if (has_scales()) {
    enlarge(scales_, heads_, DType::f32);
  }
  readers_.resize(static_cast<size_t>(pages), 0);
  for (int64_t page = pages - 1; page >= old_pages; --page) {
    free_.push_back(static_cast<int32_t>(page));
  }
}

}  // namespace heed
