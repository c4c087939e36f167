#include "nn/weights/division.h"

namespace heed {
namespace {

Shape with_extent(const Shape& shape, int axis, int64_t extent) {
  if (shape.rank() == 1) {
    return {extent};
  }
  return axis == 0 ? Shape{extent, shape[1]} : Shape{shape[0], extent};
}

}  // namespace

RankElements::RankElements(const Shape& whole)
    : whole_(whole), shape_(whole), period_(whole.elements()), ranges_{{0, whole.elements()}} {}

RankElements::RankElements(const Shape& whole, const Division& division, const Parts& parts, int64_t index)
    : RankElements(whole) {
  const bool divided = division.kind == Division::Kind::rows || division.kind == Division::Kind::columns;
  if (!divided || parts.is_whole()) {
    return;
  }
  ensure(whole.rank() <= 2, "division", "of {}", whole);
  ranges_.clear();
  if (division.kind == Division::Kind::columns) {
    const PartRange own = parts.share_of(whole.columns(), index);
    ranges_.push_back(own);
    repeats_ = whole.rows();
    period_ = whole.columns();
    shape_ = with_extent(whole, 1, own.count);
    return;
  }
  const int64_t row = whole.rank() == 1 ? 1 : whole[1];  // elements
  int64_t before = 0, count = 0;
  for (const int64_t rows : division.stacked.empty() ? std::vector{whole[0]} : division.stacked) {
    const PartRange own = parts.share_of(rows, index);
    ranges_.push_back({(before + own.first) * row, own.count * row});
    before += rows;
    count += own.count;
  }
  ensure(before == whole[0], "division", "{} stacked rows in {}", before, whole);
  shape_ = with_extent(whole, 0, count);
}

}  // namespace heed
