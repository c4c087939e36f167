#include <cublasLt.h>

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>

#include "base/errors.h"
#include "heed_cuda/kernels/product/library_product.h"

namespace heed::cuda {
namespace {

constexpr int64_t kWorkspaceBytes = int64_t{32} << 20;
constexpr uint32_t kMostAlignment = 256;

void check_library(cublasStatus_t status, const char* what) {
  require<DeviceError>(status == CUBLAS_STATUS_SUCCESS, "cuda", "{}: cublasLt's status {}", what,
                       static_cast<int>(status));
}

cudaDataType_t type_of(DType type) { return type == DType::bf16 ? CUDA_R_16BF : CUDA_R_32F; }

uint32_t alignment_of(const void* address) {
  const auto at = reinterpret_cast<uintptr_t>(address) | kMostAlignment;
  return static_cast<uint32_t>(at & (~at + 1));
}

template <class Handle, cublasStatus_t (*kDestroy)(Handle)>
class Owned {
 public:
  Owned() = default;
  Owned(const Owned&) = delete;
  Owned& operator=(const Owned&) = delete;
  ~Owned() {
    if (handle_ != nullptr) {
      kDestroy(handle_);
    }
  }
  Handle* address() { return &handle_; }
  Handle get() const { return handle_; }

 private:
  Handle handle_ = nullptr;
};
using Description = Owned<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Owned<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Owned<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

// The library's matrices are column by column: its product is C^T = B A^T, whose left operand is our B. Ours row by row
// is its transposed matrix.
struct Plan {
  Description description;
  Layout left, right, result;
  std::optional<cublasLtMatmulAlgo_t> algorithm;
};

void describe(Layout& layout, DType type, int64_t rows_in_memory, int64_t columns_in_memory, int64_t stride) {
  check_library(cublasLtMatrixLayoutCreate(layout.address(), type_of(type), static_cast<uint64_t>(columns_in_memory),
                                           static_cast<uint64_t>(rows_in_memory), stride),
                "a matrix's layout");
}

void describe_operand(Layout& layout, const LibraryOperand& operand, int64_t outer, int64_t k) {
  const bool by_outer = operand.rows == RowsOf::outer;
  describe(layout, operand.type, by_outer ? outer : k, by_outer ? k : outer, operand.stride);
}

template <class Value>
void set_preference(const Preference& preference, cublasLtMatmulPreferenceAttributes_t what, Value value) {
  check_library(cublasLtMatmulPreferenceSetAttribute(preference.get(), what, &value, sizeof(value)),
                "what an algorithm may need");
}

void set_transposed(const Description& description, cublasLtMatmulDescAttributes_t which, bool transposed) {
  const cublasOperation_t operation = transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  check_library(cublasLtMatmulDescSetAttribute(description.get(), which, &operation, sizeof(operation)),
                "a product's description");
}

class CublasLt final : public Products {
 public:
  explicit CublasLt(Queue& queue) : queue_(queue) {}
  ~CublasLt() override {
    plans_.clear();
    if (handle_ != nullptr) {
      cublasLtDestroy(handle_);
    }
    if (workspace_ != nullptr) {
      queue_.release(workspace_);
    }
  }

  bool multiply(const LibraryProduct& product) override {
    if (!open()) {
      return false;
    }
    const Plan& plan = plan_of(product);
    if (!plan.algorithm) {
      return false;
    }
    const float beta = product.adds ? 1.0F : 0.0F;
    check_library(
        cublasLtMatmul(handle_, plan.description.get(), &product.scale, product.b.data, plan.left.get(), product.a.data,
                       plan.right.get(), &beta, product.c, plan.result.get(), product.c, plan.result.get(),
                       &*plan.algorithm, workspace_, kWorkspaceBytes, static_cast<cudaStream_t>(queue_.handle())),
        "a product");
    return true;
  }

 private:
  using Key = std::tuple<int64_t, int64_t, int64_t, int64_t, int64_t, int64_t, DType, DType, DType, RowsOf, RowsOf,
                         bool, uint32_t, uint32_t, uint32_t>;

  // The first time that it is needed: decoding does without.
  bool open() {
    if (handle_ == nullptr && !missing_) {
      workspace_ = queue_.allocate(kWorkspaceBytes);
      missing_ = workspace_ == nullptr || cublasLtCreate(&handle_) != CUBLAS_STATUS_SUCCESS;
    }
    return !missing_;
  }

  const Plan& plan_of(const LibraryProduct& product) {
    const Key key{product.size.m,
                  product.size.n,
                  product.size.k,
                  product.a.stride,
                  product.b.stride,
                  product.c_stride,
                  product.a.type,
                  product.b.type,
                  product.c_type,
                  product.a.rows,
                  product.b.rows,
                  product.adds,
                  alignment_of(product.a.data),
                  alignment_of(product.b.data),
                  alignment_of(product.c)};
    const auto [at, is_new] = plans_.try_emplace(key);
    if (is_new) {
      make_plan(product, at->second);
    }
    return at->second;
  }

  void make_plan(const LibraryProduct& product, Plan& plan) {
    const auto& [m, n, k] = product.size;
    check_library(cublasLtMatmulDescCreate(plan.description.address(), CUBLAS_COMPUTE_32F, CUDA_R_32F),
                  "a product's description");
    set_transposed(plan.description, CUBLASLT_MATMUL_DESC_TRANSA, product.b.rows == RowsOf::outer);
    set_transposed(plan.description, CUBLASLT_MATMUL_DESC_TRANSB, product.a.rows == RowsOf::k);
    describe_operand(plan.left, product.b, n, k);
    describe_operand(plan.right, product.a, m, k);
    describe(plan.result, product.c_type, m, n, product.c_stride);

    Preference preference;
    check_library(cublasLtMatmulPreferenceCreate(preference.address()), "what an algorithm may need");
    set_preference(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, static_cast<uint64_t>(kWorkspaceBytes));
    set_preference(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK,
                   static_cast<uint32_t>(CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE));
    set_preference(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, alignment_of(product.b.data));
    set_preference(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, alignment_of(product.a.data));
    set_preference(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, alignment_of(product.c));
    set_preference(preference, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, alignment_of(product.c));
    cublasLtMatmulHeuristicResult_t best{};
    int found = 0;
    const cublasStatus_t status =
        cublasLtMatmulAlgoGetHeuristic(handle_, plan.description.get(), plan.left.get(), plan.right.get(),
                                       plan.result.get(), plan.result.get(), preference.get(), 1, &best, &found);
    if (status == CUBLAS_STATUS_SUCCESS && found > 0 && best.state == CUBLAS_STATUS_SUCCESS) {
      plan.algorithm = best.algo;
    }
  }

  Queue& queue_;
  cublasLtHandle_t handle_ = nullptr;
  void* workspace_ = nullptr;
  bool missing_ = false;
  std::map<Key, Plan> plans_;
};

}  // namespace

std::unique_ptr<Products> Products::make(Queue& queue) { return std::make_unique<CublasLt>(queue); }

}  // namespace heed::cuda
