#include "serve/page/page_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "report/web_assets.h"

namespace heed::serve::test {
namespace {

using ::testing::HasSubstr;

HttpRequest get(std::string target) {
  return {.method = "GET", .target = std::move(target), .headers = {}, .body = {}, .address = {}};
}

std::string header(const HttpAnswer& answer, std::string_view name) {
  for (const HttpHeader& one : answer.headers) {
    if (equal_ignoring_case(one.name, name)) {
      return one.value;
    }
  }
  return "";
}

TEST(PageFiles, ThePageIsAtTheRootAndLoadsOnlyWhatThisServerHas) {
  const auto page = page_file(get("/?anything"));
  ASSERT_TRUE(page);
  EXPECT_EQ(page->body, web_asset("serve/index.html"));
  EXPECT_EQ(page->type, "text/html; charset=utf-8");
  const std::string policy = header(*page, "Content-Security-Policy");
  EXPECT_THAT(policy, HasSubstr("default-src 'none'"));
  EXPECT_EQ(policy.find("unsafe"), std::string::npos);
  EXPECT_EQ(policy.find("http"), std::string::npos);
}

TEST(PageFiles, EveryFileThatThePageNamesIsThere) {
  for (const WebAsset& asset : web_assets()) {
    const auto file = page_file(get("/page/" + std::string(asset.path)));
    ASSERT_TRUE(file) << asset.path;
    EXPECT_EQ(file->body, asset.text);
    const std::string_view type = asset.path.ends_with(".js")    ? "text/javascript"
                                  : asset.path.ends_with(".css") ? "text/css"
                                                                 : "text/html";
    EXPECT_TRUE(file->type.starts_with(type)) << asset.path << ": " << file->type;
  }
  const std::string_view page = web_asset("serve/index.html");
  for (size_t at = page.find("\"page/"); at != std::string_view::npos; at = page.find("\"page/", at + 1)) {
    const std::string_view rest = page.substr(at + 1);
    EXPECT_TRUE(page_file(get("/" + std::string(rest.substr(0, rest.find('"'))))));
  }
}

TEST(PageFiles, ABrowserThatHasAFileIsToldSo) {
  HttpRequest request = get("/page/serve/main.js");
  const std::string tag = header(*page_file(request), "ETag");
  EXPECT_EQ(tag.size(), 18U);
  EXPECT_NE(tag, header(*page_file(get("/page/serve/load.js")), "ETag"));
  request.headers = {{"If-None-Match", "\"other\", " + tag}};
  const auto again = page_file(request);
  EXPECT_EQ(again->status, 304U);
  EXPECT_EQ(again->body, "");
  request.headers = {{"If-None-Match", "\"other\""}};
  EXPECT_EQ(page_file(request)->status, 200U);
}

TEST(PageFiles, OtherPathsAndMethodsAreNotThePages) {
  for (const char* const path : {"", "/page", "/page/", "/page/serve", "/page/../serve/index.html", "/index.html",
                                 "/heed/models", "/page/serve/main.js/"}) {
    EXPECT_FALSE(page_file(get(path))) << path;
  }
  HttpRequest post = get("/");
  post.method = "POST";
  EXPECT_FALSE(page_file(post));
}

}  // namespace
}  // namespace heed::serve::test
