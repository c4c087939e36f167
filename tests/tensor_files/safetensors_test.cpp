#include "tensor_files/safetensors.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <numeric>

#include "base/errors.h"
#include "base/random.h"
#include "source_root.h"
#include "tensor_files/safetensors_header.h"
#include "test_folder.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

std::span<const std::byte> bytes_view(const auto& values) { return std::as_bytes(std::span(values)); }

class SafeTensorsFile : public testing::Test {
 protected:
  void SetUp() override { path_ = test::folder_of_test(); }
  void TearDown() override { std::filesystem::remove(path_); }

  // A file of this header and as many zeros.
  void put(std::string_view header, size_t data_bytes) const {
    put_raw(with_length(header) + std::string(data_bytes, '\0'));
  }

  // A new file: some file systems write one out at once that was emptied and written again.
  void put_raw(std::string_view content) const {
    std::filesystem::remove(path_);
    const std::unique_ptr<FILE, int (*)(FILE*)> file(std::fopen(path_.c_str(), "wb"), std::fclose);
    ASSERT_EQ(std::fwrite(content.data(), 1, content.size(), file.get()), content.size());
  }

  static std::string with_length(std::string_view header) {
    const uint64_t length = header.size();
    std::string text(8, '\0');
    std::memcpy(text.data(), &length, 8);
    return text.append(header);
  }

  // What opening the file is refused with; it must name the file.
  std::string refusal() const {
    try {
      const SafeTensors file(path_);
    } catch (const FormatError& error) {
      const std::string message = error.what();
      EXPECT_TRUE(message.starts_with(path_.string() + ": ")) << message;
      return message.substr(std::min(message.size(), path_.string().size() + 2));
    }
    return "";
  }
  std::string refusal_of(std::string_view header, size_t data_bytes) const {
    put(header, data_bytes);
    return refusal();
  }

  std::string run_python(const std::string& command) const {
    const std::string line = std::string("python3 '") + test::source_root().string() +
                             "/tests/tensor_files/safetensors_by_spec.py' " + command + " '" + path_.string() + "'";
    const std::unique_ptr<FILE, int (*)(FILE*)> pipe(popen(line.c_str(), "r"), pclose);
    std::string output;
    for (std::array<char, 256> part{}; std::fgets(part.data(), part.size(), pipe.get()) != nullptr;) {
      output += part.data();
    }
    return output;
  }

  void write_sample() const {
    const std::vector<TensorSource> sources{
        tensor_source("wide", StoredType::f64, {2}, bytes_view(doubles_)),
        tensor_source("matrix", StoredType::f32, {2, 3}, bytes_view(floats_)),
        tensor_source("empty", StoredType::f32, {0, 4}, {}),
        tensor_source("scalar", StoredType::i8, {}, bytes_view(byte_)),
    };
    write_safetensors(path_, sources, {{"format", "pt"}, {"note", "\"quoted\" \xe2\x98\x83\n"}});
  }

  std::filesystem::path path_;
  std::array<double, 2> doubles_{1.5, -2.5};
  std::array<float, 6> floats_{1, 2, 3, 4, 5, 6};
  std::array<int8_t, 1> byte_{-7};
};

TEST_F(SafeTensorsFile, IsReadAsWritten) {
  write_sample();
  const SafeTensors file(path_);
  std::vector<std::string> texts;
  for (const StoredTensor& tensor : file.tensors()) {
    texts.push_back(tensor.text());
  }
  EXPECT_THAT(texts, ElementsAre("wide F64[2]", "matrix F32[2, 3]", "empty F32[0, 4]", "scalar I8[]"));
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}, {"note", "\"quoted\" \xe2\x98\x83\n"}}));

  const StoredTensor& matrix = file.at("matrix");
  EXPECT_EQ(matrix.type, StoredType::f32);
  EXPECT_THAT(matrix.shape, ElementsAre(2, 3));
  EXPECT_EQ(matrix.elements(), 6);
  ASSERT_EQ(matrix.bytes.size(), sizeof floats_);
  EXPECT_EQ(std::memcmp(matrix.bytes.data(), floats_.data(), sizeof floats_), 0);
  EXPECT_EQ(file.at("scalar").elements(), 1);
  EXPECT_EQ(static_cast<int8_t>(file.at("scalar").bytes[0]), -7);
  EXPECT_EQ(file.at("empty").elements(), 0);
}

TEST_F(SafeTensorsFile, IsAlignedWhereWiderElementsComeFirst) {
  write_sample();
  const SafeTensors file(path_);
  for (const StoredTensor& tensor : file.tensors()) {
    EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.bytes.data()) % static_cast<size_t>(size_of(tensor.type)), 0U);
  }
}

TEST_F(SafeTensorsFile, IsFoundByName) {
  write_sample();
  const SafeTensors file(path_);
  EXPECT_EQ(file.find("wide"), file.tensors().data());
  EXPECT_EQ(file.find("wid"), nullptr);
  EXPECT_THAT([&] { file.at("wid"); },
              testing::ThrowsMessage<FormatError>(path_.string() + ": there is no tensor 'wid'"));
}

TEST_F(SafeTensorsFile, WithoutTensorsIsValid) {
  write_safetensors(path_, {}, {});
  EXPECT_THAT(SafeTensors(path_).tensors(), IsEmpty());
  EXPECT_EQ(read_file(path_), with_length("{}" + std::string(54, ' ')));
}

TEST_F(SafeTensorsFile, AcceptsBytesInPieces) {
  std::vector<int> asked;
  std::vector<TensorSource> sources;
  for (int i = 0; i < 3; ++i) {
    sources.push_back({"t" + std::to_string(i), StoredType::i32, {1000}, [i, &asked](const ByteSink& sink) {
                         asked.push_back(i);
                         for (int part = 0; part < 10; ++part) {
                           std::array<int32_t, 100> values{};
                           std::iota(values.begin(), values.end(), i * 1000 + part * 100);
                           sink(bytes_view(values));
                         }
                       }});
  }
  write_safetensors(path_, sources, {});
  EXPECT_THAT(asked, ElementsAre(0, 1, 2));
  const SafeTensors file(path_);
  for (int i = 0; i < 3; ++i) {
    std::array<int32_t, 1000> values{};
    std::memcpy(values.data(), file.at("t" + std::to_string(i)).bytes.data(), sizeof values);
    EXPECT_EQ(values[0], i * 1000);
    EXPECT_EQ(values[999], i * 1000 + 999);
  }
  write_checked_safetensors(path_, sources, {});
  const SafeTensors checked(path_);
  EXPECT_NO_THROW(verify_checksum(checked)) << "the bytes of a tensor, in parts or not, have one checksum";
  EXPECT_EQ(checksum_of_tensors(checked), checked.metadata().at("heed_checksum"));
  EXPECT_EQ(checksum_of_tensors(file), checksum_of_tensors(checked));
}

TEST_F(SafeTensorsFile, IsReadAsTheSpecificationSays) {
  if (std::system("python3 -c pass") != 0) {
    GTEST_SKIP() << "python3 is not there";
  }
  write_sample();
  EXPECT_EQ(run_python("show"),
            "metadata format=pt\nmetadata note=\"quoted\" \xe2\x98\x83\n\n"
            "tensor empty F32 [0,4] 00000000\ntensor matrix F32 [2,3] 1939e524\n"
            "tensor scalar I8 [] 1663a535\ntensor wide F64 [2] e1a08f8f\n");
}

TEST_F(SafeTensorsFile, ReadsWhatTheSpecificationAllows) {
  if (std::system("python3 -c pass") != 0) {
    GTEST_SKIP() << "python3 is not there";
  }
  run_python("make");
  const SafeTensors file(path_);
  EXPECT_EQ(file.metadata(), (Metadata{{"format", "pt"}, {"note", "quotes \" and \xe2\x98\x83"}}));
  ASSERT_EQ(file.tensors().size(), 4U);
  float last = 0;
  std::memcpy(&last, file.at("weights/b").bytes.data() + 20, 4);
  EXPECT_EQ(last, 1e30F);
  EXPECT_EQ(file.at("\xc3\xbcmlaut \xe2\x98\x83").type, StoredType::i64);
  EXPECT_EQ(file.at("none").bytes.size(), 0U);
  EXPECT_EQ(file.at("a\nb").text(), "a?b U8[3]");
  EXPECT_EQ(file.at("a\nb").bytes[2], std::byte{0xff});
}

TEST_F(SafeTensorsFile, ThatIsTooShortIsRefused) {
  put_raw("");
  EXPECT_EQ(refusal(), "0 bytes are not a safetensors file");
  put_raw("1234567");
  EXPECT_EQ(refusal(), "7 bytes are not a safetensors file");
  put_raw(with_length("{}").substr(0, 9));
  EXPECT_EQ(refusal(), "the header's length at byte 0 is 2, but only 1 bytes follow");
  put_raw(std::string(20, '\xff'));
  EXPECT_EQ(refusal(), "the header's length at byte 0 is 18446744073709551615, expected up to 100000000");
}

TEST_F(SafeTensorsFile, WithABrokenHeaderIsRefused) {
  EXPECT_EQ(refusal_of("", 0), "the header at byte 8 does not begin with '{'");
  EXPECT_EQ(refusal_of(" {}", 0), "the header at byte 8 does not begin with '{'");
  EXPECT_EQ(refusal_of("{]", 0), "the header is not JSON at byte 9");
  EXPECT_EQ(refusal_of("{} x", 0), "the header is not JSON at byte 11");
  EXPECT_THAT(refusal_of("{", 0), HasSubstr("the header is not JSON at byte "));
  EXPECT_THAT(refusal_of("{\"\xff\":{}}", 0), HasSubstr("the header is not JSON at byte "));
  EXPECT_EQ(refusal_of(R"({"a":[]})", 0), "'a' is an array, expected an object");
  EXPECT_EQ(refusal_of(R"({"a":1})", 0), "'a' is a number, expected an object");
  EXPECT_EQ(refusal_of(R"({"__metadata__":{"a":1}})", 0), "__metadata__: 'a' is a number, expected a text");
  EXPECT_EQ(refusal_of(R"({"__metadata__":{"a":{}}})", 0), "__metadata__: 'a' is an object, expected a text");
  EXPECT_EQ(refusal_of(R"({"__metadata__":{"a":"","a":""}})", 0), "__metadata__: the key 'a' occurs twice");
  EXPECT_EQ(refusal_of(R"({"__metadata__":{},"__metadata__":{}})", 0), "'__metadata__' occurs twice in the header");
  EXPECT_EQ(refusal_of(std::string(R"({"a":)") + std::string(1 << 20, '['), 0), "'a' is an array, expected an object");
}

TEST_F(SafeTensorsFile, WithABrokenEntryIsRefused) {
  const auto of = [&](const std::string& entry) { return refusal_of("{\"a\":{" + entry + "}}", 4); };
  EXPECT_EQ(of(R"("dtype":"F32","shape":[1],"data_offsets":[0,4])"), "");
  EXPECT_EQ(of(R"("shape":[1],"data_offsets":[0,4])"), "tensor 'a': no dtype");
  EXPECT_EQ(of(R"("dtype":"F32","data_offsets":[0,4])"), "tensor 'a': no shape");
  EXPECT_EQ(of(R"("dtype":"F32","shape":[1])"), "tensor 'a': no data_offsets");
  EXPECT_THAT(of(R"("dtype":"f32","shape":[1],"data_offsets":[0,4])"),
              HasSubstr("tensor 'a': dtype is 'f32', expected one of BOOL, U8, "));
  EXPECT_EQ(of(R"("dtype":4,"shape":[1],"data_offsets":[0,4])"), "tensor 'a': dtype holds a number, expected a text");
  EXPECT_EQ(of(R"("dtype":"F32","shape":"1","data_offsets":[0,4])"),
            "tensor 'a': shape holds a text, expected an array of extents");
  EXPECT_EQ(of(R"("dtype":"F32","shape":[[1]],"data_offsets":[0,4])"),
            "tensor 'a': shape holds an array, expected an array of extents");
  EXPECT_EQ(of(R"("dtype":"F32","shape":[-1],"data_offsets":[0,4])"),
            "tensor 'a': shape holds a negative number, expected an array of extents");
  EXPECT_EQ(of(R"("dtype":"F32","shape":[1.0],"data_offsets":[0,4])"),
            "tensor 'a': shape holds a number that is not a 63-bit integer, expected an array of extents");
  EXPECT_EQ(of(R"("dtype":"F32","shape":[null],"data_offsets":[0,4])"),
            "tensor 'a': shape holds null, expected an array of extents");
  EXPECT_EQ(of(R"("dtype":"F32","shape":[9223372036854775808],"data_offsets":[0,4])"),
            "tensor 'a': an extent of 9223372036854775808, which is beyond 63 bits");
  EXPECT_EQ(of(R"("dtype":"F32","shape":[1],"data_offsets":[4])"), "tensor 'a': 1 data_offsets, expected two");
  EXPECT_EQ(of(R"("dtype":"F32","shape":[1],"data_offsets":[0,4,4])"),
            "tensor 'a': data_offsets holds a third number, expected an array of two offsets");
  EXPECT_EQ(of(R"("dtype":"F32","shape":[1],"data_offsets":[0,4],"x":1)"),
            "tensor 'a': an unknown key 'x', expected dtype, shape, data_offsets");
  EXPECT_EQ(of(R"("dtype":"F32","dtype":"F32","shape":[1],"data_offsets":[0,4])"),
            "tensor 'a': the key 'dtype' occurs twice");
  std::string axes = "1";
  for (int i = 0; i < 64; ++i) {
    axes += ",1";
  }
  EXPECT_EQ(of(R"("dtype":"F32","data_offsets":[0,4],"shape":[)" + axes + "]"), "tensor 'a': more than 64 axes");
}

TEST_F(SafeTensorsFile, WhoseTensorsDoNotMatchItsBytesIsRefused) {
  const auto entry = [](const char* name, const char* type, const char* shape, const char* offsets) {
    return fmt::format(R"("{}":{{"dtype":"{}","shape":[{}],"data_offsets":[{}]}})", name, type, shape, offsets);
  };
  const auto of = [&](const std::vector<std::string>& entries) {
    return refusal_of(fmt::format("{{{}}}", fmt::join(entries, ",")), 8);
  };
  EXPECT_EQ(of({entry("a", "F32", "1", "4,8"), entry("b", "F32", "1", "0,4")}), "");
  EXPECT_EQ(of({entry("a", "F32", "1", "0,4"), entry("z", "F32", "0", "4,4"), entry("b", "F32", "1", "4,8")}), "");
  EXPECT_EQ(of({entry("a", "F32", "3", "0,12")}),
            "tensor 'a': its bytes [0, 12) are not within the 8 bytes of data: the file was cut off, copy it again");
  EXPECT_EQ(of({entry("a", "F32", "2", "8,0")}), "tensor 'a': its bytes [8, 0) are not within the 8 bytes of data");
  EXPECT_EQ(of({entry("a", "F32", "2", "18446744073709551608,0")}),
            "tensor 'a': its bytes [18446744073709551608, 0) are not within the 8 bytes of data");
  EXPECT_EQ(of({entry("a", "F32", "1", "0,8")}), "tensor 'a': F32[1] takes 4 bytes, found 8");
  EXPECT_EQ(of({entry("a", "BF16", "2,3", "0,8")}), "tensor 'a': BF16[2, 3] takes 12 bytes, found 8");
  EXPECT_EQ(of({entry("a", "F32", "4611686018427387906", "0,8")}),
            "tensor 'a': F32[4611686018427387906] is more than any file holds");
  EXPECT_EQ(of({entry("a", "U8", "4294967296,4294967296,8", "0,8")}),
            "tensor 'a': U8[4294967296, 4294967296, 8] is more than any file holds");
  EXPECT_EQ(of({entry("a", "F32", "1", "0,4"), entry("b", "F32", "1", "0,4")}),
            "tensor 'b' begins at byte 0 of the data, expected 4");
  EXPECT_EQ(of({entry("a", "F32", "1", "0,4"), entry("b", "U8", "2", "6,8")}),
            "tensor 'b' begins at byte 6 of the data, expected 4");
  EXPECT_EQ(of({entry("a", "F32", "1", "0,4")}), "the tensors end at byte 4 of the data, which has 8");
  EXPECT_EQ(of({entry("a", "F32", "1", "0,4"), entry("a", "F32", "1", "4,8")}), "'a' occurs twice in the header");
}

TEST_F(SafeTensorsFile, ShortensLongNamesInMessages) {
  const std::string message = refusal_of("{\"" + std::string(1 << 20, 'x') + "\x1f\":1}", 0);
  EXPECT_LT(message.size(), 200U);
}

TEST_F(SafeTensorsFile, ThatCouldNotBeReadBackIsNotWritten) {
  const auto write = [&](const std::vector<TensorSource>& sources, const Metadata& metadata = {}) {
    try {
      write_safetensors(path_, sources, metadata);
    } catch (const Error& error) {
      return std::string(error.what()).substr(path_.string().size() + 2);
    }
    return std::string();
  };
  const auto source = [&](const char* name, std::vector<int64_t> shape) {
    return tensor_source(name, StoredType::f32, std::move(shape), bytes_view(floats_));
  };
  EXPECT_EQ(write({source("a", {6}), source("a", {6})}), "two tensors named 'a'");
  EXPECT_EQ(write({source("__metadata__", {6})}), "a tensor can't be named '__metadata__'");
  EXPECT_EQ(write({source("a", {6}), source("\xff", {6})}), "the name of tensor 1 is not UTF-8");
  EXPECT_EQ(write({source("a", {-6})}), "tensor 'a': F32[-6] is not a size");
  EXPECT_EQ(write({source("a", std::vector<int64_t>(65, 1))}), "tensor 'a' has 65 axes, expected up to 64");
  EXPECT_EQ(write({source("a", {5})}), "tensor 'a' gives more bytes than its shape holds");
  EXPECT_EQ(write({source("a", {7})}), "tensor 'a' gives 4 bytes too few");
  EXPECT_THAT(write({source("a", {6})}, {{"k", "\xff"}}), HasSubstr("is not UTF-8"));
  EXPECT_FALSE(std::filesystem::exists(path_));
  EXPECT_EQ(write({source("a", {6})}), "");
}

TEST_F(SafeTensorsFile, DamagedAnywhereIsRefusedOrReadWithinItsBounds) {
  write_sample();
  const std::string whole = read_file(path_);
  const std::string_view json_bytes = "{}[]\",:0123456789-.eEx\\u \n\xff\x80";
  const RandomKey key{20};
  uint64_t draw = 0;
  const auto below = [&](size_t bound) { return static_cast<size_t>(key.derive(draw++).bits % bound); };
  int refused = 0, accepted = 0;
  for (int round = 0; round < 6000; ++round) {
    std::string content = whole;
    for (size_t edits = 1 + below(3); edits > 0 && !content.empty(); --edits) {
      const size_t at = below(content.size());
      switch (below(6)) {
        case 0:
          content[at] = static_cast<char>(below(256));
          break;
        case 1:
          content[at] = json_bytes[below(json_bytes.size())];
          break;
        case 2:
          content.resize(at);
          break;
        case 3:
          content.erase(at, 1 + below(8));
          break;
        case 4:
          content.insert(at, content.substr(below(content.size()), below(40)));
          break;
        default:
          content[below(std::min<size_t>(content.size(), 8))] = static_cast<char>(below(256));
      }
    }
    put_raw(content);
    try {
      const SafeTensors file(path_);
      ++accepted;
      size_t sum = 0, bytes = 0;
      for (const StoredTensor& tensor : file.tensors()) {
        bytes += tensor.bytes.size();
        for (const std::byte byte : tensor.bytes) {
          sum += std::to_integer<size_t>(byte);
        }
        ASSERT_EQ(tensor.bytes.size(), bytes_of(tensor.type, tensor.shape));
        ASSERT_EQ(file.find(tensor.name), &tensor);
      }
      ASSERT_LE(bytes, content.size());
      ASSERT_LE(sum, 255 * bytes);
    } catch (const FormatError& error) {
      ++refused;
      ASSERT_THAT(error.what(), HasSubstr(path_.string()));
    }
  }
  // Edits of the data alone, of names and of spaces leave a valid file.
  EXPECT_GT(refused, 3000);
  EXPECT_GT(accepted, 100);
}

TEST(StoredTypes, HaveNamesAndSizes) {
  for (const DType type : {DType::f64, DType::f32, DType::bf16, DType::i32, DType::i8}) {
    EXPECT_EQ(size_of(stored_as(type)), size_of(type));
  }
  for (const char* const name : {"F32", "BF16", "F16", "F64", "I64", "I32", "I16", "I8", "U8", "BOOL"}) {
    ASSERT_TRUE(find_stored_type(name).has_value()) << name;
    EXPECT_EQ(name_of(*find_stored_type(name)), name);
  }
  EXPECT_EQ(find_stored_type(""), std::nullopt);
}

}  // namespace
}  // namespace heed
