#include "report/figures/head_figures.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace heed {
namespace {

Tensor map_of(const std::vector<float>& weights) {
  Tensor map({static_cast<int64_t>(weights.size())}, DType::f32);
  std::ranges::copy(weights, map.data<float>());
  return map;
}

// Head 0 looks at the previous token, head 1 at everything alike.
TEST(HeadFigures, AreTheMeansOverAllRows) {
  std::vector<Tensor> layers;
  layers.push_back(map_of({1, 0, 0, 1, 0, 0, 0, 1, 0,  //
                           1.0F / 3, 1.0F / 3, 1.0F / 3, 1.0F / 3, 1.0F / 3, 1.0F / 3, 1.0F / 3, 1.0F / 3, 1.0F / 3}));
  HeadFiguresSum sum;
  sum.add("encoder", layers, {2, 3, 3});
  const std::vector<HeadFigures> heads = sum.take();
  ASSERT_EQ(heads.size(), 2U);
  const HeadFigures &previous = heads[0], &even = heads[1];
  EXPECT_EQ(previous.head, 0) << "the most specialized comes first";
  EXPECT_EQ(previous.rows, 3);
  EXPECT_DOUBLE_EQ(previous.previous, 1.0) << "of the two rows that have a previous token";
  EXPECT_DOUBLE_EQ(previous.diagonal, 1.0 / 3);
  EXPECT_DOUBLE_EQ(previous.first, 2.0 / 3);
  EXPECT_DOUBLE_EQ(previous.end, 0.0);
  EXPECT_DOUBLE_EQ(previous.entropy, 0.0);
  EXPECT_DOUBLE_EQ(previous.distance, 2.0 / 3);
  EXPECT_EQ(previous.mostly_on(), "previous");
  EXPECT_NEAR(even.entropy, std::log(3.0), 1e-6);
  EXPECT_NEAR(even.distance, 8.0 / 9, 1e-6);
  EXPECT_NEAR(even.largest_share(), 1.0 / 3, 1e-6);
}

TEST(HeadFigures, OfSeveralSequencesAreWeighedByTheirRows) {
  std::vector<Tensor> one, three;
  one.push_back(map_of({1, 0}));                // one row of two keys
  three.push_back(map_of({0, 1, 0, 1, 0, 1}));  // three rows
  HeadFiguresSum sum;
  sum.add("cross", one, {1, 1, 2});
  sum.add("cross", three, {1, 3, 2});
  const HeadFigures head = sum.take().front();
  EXPECT_DOUBLE_EQ(head.end, 0.75);
  EXPECT_EQ(head.mostly_on(), "end");
  EXPECT_DOUBLE_EQ(head.diagonal, 2.0 / 3) << "the third row's position is after the last key";
}

TEST(HeadFigures, ADecoderSeesNoEndAndALayerWithoutAMapIsLeftOut) {
  std::vector<Tensor> layers(1);
  layers.push_back(map_of({1, 0, 0, 1}));
  HeadFiguresSum sum;
  sum.add("decoder", layers, {1, 2, 2});
  const std::vector<HeadFigures> heads = sum.take();
  ASSERT_EQ(heads.size(), 1U);
  EXPECT_EQ(heads[0].layer, 1);
  EXPECT_TRUE(std::isnan(heads[0].end));
  EXPECT_EQ(heads[0].mostly_on(), "diagonal");
}

}  // namespace
}  // namespace heed
