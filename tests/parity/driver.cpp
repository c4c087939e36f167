// Runs heed for a parity test: heed_parity_driver <folder>. With --bf16-products instead of a folder it prints the
// kinds of bf16 products that this processor supports.
//
// Reads request.json, model.toml and weights.bin; writes results.json, which names shapes and scalars, and results.bin,
// the tensors' values as little-endian f64: of the first batch the logits, the losses and every parameter's gradient;
// and after optimizer steps, which cycle through the batches, the parameters and the first batch's logits.
#include <fmt/format.h>

#include <cstdio>
#include <fstream>

#include "driver_model.h"
#include "kernels/cpu/cpu_backend.h"
#include "kernels/reference/reference_backend.h"
#include "ops/tape.h"

namespace heed::parity {
namespace {

using nlohmann::json;

double value_at(const ConstView& view, int64_t row, int64_t column) {
  switch (view.type()) {
    case DType::f64:
      return host<double>(view)(row, column);
    case DType::f32:
      return static_cast<double>(host<float>(view)(row, column));
    default:
      return static_cast<double>(static_cast<float>(host<bf16>(view)(row, column)));
  }
}

class Results {
 public:
  explicit Results(const std::string& folder)
      : json_path_(folder + "/results.json"), values_(folder + "/results.bin", std::ios::binary) {}

  void add(const std::string& name, const ConstView& view) {
    std::vector<double> values;
    for (int64_t r = 0; r < view.rows(); ++r) {
      for (int64_t c = 0; c < view.columns(); ++c) {
        values.push_back(value_at(view, r, c));
      }
    }
    add(name, {view.rows(), view.columns()}, values);
  }

  void add(const std::string& name, const std::vector<int64_t>& shape, const std::vector<double>& values) {
    index_["tensors"].push_back({{"name", name}, {"shape", shape}});
    values_.write(reinterpret_cast<const char*>(values.data()),
                  static_cast<std::streamsize>(values.size() * sizeof(double)));
  }

  void add(const std::string& name, double scalar) { index_["scalars"][name] = scalar; }

  void write() {
    values_.flush();
    std::ofstream file(json_path_);
    file << index_;
    require<IoError>(values_.good() && file.good(), json_path_, "cannot be written");
  }

 private:
  std::string json_path_;
  std::ofstream values_;
  json index_;
};

// The kinds of bf16 products that this processor supports; the precision "bf16" takes the fastest.
std::string bf16_products() { return cpu::has_bf16_pairs() ? "widened pairs" : "widened"; }

std::unique_ptr<Backend> backend_for(const std::string& precision) {
  if (precision == "f64") {
    return make_reference_backend();
  }
  std::unique_ptr<Backend> usual = make_cpu_backend();
  if (precision == "f32" || precision == "bf16") {
    return usual;
  }
  const auto products = precision == "bf16 pairs" ? cpu::Bf16Products::pairs : cpu::Bf16Products::widened;
  return make_cpu_backend(usual->threads(), products);
}

DType storage_for(const std::string& precision) {
  if (precision == "f64") {
    return DType::f64;
  }
  return precision == "f32" ? DType::f32 : DType::bf16;
}

class Run {
 public:
  Run(const std::string& folder, const Request& request)
      : request_(request),
        backend_(backend_for(request.precision)),
        storage_(storage_for(request.precision)),
        model_(Scope(weights_), request.config),
        trainables_(*backend_, weights_, storage_),
        results_(folder) {
    read_weights(folder, request, *backend_, trainables_);
  }

  void answer() {
    const Batch& first = *request_.batches.front();
    add_logits("logits", first);
    add_losses(differentiate(first, 0));
    add_gradients("gradient:");
    trainables_.begin_update();
    if (request_.steps.count > 0) {
      take_steps();
      add_logits("logits after", first);
    }
    results_.write();
  }

 private:
  void add_logits(const std::string& name, const Batch& batch) {
    Pass pass = Pass::infer(*backend_, storage_);
    results_.add(name, model_.logits(pass, batch).var().value());
  }

  // Gradients of the mean loss over the tokens that count.
  TokenLosses differentiate(const Batch& batch, int64_t update) {
    Tape tape(1.0 / static_cast<double>(batch.pairs.expected.counted()));
    Pass pass = Pass::train(*backend_, storage_, tape, RandomKey{request_.seed}.derive(static_cast<uint64_t>(update)));
    const TokenLosses losses = model_.loss(pass, batch, request_.smoothing, request_.loss_path);
    tape.backward(*backend_);
    trainables_.finish_update(*backend_);
    return losses;
  }

  void add_gradients(const std::string& prefix) {
    for (const Weight& weight : weights_.all()) {
      results_.add(prefix + weight.name(), weight.trainable().gradient());
    }
  }

  void add_losses(const TokenLosses& losses) {
    std::vector<double> values;
    for (int64_t row = 0; row < losses.rows(); ++row) {
      values.push_back(losses.smoothed(row));
      values.push_back(losses.negative_log_likelihood(row));
    }
    results_.add("losses", {losses.rows(), 2}, values);
    results_.add("counted", static_cast<double>(losses.counted()));
    results_.add("total_smoothed", losses.total_smoothed());
    results_.add("total_negative_log_likelihood", losses.total_negative_log_likelihood());
    results_.add("total_divergence", losses.total_divergence());
  }

  void take_steps() {
    Optimizer optimizer(*backend_, trainables_, request_.steps.optimizer);
    std::vector<double> norms;
    for (int64_t step = 0; step < request_.steps.count; ++step) {
      differentiate(*request_.batches[static_cast<size_t>(step) % request_.batches.size()], step);
      add_gradients(fmt::format("gradient {}:", step));  // as the optimizer is given them
      optimizer.update(*backend_, request_.steps.learning_rate);
      norms.push_back(optimizer.gradient_norm());
    }
    results_.add("gradient norms", {request_.steps.count}, norms);
    for (const Weight& weight : weights_.all()) {
      results_.add("after:" + weight.name(), weight.trainable().master());
    }
  }

  const Request& request_;
  std::unique_ptr<Backend> backend_;
  DType storage_;
  Weights weights_;
  DriverModel model_;
  Trainables trainables_;
  Results results_;
};

}  // namespace
}  // namespace heed::parity

int main(int argc, char** argv) {
  try {
    heed::require<heed::ConfigError>(argc == 2, "heed_parity_driver", "expected one argument, a request's folder");
    if (argv[1] == std::string("--bf16-products")) {
      std::puts(heed::parity::bf16_products().c_str());
      return 0;
    }
    const heed::parity::Request request = heed::parity::read_request(argv[1]);
    heed::parity::Run(argv[1], request).answer();
    return 0;
  } catch (const std::exception& error) {
    std::fputs(fmt::format("{}\n", error.what()).c_str(), stderr);
    return 1;
  }
}
