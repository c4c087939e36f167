// Requests to all paths of the server, with a small model of each kind: whatever their bodies are, the answer is JSON, or
// a stream of events that are JSON, and nothing else happens.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <iterator>

#include "serve/call.h"
#include "serve/routes.h"
#include "source_root.h"

namespace heed::serve {
namespace {

struct Server {
  Server() {
    const std::string golden = test::source_root().string() + "/tests/interchange/golden/";
    models.load({.name = "t",
                 .directory = test::source_root().string() + "/tests/formats/v1/run",
                 .source_language = "de",
                 .target_language = "en"});
    models.load({.name = "lm", .directory = golden + "decoders/gpt2"});
    models.load({.name = "e", .directory = golden + "encoders/bert-masked"});
    for (Routes (*const of_interface)() : {heed_routes, openai_routes, libretranslate_routes, embeddings_routes}) {
      for (const Route& route : of_interface()) {
        if (route.path != "/heed/models") {  // which reads any folder
          routes.push_back(route);
        }
      }
    }
  }

  ModelStore models{0};
  Metrics metrics;
  Routes routes;
  std::shared_ptr<const ServeSettings> settings =
      std::make_shared<const ServeSettings>(ServeSettings{.request_seconds = 1, .texts = 4, .max_tokens = 6});
};

void require_json(std::string_view text) {
  if (!text.empty() && text != "[DONE]" && !Json::accept(text)) {
    std::fprintf(stderr, "not JSON: %.*s\n", static_cast<int>(text.size()), text.data());
    std::abort();
  }
}

void check(const HttpAnswer& head, const std::string& body) {
  if (!head.type.starts_with("text/event-stream")) {
    require_json(head.body + body);
    return;
  }
  for (size_t begin = 0; begin < body.size();) {
    const size_t end = std::min(body.find("\n\n", begin), body.size());
    const std::string_view event = std::string_view(body).substr(begin, end - begin);
    const size_t data = event.find("data: ");
    require_json(data == std::string_view::npos ? "" : event.substr(data + 6));
    begin = end + 2;
  }
}

// The first byte chooses the path, the second how the body is sent.
void handle(std::string_view input) {
  static Server server;
  if (input.size() < 2) {
    return;
  }
  const Route& route = server.routes[static_cast<unsigned char>(input[0]) % server.routes.size()];
  HttpRequest request{.method = std::string(route.method),
                      .target = std::string(route.path),
                      .headers = {},
                      .body = std::string(input.substr(2)),
                      .address = "a"};
  const bool is_form = (static_cast<unsigned char>(input[1]) & 1U) != 0;
  request.headers.push_back({"Content-Type", is_form ? "application/x-www-form-urlencoded" : "application/json"});
  const auto exchange = std::make_shared<Exchange>(std::move(request), size_t{1} << 24);
  Call call(exchange, {server.settings, server.models, server.metrics}, nullptr);
  try {
    route.handle(call);
  } catch (const std::exception& error) {
    const HttpAnswer answer = answer_of(call.failure_of(error, route.errors), route.errors);
    require_json(answer.body);
    if (answer.status == 500) {
      std::fprintf(stderr, "%s: %s\n", std::string(route.path).c_str(), error.what());
      std::abort();
    }
    return;
  }
  const Exchange::Chunk chunk = exchange->take();
  if (!chunk.head || !chunk.is_ended) {
    std::abort();
  }
  check(*chunk.head, chunk.body);
}

}  // namespace
}  // namespace heed::serve

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  heed::serve::handle({reinterpret_cast<const char*>(data), size});
  return 0;
}
