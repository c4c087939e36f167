#include "interchange/gguf/gguf_cuts.h"

#include <algorithm>
#include <iterator>

#include "base/errors.h"
#include "base/text/excerpt.h"

namespace heed {
namespace {

const std::string kGpt2Expression = R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
const std::string kEndsOfEnglishWords = R"((?i:'s|'t|'re|'ve|'m|'ll|'d))";
const std::string kSpaces = R"(\s*[\r\n]+|\s+(?!\S)|\s+)";
const std::string kLetters = R"([^\r\n\p{L}\p{N}]?\p{L}+)", kOthers = R"( ?[^\s\p{L}\p{N}]+[\r\n]*)";
const std::string kUpper = R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])", kLower = R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])",
                  kBefore = R"([^\r\n\p{L}\p{N}]?)";

// Llama 3's, Qwen's and their kin differ in how many digits stay together.
std::string by_digits(const std::string& digits) {
  return kEndsOfEnglishWords + "|" + kLetters + "|" + digits + "|" + kOthers + "|" + kSpaces;
}

// Words begin where lower case ends; `end` may follow a word.
std::string by_case(const std::string& end, const std::string& digits) {
  return kBefore + kUpper + "*" + kLower + "+" + end + "|" + kBefore + kUpper + "+" + kLower + "*" + end + "|" +
         digits + R"(| ?[^\s\p{L}\p{N}]+[\r\n/]*|)" + kSpaces;
}

const std::vector<GgufCut>& all_cuts() {
  static const std::vector<GgufCut> cuts{
      {{"gpt-2", "phi-2", "olmo", "mpt", "jais", "gigachat", "exaone4", "mellum", "trillion", "granite-docling"},
       {kGpt2Expression}},
      {{"llama-bpe", "llama3", "llama-v3", "falcon3", "pixtral"},
       {by_digits(R"(\p{N}{1,3})")},
       /*ignores_merges=*/true,
       /*begins_with_bos=*/true},
      {{"smaug-bpe", "dbrx", "chatglm-bpe", "glm4"}, {by_digits(R"(\p{N}{1,3})")}},
      {{"qwen2", "deepseek-r1-qwen", "stablelm2", "megrez", "kormo", "hunyuan", "solar-open"}, {by_digits(R"(\p{N})")}},
      {{"smollm", "starcoder", "refact", "command-r", "codeshell", "exaone", "minerva-7b"},
       {R"(\p{N})", kGpt2Expression}},
      {{"tekken"}, {by_case("", R"(\p{N})")}, /*ignores_merges=*/true, /*begins_with_bos=*/true},
      {{"gpt-4o", "llama4", "kanana2"}, {by_case(kEndsOfEnglishWords + "?", R"(\p{N}{1,3})")}},
      {{"falcon"}, {R"([\p{P}\$\+<=>\^~\|`]+)", kGpt2Expression, "[0-9][0-9][0-9]"}},
      {{"default"}, {R"([\p{P}\$\+<=>\^~\|]+)", kGpt2Expression, R"(\p{N}+)", "[0-9][0-9][0-9]"}},
  };
  return cuts;
}

}  // namespace

const GgufCut& gguf_cut(std::string_view name, std::string_view where) {
  const std::vector<GgufCut>& cuts = all_cuts();
  const auto found =
      std::ranges::find_if(cuts, [&](const GgufCut& cut) { return std::ranges::count(cut.names, name) > 0; });
  std::vector<std::string_view> known;
  for (const GgufCut& cut : cuts) {
    std::ranges::copy(cut.names, std::back_inserter(known));
  }
  require<FormatError>(found != cuts.end(), where,
                       "'tokenizer.ggml.pre' is '{}', a way to cut texts that heed lacks; it knows {}", shown(name),
                       fmt::join(known, ", "));
  return *found;
}

std::optional<std::string_view> gguf_cut_by(const CutSought& sought) {
  const auto found = std::ranges::find_if(all_cuts(), [&](const GgufCut& cut) {
    return cut.expressions == sought.expressions && cut.ignores_merges == sought.ignores_merges;
  });
  return found == all_cuts().end() ? std::nullopt : std::optional(found->names.front());
}

}  // namespace heed
