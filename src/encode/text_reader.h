// A model that reads texts, in batches that calls share.
#pragma once

#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "base/call_end.h"
#include "base/fair_queue.h"
#include "base/interruption.h"
#include "encode/encoder_texts.h"
#include "heed/types/reading/labels.h"
#include "heed/types/reading/reading.h"
#include "heed/types/workload.h"
#include "kernels/lanes.h"
#include "models/any_model.h"

namespace heed {

// What is made of texts: the scores of an encoder's head for each text, for each word or for each mask; or embeddings
// by a model of any kind, pooled in some way.
struct Reading {
  enum class Result : uint8_t { of_texts, of_words, of_masks, embeddings };
  Result result;
  Pooling pooling = Pooling::mean;  // of embeddings

  bool operator==(const Reading&) const = default;
};

// Any number of threads may use it at once. Each lane that is free takes a batch of what has come until then: texts of
// one call or of several, whose results do not depend on each other. A call of few texts that is alone has all threads.
class TextReader {
 public:
  // What the arguments refer to must outlive it.
  TextReader(const AnyModel& model, DType storage, Backend& backend);
  TextReader(const TextReader&) = delete;
  TextReader& operator=(const TextReader&) = delete;

  const AnyModel& model() const { return model_; }
  Lanes& lanes() { return lanes_; }  // for what is computed beside reading

  // Gets the rows of a text's result, by its number, on any thread; of different texts at the same time.
  using Take = std::function<void(size_t text, ConstView rows)>;
  // Returns when all texts were read. InterruptedError when the options' interruption came first. What a batch or
  // `take` throws ends the call.
  void read(std::span<const EncodedText> texts, const Reading& reading, const Take& take,
            const ReadingOptions& options = {});

  // Never waits for a batch.
  Workload workload() const;

 private:
  using Texts = std::vector<size_t>;  // by their numbers in their call
  struct Call {
    std::span<const EncodedText> texts;
    const Reading& reading;
    const Take& take;
    const Interruption& interruption;
    std::vector<Texts> batches = {};
    size_t next = 0;  // the first batch that nobody has
    size_t left = 0;  // texts that are not done
    Interrupted interrupted = Interrupted::no;
    std::exception_ptr failure = nullptr;
    std::shared_ptr<CallEnd> ended = std::make_shared<CallEnd>();
  };
  // A batch of a call, perhaps read together with others.
  struct CallBatch {
    Call* call;
    const Texts* texts;
    std::exception_ptr failure = nullptr;
  };

  bool take_turn(Backend& backend);
  std::vector<CallBatch> begin_batch();
  void drop_ended_calls(EndedCalls& calls);
  void withdraw(Call& call, EndedCalls& calls);
  // All calls that wait, or only one of them.
  void fail(const std::exception_ptr& failure, const Call* only = nullptr);
  std::vector<CallBatch> next_batch();
  void run(std::span<CallBatch> taken, Backend& backend) const;
  void end(const CallBatch& batch, EndedCalls& calls);

  const AnyModel& model_;
  DType storage_;

  mutable std::mutex mutex_;    // of all below
  FairQueue<Call> waiting_;     // with batches that nobody has
  int64_t waiting_tokens_ = 0;  // of these
  Workload workload_;

  Lanes lanes_;  // the last: its threads use all of the above
};

}  // namespace heed
