#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/options/translator_options.h"
#include "cli/output/counted.h"
#include "cli/output/json_text.h"
#include "cli/output/standard_output.h"
#include "heed/generator.h"
#include "heed/lines.h"

namespace heed::cli {
namespace {

struct MeasureOptions {
  ModelOptions model;
  PerplexityOptions perplexity;
  bool json = false;
};

void print_text(const Perplexity& found) {
  for (const TokenSurprisal& token : found.each) {
    put("{}\t{:.6f}\n", token.piece, token.nats);
  }
  put("{}, {}\n{:.4f} nats per token, {:.4f} bits per byte, perplexity {:.4f}\n", counted(found.tokens, "token"),
      counted(found.bytes, "byte"), found.nats_per_token, found.bits_per_byte, found.perplexity);
}

void print_json(const Perplexity& found) {
  put("{{\"tokens\": {}, \"bytes\": {}, \"nats_per_token\": {:.6f}, \"bits_per_byte\": {:.6f}, \"perplexity\": {:.6f}",
      found.tokens, found.bytes, found.nats_per_token, found.bits_per_byte, found.perplexity);
  for (size_t i = 0; i < found.each.size(); ++i) {
    put("{}{{\"token\": {}, \"nats\": {:.6f}}}", i == 0 ? ", \"each\": [" : ", ", json_string(found.each[i].piece),
        found.each[i].nats);
  }
  put("{}}}\n", found.each.empty() ? "" : "]");
}

void measure(const MeasureOptions& options) {
  const Generator generator(options.model.directory, options.model.inference);
  const Perplexity found = generator.perplexity(read_text("-"), options.perplexity, "stdin");
  options.json ? print_json(found) : print_text(found);
}

}  // namespace

Command perplexity_command() {
  const auto options = std::make_shared<MeasureOptions>();
  PerplexityOptions& perplexity = options->perplexity;
  return {
      .name = "perplexity",
      .summary = "measure how well a language model predicts the text on standard input",
      .options = joined(
          {model_options(options->model),
           {context_option(options->model), rotary_scaling_option(options->model), cache_option(options->model),
            ensemble_option(options->model),
            option("--window N", perplexity.window, "tokens that the model sees at once; 0: as many as it takes"),
            option("--stride N", perplexity.stride,
                   "tokens by which the window advances in a longer text; 0: half the window"),
            flag("--tokens", perplexity.each, EachToken::listed, "print each token with its negative log-probability"),
            flag("--json", options->json,
                 "print one JSON object: tokens, bytes, nats_per_token, bits_per_byte, perplexity, and each token with "
                 "--tokens")}}),
      .run = [options] { measure(*options); },
      .footer = "Example:\n  heed perplexity --model model < held-out.txt",
  };
}

}  // namespace heed::cli
