#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "nn/layers.h"
#include "nn/weights/adapters.h"

namespace heed::test {
namespace {

using testing::ElementsAre;
using testing::Pair;
using testing::UnorderedElementsAre;

StackShape shape_with_roles() {
  return {.layers = 2,
          .attention = {.model = 8, .heads = 2, .key_value_heads = 1, .head_width = 4},
          .feed_forward = {.model = 8, .inner = 12, .gating = Gating::gated},
          .residual = {.norm = {.width = 8}}};
}

std::vector<std::pair<WeightRole, int64_t>> roles_of(const Weight& weight) {
  std::vector<std::pair<WeightRole, int64_t>> roles;
  for (const RoleRows& part : weight.identity().roles) {
    roles.emplace_back(part.role, part.rows);
  }
  return roles;
}

class WeightRoles : public testing::Test {
 protected:
  const Weight& at(std::string_view name) const { return weights_.find(name); }

  Weights weights_;
};

TEST_F(WeightRoles, StackedMatricesHaveOneForEachRangeOfRows) {
  const Decoder decoder((Scope(weights_) / "d").in(Stack::decoder), shape_with_roles());
  EXPECT_THAT(roles_of(at("d.layers.0.self_attention.projection.weight")),
              ElementsAre(Pair(WeightRole::query, 8), Pair(WeightRole::key, 4), Pair(WeightRole::value, 4)));
  EXPECT_THAT(roles_of(at("d.layers.0.cross_attention.key_value.bias")),
              ElementsAre(Pair(WeightRole::key, 4), Pair(WeightRole::value, 4)));
  EXPECT_THAT(roles_of(at("d.layers.1.feed_forward.inner.weight")),
              ElementsAre(Pair(WeightRole::gate, 12), Pair(WeightRole::up, 12)));
  EXPECT_THAT(roles_of(at("d.layers.1.feed_forward.output.weight")), ElementsAre(Pair(WeightRole::down, 8)));
}

TEST_F(WeightRoles, ALayersWeightsKnowTheirPlace) {
  const Decoder decoder((Scope(weights_) / "d").in(Stack::decoder), shape_with_roles());
  EXPECT_EQ(at("d.layers.1.cross_attention.norm.bias").identity().place,
            (WeightPlace{Stack::decoder, 1, Sublayer::cross_attention}));
  EXPECT_EQ(at("d.layers.1.cross_attention.norm.bias").identity().term, WeightTerm::bias);
  EXPECT_EQ(at("d.layers.1.cross_attention.norm.gain").identity().term, WeightTerm::factor);
  EXPECT_EQ(at("d.norm.gain").identity().place, (WeightPlace{.stack = Stack::decoder}));
  EXPECT_TRUE(at("d.norm.gain").identity().has(WeightRole::final_norm));
}

TEST_F(WeightRoles, NoTwoWeightsAreTheSame) {
  const Decoder decoder((Scope(weights_) / "d").in(Stack::decoder), shape_with_roles());
  for (const Weight& one : weights_.all()) {
    for (const Weight& other : weights_.all()) {
      const WeightIdentity &a = one.identity(), &b = other.identity();
      EXPECT_TRUE(&one == &other || a.place != b.place || a.term != b.term || roles_of(one) != roles_of(other))
          << one.name() << " and " << other.name();
    }
  }
}

TEST_F(WeightRoles, AnAdapterIsWhereItsMatrixIs) {
  const SelfAttentionStack stack((Scope(weights_) / "s").in(Stack::encoder), shape_with_roles());
  add_adapters(weights_, {.rank = 2, .matrices = {"*.0.attention.output.weight"}});
  const Weight& a = at("s.layers.0.attention.output.adapter_a");
  EXPECT_TRUE(is_adapter(a));
  EXPECT_FALSE(is_hidden_matrix(a));
  EXPECT_EQ(a.identity().place, (WeightPlace{Stack::encoder, 0, Sublayer::self_attention}));
}

TEST_F(WeightRoles, MatricesOfHiddenLayersAreKnownByThem) {
  const SelfAttentionStack stack((Scope(weights_) / "s").in(Stack::encoder), shape_with_roles());
  std::vector<std::string> names;
  for (const Weight& weight : weights_.all()) {
    if (is_hidden_matrix(weight) && weight.identity().place.layer == 0) {
      names.push_back(weight.name());
    }
  }
  EXPECT_THAT(names,
              UnorderedElementsAre("s.layers.0.attention.projection.weight", "s.layers.0.attention.output.weight",
                                   "s.layers.0.feed_forward.inner.weight", "s.layers.0.feed_forward.output.weight"));
}

}  // namespace
}  // namespace heed::test
