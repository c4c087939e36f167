// Encodes texts with a tokenizer file, for the scripts that compare heed with other programs.
//
//   heed_encode_texts dump TOKENIZER TEXTS    TEXTS is JSON: ["text", ["first", "second"], ...]. Prints a line of JSON
//                                             for each: ids, types, offsets in characters, tokens, decoded text; or the
//                                             error.
//   heed_encode_texts time TOKENIZER TEXT ROUNDS ids|offsets THREADS
//                                             encodes the lines of a text, and prints the seconds of each round.
//   heed_encode_texts convert FAMILY FILE...  prints an older file as tokenizer.json: bert, bert-cased VOCAB.TXT; gpt2,
//                                             roberta VOCAB.JSON MERGES.TXT; spm, xlmr, t5, llama, gemma MODEL; marian,
//                                             m2m MODEL VOCAB.JSON
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/system/files.h"
#include "heed/errors.h"
#include "text/huggingface/huggingface_tokenizer.h"
#include "text/huggingface/older/older_files.h"

namespace heed {
namespace {

using Json = nlohmann::json;

std::unique_ptr<HuggingFaceTokenizer> load(const std::string& path) {
  return parse_huggingface_tokenizer(read_file(path), path);
}

Json dumped(const HuggingFaceTokenizer& tokenizer, const Json& text) {
  HuggingFaceTokenizer::EncodeOptions options{.offsets = huggingface::Offsets::characters, .texts = true};
  const auto encoding =
      text.is_string() ? tokenizer.encode_text(text.get<std::string>(), options)
                       : tokenizer.encode_pair(text.at(0).get<std::string>(), text.at(1).get<std::string>(), options);
  Json ids = Json::array(), offsets = Json::array();
  for (size_t i = 0; i < encoding.ids.size(); ++i) {
    ids.push_back(encoding.ids[i].value);
    offsets.push_back({encoding.offsets[i].begin, encoding.offsets[i].end});
  }
  // Without offsets the tokens take another way.
  options = {.frame = huggingface::Frame::framed};
  const auto plain = text.is_string()
                         ? tokenizer.encode_text(text.get<std::string>(), options)
                         : tokenizer.encode_pair(text.at(0).get<std::string>(), text.at(1).get<std::string>(), options);
  return {{"ids", ids},
          {"types", encoding.types},
          {"offsets", offsets},
          {"tokens", encoding.texts},
          {"same", plain.ids == encoding.ids},
          {"text", tokenizer.decode(encoding.ids)}};
}

int dump(const std::string& tokenizer_path, const std::string& texts_path) {
  const auto tokenizer = load(tokenizer_path);
  for (const Json& text : Json::parse(read_file(texts_path))) {
    Json line;
    try {
      line = dumped(*tokenizer, text);
    } catch (const Error& error) {
      line = {{"error", error.what()}};
    }
    std::puts(line.dump(-1, ' ', false, Json::error_handler_t::replace).c_str());
  }
  return 0;
}

std::vector<std::string> lines_of(const std::string& path) {
  const std::string text = read_file(path);
  std::vector<std::string> lines;
  for (size_t at = 0; at < text.size();) {
    const size_t end = std::min(text.find('\n', at), text.size());
    lines.push_back(text.substr(at, end - at));
    at = end + 1;
  }
  return lines;
}

// Each thread encodes the next lines, a few at a time; the result is the number of tokens.
size_t encode_all(const HuggingFaceTokenizer& tokenizer, const std::vector<std::string>& lines,
                  const HuggingFaceTokenizer::EncodeOptions& options, int threads) {
  constexpr size_t kLines = 64;
  std::atomic<size_t> next = 0, tokens = 0;
  const auto work = [&] {
    for (size_t begin = next.fetch_add(kLines); begin < lines.size(); begin = next.fetch_add(kLines)) {
      for (size_t i = begin; i < std::min(begin + kLines, lines.size()); ++i) {
        tokens += tokenizer.encode_text(lines[i], options).ids.size();
      }
    }
  };
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i) {
    others.emplace_back(work);
  }
  work();
  for (std::thread& thread : others) {
    thread.join();
  }
  return tokens;
}

int time_rounds(const std::vector<std::string>& arguments) {
  const auto begin = std::chrono::steady_clock::now();
  const auto seconds_since = [](std::chrono::steady_clock::time_point start) {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  };
  const auto tokenizer = load(arguments[2]);
  Json result{{"load", seconds_since(begin)}, {"seconds", Json::array()}};
  const std::vector<std::string> lines = lines_of(arguments[3]);
  const bool full = arguments[5] == "offsets";
  const HuggingFaceTokenizer::EncodeOptions options{
      .offsets = full ? huggingface::Offsets::characters : huggingface::Offsets::none, .texts = full};
  for (int round = 0; round < std::stoi(arguments[4]); ++round) {
    const auto start = std::chrono::steady_clock::now();
    result["tokens"] = encode_all(*tokenizer, lines, options, std::stoi(arguments[6]));
    result["seconds"].push_back(seconds_since(start));
  }
  std::puts(result.dump().c_str());
  return 0;
}

using huggingface::SentencePieceFile;
using huggingface::TextFrame;

std::string converted(const std::string& family, const std::string& first, const std::string& second) {
  if (family == "bert" || family == "bert-cased") {
    return huggingface::tokenizer_json_of(huggingface::BertFile{.vocabulary = first, .lower_case = family == "bert"},
                                          family);
  }
  if (family == "gpt2") {
    return huggingface::tokenizer_json_of(huggingface::ByteLevelFiles{.vocabulary = first, .merges = second}, family);
  }
  if (family == "roberta") {
    return huggingface::tokenizer_json_of(
        huggingface::ByteLevelFiles{
            .vocabulary = first,
            .merges = second,
            .frame = TextFrame::roberta,
            .names = {.bos = "<s>", .eos = "</s>", .unk = "<unk>", .pad = "<pad>", .mask = "<mask>"}},
        family);
  }
  SentencePieceFile file{.model = first, .vocabulary = second, .frame = TextFrame::end};
  if (family == "xlmr") {
    file.numbers = SentencePieceFile::Numbers::fairseq;
    file.frame = TextFrame::roberta;
    file.more = {"<mask>"};
    file.names.mask = "<mask>";
  } else if (family == "marian" || family == "m2m") {
    file.numbers = SentencePieceFile::Numbers::listed;
  } else if (family == "llama" || family == "gemma") {
    file.spaces = family == "llama" ? SentencePieceFile::Spaces::llama : SentencePieceFile::Spaces::gemma;
    file.frame = TextFrame::begin;
  } else if (family == "t5") {
    file.more = {"<extra_id_1>", "<extra_id_0>"};
  } else {
    file.frame = TextFrame::none;
  }
  return huggingface::tokenizer_json_of(file, family);
}

int run(const std::vector<std::string>& arguments) {
  if (arguments.size() >= 4 && arguments[1] == "convert") {
    const std::string second = arguments.size() > 4 ? read_file(arguments[4]) : std::string();
    std::puts(converted(arguments[2], read_file(arguments[3]), second).c_str());
    return 0;
  }
  if (arguments.size() == 4 && arguments[1] == "dump") {
    return dump(arguments[2], arguments[3]);
  }
  if (arguments.size() == 7 && arguments[1] == "time") {
    return time_rounds(arguments);
  }
  std::fputs("encode_texts: see the beginning of its source\n", stderr);
  return 2;
}

}  // namespace
}  // namespace heed

int main(int argc, char** argv) {
  try {
    return heed::run({argv, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "encode_texts: %s\n", error.what());
    return 2;
  }
}
