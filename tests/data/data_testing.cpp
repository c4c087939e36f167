#include "data/data_testing.h"

#include <zlib.h>

#include <cctype>
#include <sstream>

#include "base/system/files.h"
#include "test_folder.h"

namespace heed {

void InFolder::SetUp() {
  folder_ = test::folder_of_test();
  std::filesystem::create_directories(folder_);
}

void InFolder::TearDown() { std::filesystem::remove_all(folder_); }

std::filesystem::path InFolder::put(const std::string& name, std::string_view content) const {
  write_file(folder_ / name, content);
  return folder_ / name;
}

std::filesystem::path InFolder::put_gzip(const std::string& name, std::string_view content) const {
  return put(name, gzip(content));
}

std::string gzip(std::string_view content) {
  z_stream stream{};
  ensure(deflateInit2(&stream, 6, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY) == Z_OK, "gzip", "cannot start");
  std::string packed(deflateBound(&stream, content.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int result = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  ensure(result == Z_STREAM_END, "gzip", "not at the end");
  return packed;
}

std::vector<TokenId> encode_words(std::string_view text) {
  std::vector<TokenId> ids;
  std::istringstream words{std::string(text)};
  for (std::string word; words >> word;) {
    const bool number = std::isdigit(static_cast<unsigned char>(word[0])) != 0;
    ids.emplace_back(number ? std::stoi(word) : static_cast<unsigned char>(word[0]));
  }
  return ids;
}

}  // namespace heed
