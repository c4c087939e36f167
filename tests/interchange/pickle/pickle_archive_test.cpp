#include "interchange/pickle/pickle_archive.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/errors.h"
#include "base/system/files.h"
#include "interchange/archive/zip_bytes.h"
#include "source_root.h"
#include "test_folder.h"

namespace heed {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using namespace std::string_literals;

std::filesystem::path golden_pickle(const std::string& name) {
  return test::source_root() / "tests/interchange/golden/pickle" / name;
}

std::vector<float> floats_at(const TensorArchive& archive, const std::string& name) {
  return read_floats(archive.at(name));
}

class PickledWeights : public testing::TestWithParam<const char*> {};

TEST_P(PickledWeights, AreReadAsTorchSavedThem) {
  const TensorArchive archive = open_pickle_archive(golden_pickle(GetParam()));
  ASSERT_EQ(archive.tensors().size(), 17U);
  EXPECT_THAT(archive.at("matrix").shape, ElementsAre(2, 3));
  EXPECT_THAT(floats_at(archive, "matrix"), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_EQ(archive.at("tied").bytes.data(), archive.at("matrix").bytes.data());
  EXPECT_THAT(archive.at("transposed").shape, ElementsAre(3, 2));
  EXPECT_THAT(floats_at(archive, "transposed"), ElementsAre(0, 3, 1, 4, 2, 5));
  EXPECT_THAT(floats_at(archive, "second_row"), ElementsAre(3, 4, 5));
  EXPECT_THAT(floats_at(archive, "column"), ElementsAre(1, 4));
  EXPECT_THAT(archive.at("scalar").shape, IsEmpty());
  EXPECT_THAT(floats_at(archive, "scalar"), ElementsAre(2.5F));
  EXPECT_THAT(floats_at(archive, "none"), IsEmpty());
  EXPECT_THAT(floats_at(archive, "parameter"), ElementsAre(0.5F, -0.5F));
  for (const auto& [name, type] : std::map<std::string, ForeignType>{{"half", ForeignType::f16},
                                                                     {"brain", ForeignType::bf16},
                                                                     {"double", ForeignType::f64},
                                                                     {"long", ForeignType::i64},
                                                                     {"int", ForeignType::i32},
                                                                     {"short", ForeignType::i16},
                                                                     {"char", ForeignType::i8},
                                                                     {"byte", ForeignType::u8}}) {
    EXPECT_EQ(archive.at(name).type, type) << name;
    EXPECT_THAT(floats_at(archive, name), ElementsAre(1, 0, 3)) << name;
  }
  EXPECT_EQ(archive.at("boolean").type, ForeignType::boolean);
}

INSTANTIATE_TEST_SUITE_P(Both, PickledWeights, testing::Values("weights.bin", "legacy.bin"));

TEST(PickleArchive, NamesInDictionariesHavePoints) {
  const TensorArchive archive = open_pickle_archive(golden_pickle("nested.pt"));
  std::vector<std::string> names;
  for (const ArchiveTensor& tensor : archive.tensors()) {
    names.push_back(tensor.name);
  }
  EXPECT_THAT(names,
              ElementsAre("model.0.weight", "model.0.bias", "model.1.weight", "model.1.bias", "list.0", "list.1.deep"));
  EXPECT_EQ(open_pickle_archive(golden_pickle("protocol4.bin")).tensors().size(), 4U);
}

// Opcodes, and the ZIP file around them.
class PickleRefusals : public testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string message_of(const std::string& file) const {
    test::write_bytes(folder_ / "pytorch_model.bin", file);
    try {
      open_pickle_archive(folder_);
    } catch (const FormatError& error) {
      return error.what();
    }
    return "";
  }
  std::string refusal(const std::string& pickle, const std::string& storage = std::string(16, '\0')) const {
    return message_of(test::ZipBytes{.parts = {{"m/data.pkl", pickle}, {"m/data/0", storage}}}.all());
  }

  std::filesystem::path folder_ = test::folder_of_test();
};

std::string small_integer(int value) { return "K"s + static_cast<char>(value); }
std::string pickled_text(const std::string& text) {
  return "X" + test::Bytes().add(static_cast<uint32_t>(text.size())).text + text;
}
std::string large_integer(int64_t value) { return "\x8a\x08"s + test::Bytes().add(value).text; }

struct PickledCall {
  std::string storage = "FloatStorage", key = "0", elements = small_integer(4), offset = small_integer(0),
              sizes = small_integer(2) + small_integer(2) + "\x86",
              strides = small_integer(2) + small_integer(1) + "\x86";

  // {"t": the tensor}
  std::string all() const {
    return "}" + pickled_text("t") + "ctorch._utils\n_rebuild_tensor_v2\n(("s + pickled_text("storage") + "ctorch\n" +
           storage + "\n" + pickled_text(key) + pickled_text("cpu") + elements + "tQ" + offset + sizes + strides +
           "\x89}tRs.";
  }
};

TEST_F(PickleRefusals, ATensorByHandIsAccepted) { EXPECT_EQ(refusal(PickledCall{}.all()), ""); }

// CVE-2025-32434 and its kin: nothing but data.
TEST_F(PickleRefusals, NamesOfOtherThingsAreRefused) {
  for (const auto& [module, name] :
       std::vector<std::pair<std::string, std::string>>{{"os", "system"},
                                                        {"builtins", "eval"},
                                                        {"torch", "load"},
                                                        {"torch._utils", "_rebuild_sparse_tensor"},
                                                        {"argparse", "Namespace"},
                                                        {"torch.hub", "load"},
                                                        {"numpy", "xStorage"}}) {
    EXPECT_THAT(refusal("c" + module + "\n" + name + "\n."), HasSubstr("it needs " + module + "." + name));
    EXPECT_THAT(refusal(pickled_text(module) + pickled_text(name) + "\x93."), HasSubstr("it needs " + module));
  }
  EXPECT_THAT(refusal("ctorch\nFloatStorage\n)R."), HasSubstr("it calls FloatStorage, which heed does not"));
  EXPECT_THAT(refusal("ios\nsystem\n."), HasSubstr("opcode 0x69, which heed does not read"));
}

// CVE-2026-24747: views beyond their storage.
TEST_F(PickleRefusals, ViewsBeyondTheirStorageAreRefused) {
  const std::string beyond = "reaches beyond its storage of 4 elements";
  EXPECT_THAT(refusal(PickledCall{.offset = small_integer(1)}.all()), HasSubstr(beyond));
  EXPECT_THAT(refusal(PickledCall{.strides = small_integer(4) + small_integer(1) + "\x86"}.all()), HasSubstr(beyond));
  const std::string huge = large_integer(int64_t{1} << 62);
  EXPECT_THAT(refusal(PickledCall{.sizes = huge + huge + "\x86"}.all()), HasSubstr("reaches beyond"));
  EXPECT_THAT(refusal(PickledCall{.strides = huge + huge + "\x86"}.all()), HasSubstr("reaches beyond"));
  EXPECT_THAT(refusal(PickledCall{.offset = large_integer(-1)}.all()), HasSubstr("its offset is not"));
  EXPECT_THAT(refusal(PickledCall{.strides = large_integer(-2) + small_integer(1) + "\x86"}.all()),
              HasSubstr("a size or stride that is not an integer of at least 0"));
}

// A stride of 0 makes any size of one element.
TEST_F(PickleRefusals, ExpandedTensorsAreRefused) {
  const std::string million = large_integer(1'000'000);
  EXPECT_THAT(
      refusal(PickledCall{.sizes = million + million + "\x86", .strides = small_integer(0) + small_integer(0) + "\x86"}
                  .all()),
      HasSubstr("more elements than its storage has, 4"));
}

TEST_F(PickleRefusals, StoragesOfOtherSizesOrNoneAreRefused) {
  EXPECT_THAT(refusal(PickledCall{}.all(), "short"), HasSubstr("its storage 0 has 5 bytes, expected 4 elements of 4"));
  EXPECT_THAT(refusal(PickledCall{.key = "../0"}.all()), HasSubstr("its storage ../0 is not in the file"));
  EXPECT_THAT(refusal(PickledCall{.elements = large_integer(-4)}.all()), HasSubstr("a storage of -4 elements"));
  EXPECT_THAT(refusal(PickledCall{.storage = "QInt8Storage"}.all()), HasSubstr("tensors in QInt8Storage"));
}

TEST_F(PickleRefusals, BrokenPicklesAreRefused) {
  EXPECT_THAT(refusal("."), HasSubstr("takes a value that is not there"));
  EXPECT_THAT(refusal("h\x01."), HasSubstr("takes a value from slot 1, which is empty"));
  EXPECT_THAT(refusal("]u."), HasSubstr("there is no mark"));
  EXPECT_THAT(refusal("](K\x01u."), HasSubstr("adds to a value of another kind"));
  EXPECT_THAT(refusal("}(K\x01u."), HasSubstr("a key without a value"));
  EXPECT_THAT(refusal("\x80\x06."), HasSubstr("protocol 6, expected up to 5"));
  EXPECT_THAT(refusal("X\xff\xff\xff\xff."), HasSubstr("a pickle takes 4294967295 bytes"));
  EXPECT_THAT(refusal("K\x01}b."), HasSubstr("attributes of a value that is not a dictionary"));
  EXPECT_THAT(refusal("}(K\x01K\x02"), HasSubstr("0 are left"));
}

// A list in itself, and lists in lists that double at each level.
TEST_F(PickleRefusals, CirclesAndDoublingsEnd) {
  EXPECT_THAT(refusal("]q\x01h\x01"
                      "a."),
              HasSubstr("nested deeper than 16 levels"));
  std::string doubling = "]q"s + '\0';
  for (char level = 1; level < 60; ++level) {
    doubling += "]q"s + level + "(h" + static_cast<char>(level - 1) + "h" + static_cast<char>(level - 1) + "e";
  }
  EXPECT_THAT(refusal(doubling + "."), HasSubstr("nested deeper"));
  std::string wide = "]q"s + '\0';  // 300 to the power of 4
  for (char level = 1; level < 5; ++level) {
    wide += "]q"s + level + "(";
    for (int i = 0; i < 300; ++i) {
      wide += "h"s + static_cast<char>(level - 1);
    }
    wide += "e";
  }
  EXPECT_THAT(refusal(wide + "."), HasSubstr("more than 4000000 values"));
}

TEST_F(PickleRefusals, CallsWithTheSameLongListEnd) {
  std::string pickle = "]q\x01(";
  for (int i = 0; i < 3000; ++i) {
    pickle += "K\x01K\x02\x86";
  }
  pickle += "e";
  for (int i = 0; i < 3000; ++i) {
    pickle += "ccollections\nOrderedDict\nh\x01\x85R0";
  }
  EXPECT_THAT(refusal(pickle + "."), HasSubstr("more than 2000000 pairs"));
}

TEST_F(PickleRefusals, OtherFilesAreRefused) {
  EXPECT_THAT(message_of("neither"), HasSubstr("neither a ZIP file nor the older form of torch.save"));
  EXPECT_THAT(message_of(test::ZipBytes{.parts = {{"word/document.xml", "x"}}}.all()), HasSubstr("without data.pkl"));
  const std::string order = test::ZipBytes{.parts = {{"m/data.pkl", "}."}, {"m/byteorder", "big"}}}.all();
  EXPECT_THAT(message_of(order), HasSubstr("its byte order is 'big'"));
}

TEST_F(PickleRefusals, EveryTruncationOfTheOldFormIsRefused) {
  const std::string whole = read_file(golden_pickle("legacy.bin"));
  for (size_t size = 0; size < whole.size(); size += size < 300 ? 1 : 7) {
    EXPECT_NE(message_of(whole.substr(0, size)), "") << size;
  }
}

TEST_F(PickleRefusals, ShardsAreFoundByTheirIndex) {
  std::filesystem::copy_file(golden_pickle("protocol4.bin"), folder_ / "one.bin");
  const auto write_index = [&](const std::string& file) {
    write_file(folder_ / "pytorch_model.bin.index.json", R"({"weight_map":{"0.weight":")" + file + R"("}})");
  };
  write_index("one.bin");
  EXPECT_EQ(open_pickle_archive(folder_).tensors().size(), 4U);
  write_index("../one.bin");
  EXPECT_THROW(open_pickle_archive(folder_), FormatError);
}

}  // namespace
}  // namespace heed
