// The whole server in one process, with clients in threads: what sanitizers see of it.
#include "serve/service.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <future>
#include <random>
#include <thread>

#include "serve/http_client.h"
#include "source_root.h"

namespace heed::serve {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

ServeSettings small_models() {
  const std::string golden = heed::test::source_root().string() + "/tests/interchange/golden/";
  ServeSettings settings{.listen = "127.0.0.1:0", .models = {}};
  for (const auto& [name, directory] : {std::pair<std::string, std::string>{"t", "../../formats/v1/run"},
                                        {"lm", "decoders/gpt2"},
                                        {"e", "encoders/bert"}}) {
    settings.models.push_back({.name = name,
                               .directory = golden + directory,
                               .inference = {.threads = 2, .prefix_bytes = kPrefixBytes},
                               .drafts = {}});
  }
  return settings;
}

// A server that runs until the test ends.
class RunningService {
 public:
  explicit RunningService(const ServeSettings& settings) : service_(settings, [settings] { return settings; }) {
    std::promise<std::string> address;
    thread_ = std::thread([this, &address] { service_.run([&](const std::string& at) { address.set_value(at); }); });
    const std::string at = address.get_future().get();
    port_ = std::stoi(at.substr(at.rfind(':') + 1));
  }
  ~RunningService() { stop(); }
  RunningService(const RunningService&) = delete;
  RunningService& operator=(const RunningService&) = delete;

  void stop() {
    if (thread_.joinable()) {
      service_.stop();
      thread_.join();
    }
  }
  int port() const { return port_; }
  Service& service() { return service_; }

 private:
  Service service_;
  std::thread thread_;
  int port_ = 0;
};

std::string body_of(const std::string& answer) { return answer.substr(answer.find("\r\n\r\n") + 4); }

std::string ask(int port, std::string_view path, std::string_view body) {
  const test::Client client(port);
  client.post(path, body);
  return client.answer();
}

constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kRequests{
    {{"/heed/translate", R"({"model": "t", "texts": ["ein hund läuft .", "zwei kinder"], "beam": 3})"},
     {"/heed/translate", R"({"model": "t", "text": "ein mann", "tokens": true})"},
     {"/heed/generate", R"({"model": "lm", "prompt": "a", "max_tokens": 12, "seed": 3, "samples": 2})"},
     {"/embed", R"({"model": "e", "inputs": ["a", "b"]})"},
     {"/heed/score", R"({"model": "t", "source": "ein hund", "target": "a dog"})"}}};

TEST(ServiceThreads, AnswersDoNotDependOnCompany) {
  RunningService running(small_models());
  std::vector<std::string> alone;
  for (const auto& [path, body] : kRequests) {
    const std::string answer = ask(running.port(), path, body);
    EXPECT_THAT(answer, StartsWith("HTTP/1.1 200"));
    alone.push_back(body_of(answer));
  }
  std::vector<std::future<void>> clients;
  for (unsigned client = 0; client < 6; ++client) {
    clients.push_back(std::async(std::launch::async, [&, client] {
      const test::Client connection(running.port());
      std::minstd_rand draw(client + 1);
      for (int i = 0; i < 8; ++i) {
        const size_t which = draw() % kRequests.size();
        connection.post(kRequests[which].first, kRequests[which].second);
        EXPECT_EQ(body_of(connection.answer()), alone[which]);
      }
    }));
  }
  for (std::future<void>& client : clients) {
    client.get();
  }
}

TEST(ServiceThreads, ClientsThatGoAwayAtAnyMomentLeaveNothingBehind) {
  RunningService running(small_models());
  std::minstd_rand draw(7);
  for (int i = 0; i < 40; ++i) {
    const test::Client client(running.port());
    client.post("/heed/generate", R"({"model": "lm", "prompt": "a", "max_tokens": 500, "samples": 4, "stream": true})");
    if (draw() % 2 == 0) {
      client.receive();
    }
    std::this_thread::sleep_for(std::chrono::microseconds(draw() % 3000));
  }
  const test::Client watching(running.port());
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  std::string metrics;
  do {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    watching.send("GET /metrics HTTP/1.1\r\nHost: a\r\n\r\n");
    metrics = watching.answer();
  } while (metrics.find("heed_requests 0\n") == std::string::npos && std::chrono::steady_clock::now() < end);
  EXPECT_THAT(metrics, HasSubstr("heed_requests 0\n"));
  EXPECT_THAT(metrics, HasSubstr("heed_running_texts{model=\"lm\"} 0\n"));
}

TEST(ServiceThreads, ModelsAreReplacedWhileTheyAnswer) {
  RunningService running(small_models());
  const std::string expected = body_of(ask(running.port(), kRequests[0].first, kRequests[0].second));
  std::atomic<bool> is_over = false;
  std::vector<std::future<void>> clients;
  for (int client = 0; client < 3; ++client) {
    clients.push_back(std::async(std::launch::async, [&] {
      const test::Client connection(running.port());
      while (!is_over) {
        connection.post(kRequests[0].first, kRequests[0].second);
        EXPECT_EQ(body_of(connection.answer()), expected);
      }
    }));
  }
  for (int i = 0; i < 3; ++i) {
    running.service().reread_settings();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
  is_over = true;
  for (std::future<void>& client : clients) {
    client.get();
  }
}

TEST(ServiceThreads, RequestsUnderWayFinishWhenItEnds) {
  RunningService running(small_models());
  const test::Client client(running.port());
  client.post("/heed/generate", R"({"model": "lm", "prompt": "a", "max_tokens": 60, "stream": true})");
  std::string answer = client.receive();
  running.stop();
  for (std::string more = client.receive(); !more.empty(); more = client.receive()) {
    answer += more;
  }
  EXPECT_THAT(answer, HasSubstr("\"finish\":"));
  EXPECT_FALSE(test::Client(running.port()).is_open());
}

// After many requests at once, one at a time leaves all threads but one without work: these end.
TEST(RequestThreads, ThereAreSoonAsFewAsAreNeeded) {
  constexpr int kMany = 30;
  RequestThreads threads(kMany, std::chrono::milliseconds(200));
  std::promise<void> open;
  const std::shared_future<void> opened = open.get_future().share();
  for (int i = 0; i < kMany; ++i) {
    ASSERT_TRUE(threads.try_run([opened] { opened.wait(); }));
  }
  EXPECT_FALSE(threads.try_run([] {}));
  EXPECT_EQ(threads.threads(), kMany);
  open.set_value();
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(60);
  while (threads.threads() > 1 && std::chrono::steady_clock::now() < end) {
    if (threads.working() == 0) {
      ASSERT_TRUE(threads.try_run([] {}));
    }
    std::this_thread::yield();
  }
  EXPECT_EQ(threads.threads(), 1);
}

}  // namespace
}  // namespace heed::serve
