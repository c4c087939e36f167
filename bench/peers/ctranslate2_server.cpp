// The thinnest HTTP server around CTranslate2:
//   ctranslate2_server MODEL TYPE REPLICAS THREADS BATCHES BEAM MIN MAX
// Prints its port. POST "▁ein ▁Hund" gives the pieces of the translation, with spaces between them: no text is split or
// joined. REPLICAS translate at once, each with THREADS; translations have MIN to MAX tokens. BATCHES says how requests
// become batches:
//   each       every request is a batch of its own
//   MICROS     CTranslate2's own BufferedTranslationWrapper waits for so many microseconds, or until kMostTogether wait
//   waiting    a replica that is free takes all requests that wait, up to its share of kMostTogether
#include <ctranslate2/buffered_translation_wrapper.h>

#include <boost/asio.hpp>
#include <boost/beast/core.hpp>
#include <boost/beast/http.hpp>
#include <cstdio>
#include <deque>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <thread>
#include <vector>

namespace {

namespace http = boost::beast::http;
using boost::asio::ip::tcp;
using ctranslate2::TranslationOptions;
using ctranslate2::TranslationResult;
using ctranslate2::Translator;
using Pieces = std::vector<std::string>;
using Translate = std::function<TranslationResult(Pieces)>;

constexpr size_t kMostTogether = 32;

class WaitingRequests {
 public:
  WaitingRequests(std::shared_ptr<Translator> translator, TranslationOptions options)
      : translator_(std::move(translator)), options_(std::move(options)) {
    for (size_t i = 0; i < translator_->num_replicas(); ++i) {
      std::thread([this] { work(); }).detach();
    }
  }

  TranslationResult translate(Pieces source) {
    std::promise<TranslationResult> promise;
    auto result = promise.get_future();
    {
      const std::lock_guard lock(mutex_);
      sources_.push_back(std::move(source));
      promises_.push_back(std::move(promise));
    }
    arrived_.notify_one();
    return result.get();
  }

 private:
  void work() {
    const size_t most = kMostTogether / translator_->num_replicas();
    while (true) {
      std::vector<Pieces> sources;
      std::vector<std::promise<TranslationResult>> promises;
      {
        std::unique_lock lock(mutex_);
        arrived_.wait(lock, [this] { return !sources_.empty(); });
        while (!sources_.empty() && sources.size() < most) {
          sources.push_back(std::move(sources_.front()));
          promises.push_back(std::move(promises_.front()));
          sources_.pop_front();
          promises_.pop_front();
        }
      }
      auto results = translator_->translate_batch(sources, options_);
      for (size_t i = 0; i < results.size(); ++i) {
        promises[i].set_value(std::move(results[i]));
      }
    }
  }

  std::shared_ptr<Translator> translator_;
  TranslationOptions options_;
  std::mutex mutex_;
  std::condition_variable arrived_;
  std::deque<Pieces> sources_;
  std::deque<std::promise<TranslationResult>> promises_;
};

Translate translate_as(const std::string& batches, const std::shared_ptr<Translator>& translator,
                       const TranslationOptions& options) {
  if (batches == "each") {
    return [=](Pieces source) { return translator->translate_batch_async({std::move(source)}, options).front().get(); };
  }
  if (batches == "waiting") {
    auto waiting = std::make_shared<WaitingRequests>(translator, options);
    return [=](Pieces source) { return waiting->translate(std::move(source)); };
  }
  auto buffer = std::make_shared<ctranslate2::BufferedTranslationWrapper>(translator, kMostTogether,
                                                                          std::stoul(batches), options);
  return [=](Pieces source) { return buffer->translate_async(std::move(source)).get(); };
}

Pieces split(const std::string& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<std::string>(stream), {}};
}

void answer_all(tcp::socket socket, const Translate& translate) {
  socket.set_option(tcp::no_delay(true));
  boost::beast::flat_buffer buffer;
  boost::system::error_code error;
  while (true) {
    http::request<http::string_body> request;
    http::read(socket, buffer, request, error);
    if (error) {
      return;
    }
    http::response<http::string_body> response(http::status::ok, request.version());
    const TranslationResult result = translate(split(request.body()));
    for (const std::string& piece : result.output()) {
      response.body().append(response.body().empty() ? "" : " ").append(piece);
    }
    response.keep_alive(request.keep_alive());
    response.prepare_payload();
    http::write(socket, response, error);
    if (error || !request.keep_alive()) {
      return;
    }
  }
}

void serve(const std::vector<std::string>& arguments) {
  ctranslate2::models::ModelLoader loader(arguments.at(0));
  loader.compute_type = ctranslate2::str_to_compute_type(arguments.at(1));
  loader.num_replicas_per_device = std::stoul(arguments.at(2));
  const auto translator = std::make_shared<Translator>(
      loader, ctranslate2::ReplicaPoolConfig{.num_threads_per_replica = std::stoul(arguments.at(3))});
  TranslationOptions options;
  options.beam_size = std::stoul(arguments.at(5));
  options.min_decoding_length = std::stoul(arguments.at(6));
  options.max_decoding_length = std::stoul(arguments.at(7));
  const Translate translate = translate_as(arguments.at(4), translator, options);
  boost::asio::io_context context;
  tcp::acceptor acceptor(context, {boost::asio::ip::address_v4::loopback(), 0});
  std::printf("%d\n", acceptor.local_endpoint().port());
  std::fflush(stdout);
  while (true) {
    std::thread([&translate, socket = acceptor.accept()]() mutable {
      answer_all(std::move(socket), translate);
    }).detach();
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    serve({argv + 1, argv + argc});
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ctranslate2_server: %s\n", error.what());
    return 1;
  }
}
