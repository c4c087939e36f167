// Rows of packed matrices: what a shortlist computes instead of a whole projection, with the same bits.
#include "kernels/half_panels.h"
#include "kernels/integer_rows.h"
#include "plugins/heed_cuda/cuda_testing.h"

namespace heed::test {
namespace {

// Neither in order nor each once; around the widths of panels.
std::vector<std::vector<int32_t>> choices_of_rows(int64_t out) {
  std::vector<std::vector<int32_t>> choices;
  for (const int64_t count : {1, 40}) {
    std::vector<int32_t>& rows = choices.emplace_back();
    for (int64_t i = 0; i < count; ++i) {
      rows.push_back(static_cast<int32_t>((i * 37 + 11) % out));
    }
  }
  return choices;
}

class CudaSelectedRows : public CudaTest {
 protected:
  void expect_columns_of_the_whole(Backend& backend, const PackedWeight& whole, Types product_types) {
    for (const std::vector<int32_t>& rows : choices_of_rows(whole.rows())) {
      const std::unique_ptr<PackedWeight> selected = backend.select_packed_rows(whole, rows);
      ASSERT_EQ(selected->rows(), std::ssize(rows));
      ASSERT_EQ(selected->columns(), whole.columns());
      for (const int64_t count : {1, 20}) {
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
  void expect_columns_of_the_whole(const PackedWeight& by_cuda, const PackedWeight& by_reference) {
    expect_columns_of_the_whole(cuda(), by_cuda, types());
    expect_columns_of_the_whole(reference(), by_reference, kReferenceTypes);
    // Another lane's rows of the same matrix.
    const std::unique_ptr<Backend> lane = cuda().make_lane();
    expect_columns_of_the_whole(*lane, by_cuda, types());
  }

  RowSource rows_of(const Guarded& matrix) {
    return [&matrix](int64_t first, int64_t count) { return matrix.view().row_range(first, count); };
  }
};

TEST_P(CudaSelectedRows, OfFloatsGiveTheColumnsOfTheWholeProduct) {
  for (const int64_t in : {3, 130}) {
    const Guarded matrix = random(DType::f32, 70, in, 2, 0.3);
    for (const DType weights : {DType::f32, DType::bf16}) {
      const ProductTypes product{.weights = weights, .inputs = storage()};
      if (weights == DType::f32 && storage() != DType::f32) {
        continue;
      }
      expect_columns_of_the_whole(*cuda().pack({70, in}, product, rows_of(matrix)),
                                  *reference().pack({70, in}, product, rows_of(matrix)));
    }
  }
}

TEST_P(CudaSelectedRows, OfPanelsOfHalvesGiveTheColumnsOfTheWholeProduct) {
  for (const HalfType type : {HalfType::bf16, HalfType::f16}) {
    for (const int64_t in : {3, 130}) {
      const Guarded matrix = random(DType::f32, 70, in, 2, 0.3);
      std::vector<uint16_t> bits;
      for (int64_t r = 0; r < 70; ++r) {
        for (int64_t c = 0; c < in; ++c) {
          const auto value = static_cast<float>(matrix.get(r, c));
          bits.push_back(type == HalfType::f16 ? half_from(value) : bf16(value).bits);
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
      expect_columns_of_the_whole(*cuda().adopt(halves, storage()), *reference().adopt(halves, storage()));
    }
  }
}

TEST_P(CudaSelectedRows, OfIntegersGiveTheColumnsOfTheWholeProduct) {
  for (const int64_t in : {int64_t{64}, int64_t{96}, 4 * kInt4Group}) {
    const Guarded scales = random(DType::f32, 1, 70, 5), group_scales(DType::f32, 70, in / kInt4Group, kTight);
    const Guarded bytes(DType::i8, 70, in, kTight), nibbles(DType::i8, 70, in, kTight);
    for (int64_t r = 0; r < 70; ++r) {
      for (int64_t c = 0; c < in; ++c) {
        bytes.set(r, c, static_cast<double>((r * 37 + c * 101) % 255 - 127));
        nibbles.set(r, c, static_cast<double>((r * 37 + c * 101) % 16 - 8));
      }
      for (int64_t g = 0; g < in / kInt4Group; ++g) {
        group_scales.set(r, g, static_cast<double>(static_cast<float>(bf16(0.01F * static_cast<float>(r + g)))));
      }
    }
    for (const float input_scale : {0.0F, 2.0F / 127.0F}) {
      const Int8Matrix matrix{{70, in}, rows_of(bytes), scales.view(), input_scale};
      expect_columns_of_the_whole(*cuda().pack(matrix), *reference().pack(matrix));
    }
    const Int4Matrix matrix{{70, in}, rows_of(nibbles), group_scales.view()};
    expect_columns_of_the_whole(*cuda().pack(matrix), *reference().pack(matrix));
  }
}

HEED_ON_CUDA(CudaSelectedRows);

}  // namespace
}  // namespace heed::test
