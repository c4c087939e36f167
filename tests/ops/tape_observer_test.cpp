#include "ops/op_testing.h"

namespace heed::test {
namespace {

// Keeps what the projection of a rotated pair held when it was recorded.
class ProjectionObserver : public TapeObserver {
 public:
  void recorded(const Op& op) override {
    ++ops;
    if (const auto* const projection = std::get_if<LinearOp>(&op)) {
      seen = values_of(projection->y.value());
    }
  }
  int ops = 0;
  std::vector<double> seen;
};

struct Rotated {
  TestParameter weight{"weight", {4, 4}, 1};
  std::vector<int32_t> positions{1, 2, 3};

  Var operator()(Pass& pass) const {
    Tensor ones({3, 4}, DType::f64);
    for (int64_t i = 0; i < ones.elements(); ++i) {
      ones.data<double>()[i] = 1.0;
    }
    Var projected = linear(pass, Var(std::move(ones), 0), {weight, nullptr});
    rotate(pass, Columns::all(projected), positions, Heads(1), {4, 1e4});
    return projected;
  }
};

TEST(TapeObserver, SeesAnOutputBeforeALaterOpChangesItInPlace) {
  const auto backend = make_reference_backend();
  Rotated rotated;
  Tape tape;
  ProjectionObserver observer;
  tape.observe(observer);
  Pass pass = Pass::train(*backend, DType::f64, tape, RandomKey{1});
  const std::vector<double> turned = values_of(rotated(pass).value());
  EXPECT_EQ(observer.ops, 2);
  ASSERT_EQ(observer.seen.size(), turned.size());
  EXPECT_NE(observer.seen, turned);
  for (size_t i = 4; i < observer.seen.size(); ++i) {
    EXPECT_EQ(observer.seen[i], observer.seen[i - 4]) << "equal inputs have equal projections before they are turned";
  }
}

}  // namespace
}  // namespace heed::test
