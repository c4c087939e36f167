// Rows of packed matrices, and the log-softmax of a row's own columns: what a shortlist computes instead of a whole
// projection, with the same bits.
#include <cmath>
#include <limits>

#include "backends/backend_test.h"
#include "kernels/half_panels.h"
#include "kernels/integer_rows.h"

namespace heed::test {
namespace {

// Neither in order nor each once; around the widths of panels.
std::vector<std::vector<int32_t>> choices_of_rows(int64_t out, const std::vector<int64_t>& counts) {
  std::vector<std::vector<int32_t>> choices;
  for (const int64_t count : counts) {
    std::vector<int32_t>& rows = choices.emplace_back();
    for (int64_t i = 0; i < count; ++i) {
      rows.push_back(static_cast<int32_t>((i * 37 + 11) % out));
    }
  }
  return choices;
}

class BackendSelectedRows : public BackendTest {
 protected:
  void expect_columns_of_the_whole(Backend& backend, const PackedWeight& whole, Types product_types) {
    for (const std::vector<int32_t>& rows :
         choices_of_rows(whole.rows(), sizes({.cpu = {1, 15, 16, 17, 33, 100}, .cuda = {1, 40}}))) {
      const std::unique_ptr<PackedWeight> selected = backend.select_packed_rows(whole, rows);
      ASSERT_EQ(selected->rows(), std::ssize(rows));
      ASSERT_EQ(selected->columns(), whole.columns());
      for (const int64_t count : sizes({.cpu = {1, 2, 7, 13, 40}, .cuda = {1, 20}})) {
        LinearCase c = LinearCase::make(product_types, count, whole.columns(), whole.rows());
        c.bias = Guarded();
        c.packed = &whole;
        const Guarded y = c.forward(backend, product_types).y;
        c.weight = Guarded(product_types.storage, selected->rows(), selected->columns());
        c.packed = selected.get();
        const Guarded of_rows = c.forward(backend, product_types).y;
        EXPECT_TRUE(of_rows.untouched());
        for (int64_t r = 0; r < count; ++r) {
          for (size_t i = 0; i < rows.size(); ++i) {
            ASSERT_EQ(of_rows.get(r, static_cast<int64_t>(i)), y.get(r, rows[i]))
                << count << " rows, row " << r << ", column " << i << " of " << rows.size();
          }
        }
      }
    }
  }
  void expect_columns_of_the_whole(const PackedWeight& by_backend, const PackedWeight& by_reference) {
    expect_columns_of_the_whole(backend(), by_backend, types());
    expect_columns_of_the_whole(reference(), by_reference, kReferenceTypes);
    // Another lane's rows of the same matrix.
    const std::unique_ptr<Backend> lane = backend().make_lane();
    expect_columns_of_the_whole(*lane, by_backend, types());
  }

  RowSource rows_of(const Guarded& matrix) {
    return [&matrix](int64_t first, int64_t count) { return matrix.view().row_range(first, count); };
  }
};

TEST_P(BackendSelectedRows, OfFloatsGiveTheColumnsOfTheWholeProduct) {
  for (const int64_t in : sizes({.cpu = {1, 3, 64, 513}, .cuda = {3, 130}})) {
    const Guarded matrix = random(DType::f32, 70, in, 2, 0.3);
    for (const DType weights : {DType::f32, DType::bf16}) {
      const ProductTypes product{.weights = weights, .inputs = storage()};
      if (weights == DType::f32 && storage() != DType::f32) {
        continue;
      }
      expect_columns_of_the_whole(*backend().pack({70, in}, product, rows_of(matrix)),
                                  *reference().pack({70, in}, product, rows_of(matrix)));
    }
  }
}

TEST_P(BackendSelectedRows, OfPanelsOfHalvesGiveTheColumnsOfTheWholeProduct) {
  for (const HalfType type : {HalfType::bf16, HalfType::f16}) {
    for (const int64_t in : sizes({.cpu = {1, 3, 64, 513}, .cuda = {3, 130}})) {
      const Guarded matrix = random(DType::f32, 70, in, 2, 0.3);
      std::vector<uint16_t> bits;
      for (int64_t r = 0; r < 70; ++r) {
        for (int64_t c = 0; c < in; ++c) {
          const auto value = static_cast<float>(matrix.get(r, c));
          bits.push_back(to_bits(type, value));
        }
      }
      Arena arena;
      Tensor panels({half_panels_of(70) * half_panel_words(in)}, DType::f32, arena);
      auto* const to = reinterpret_cast<uint32_t*>(panels.data<float>());
      for (int64_t first = 0; first < 70; first += kHalfPanelRows) {
        write_half_panel({bits.data() + first * in, std::min(kHalfPanelRows, 70 - first), in, in},
                         to + first / kHalfPanelRows * half_panel_words(in));
      }
      const HalfPanels halves{{70, in}, type, to, nullptr};
      expect_columns_of_the_whole(*backend().adopt(halves, storage()), *reference().adopt(halves, storage()));
    }
  }
}

TEST_P(BackendSelectedRows, OfIntegersGiveTheColumnsOfTheWholeProduct) {
  for (const int64_t in : {int64_t{64}, int64_t{96}, 4 * kInt4Group}) {
    const auto scales_in = [in](HalfType type) {
      Guarded group_scales(DType::f32, 70, in / kInt4Group, kTight);
      for (int64_t i = 0; i < 70 * (in / kInt4Group); ++i) {
        const int64_t r = i / (in / kInt4Group), g = i % (in / kInt4Group);
        group_scales.set(r, g, static_cast<double>(from_bits(type, to_bits(type, 0.01F * static_cast<float>(r + g)))));
      }
      return group_scales;
    };
    const Guarded scales = random(DType::f32, 1, 70, 5), half_scales = scales_in(HalfType::f16);
    const Guarded bytes(DType::i8, 70, in, kTight), nibbles(DType::i8, 70, in, kTight);
    for (int64_t r = 0; r < 70; ++r) {
      for (int64_t c = 0; c < in; ++c) {
        bytes.set(r, c, static_cast<double>((r * 37 + c * 101) % 255 - 127));
        nibbles.set(r, c, static_cast<double>((r * 37 + c * 101) % 16 - 8));
      }
    }
    for (const float input_scale : {0.0F, 2.0F / 127.0F}) {
      const Int8Matrix matrix{{70, in}, rows_of(bytes), scales.view(), input_scale};
      expect_columns_of_the_whole(*backend().pack(matrix), *reference().pack(matrix));
    }
    for (const HalfType type : {HalfType::bf16, HalfType::f16}) {
      const Guarded group_scales = scales_in(type);
      const Int4Matrix matrix{{70, in}, rows_of(nibbles), group_scales.view(), type};
      expect_columns_of_the_whole(*backend().pack(matrix), *reference().pack(matrix));
    }
    const Int8GroupMatrix in_groups{{70, in}, rows_of(bytes), half_scales.view()};
    expect_columns_of_the_whole(*backend().pack(in_groups, storage()), *reference().pack(in_groups, storage()));
  }
}

// Each row has some columns, in any order; the tables are wider than the longest list.
TEST_P(BackendSelectedRows, LogSoftmaxIsOverARowsOwnColumnsAlone) {
  constexpr int64_t kMost = 90;
  for (const DType type : {DType::f32, types().storage}) {
    const Guarded logits = random(type, 9, 200, 8, 3.0);
    std::vector<int64_t> columns{7}, begins, ends;  // the first is of no row
    for (int64_t r = 0; r < 9; ++r) {
      begins.push_back(std::ssize(columns));
      for (int64_t i = 0; i < 1 + 11 * r; ++i) {
        columns.push_back((i * 71 + r * 13) % 200);
      }
      ends.push_back(std::ssize(columns));
    }
    const Guarded of_rows = integers(columns);
    const Guarded ranges(DType::i32, 2, 9);
    for (int64_t r = 0; r < 9; ++r) {
      ranges.set(0, r, static_cast<double>(begins[static_cast<size_t>(r)]));
      ranges.set(1, r, static_cast<double>(ends[static_cast<size_t>(r)]));
    }
    const auto log_probs = [&](Backend& backend, DType master) {
      const Guarded result(master, 9, kMost);
      backend.selected_log_softmax(
          {.logits = logits.view(), .columns = of_rows.view(), .ranges = ranges.view(), .log_probs = result.view()});
      EXPECT_TRUE(result.untouched());
      return result;
    };
    const Guarded found = log_probs(backend(), DType::f32), expected = log_probs(reference(), DType::f64);
    for (int64_t r = 0; r < 9; ++r) {
      for (int64_t i = 0; i < kMost; ++i) {
        if (i < 1 + 11 * r) {
          EXPECT_NEAR(found.get(r, i), expected.get(r, i), 1e-5);
        } else {
          EXPECT_EQ(found.get(r, i), -std::numeric_limits<double>::infinity());
          EXPECT_EQ(expected.get(r, i), -std::numeric_limits<double>::infinity());
        }
      }
    }
  }
}

// On the CPU they are the same bits.
TEST_P(BackendSelectedRows, LogSoftmaxOverAllColumnsIsThePlainOne) {
  const Guarded logits = random(DType::f32, 5, 131, 8, 3.0);
  std::vector<int64_t> all(131);
  const Guarded ranges(DType::i32, 2, 5);
  for (int64_t c = 0; c < 131; ++c) {
    all[static_cast<size_t>(c)] = c;
  }
  for (int64_t r = 0; r < 5; ++r) {
    ranges.set(0, r, 0.0);
    ranges.set(1, r, 131.0);
  }
  const Guarded columns = integers(all), plain(DType::f32, 5, 131), selected(DType::f32, 5, 131);
  backend().log_softmax(logits.view(), plain.view());
  backend().selected_log_softmax(
      {.logits = logits.view(), .columns = columns.view(), .ranges = ranges.view(), .log_probs = selected.view()});
  EXPECT_TRUE(GetParam().device == Device::cpu ? same_bits(selected, plain) : close(selected, plain, kF32));
}

HEED_IN_EACH_SETTING(BackendSelectedRows, products);

}  // namespace
}  // namespace heed::test
