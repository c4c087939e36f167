#include "heed/generator.h"

#include "arguments.h"
#include "calls.h"
#include "handles.h"
#include "heed/chat.h"
#include "inside.h"
#include "parts.h"

namespace heed::python {
namespace {

struct GenerationResult {
  std::vector<std::string> texts;
  std::vector<double> log_probabilities;
  std::vector<int64_t> tokens;
  std::vector<std::string> finish_reasons;
};

class GenerationCallback final : public GenerationListener {
 public:
  GenerationCallback(const py::object& callable, CallbackFailure& failure, std::stop_source& stop)
      : callable_(callable), failure_(failure), stop_(stop) {}

  void on_piece(const Text& text, std::string_view piece) override {
    const py::gil_scoped_acquire acquire;
    const std::string content(piece);
    if (!failure_.goes_on_after([&] { return callable_(text.prompt, text.sample, content); })) {
      stop_.request_stop();
    }
  }

 private:
  const py::object& callable_;
  CallbackFailure& failure_;
  std::stop_source& stop_;
};

using HeldGenerator = Held<Generator>;

GenerationOptions options_of(const Generator& generator, NamedArguments& arguments) {
  GenerationOptions options = generator.with_defaults();
  SamplingOptions& sampling = options.sampling;
  arguments.take("max_new_tokens", options.max_tokens, 1);
  arguments.take("min_new_tokens", options.rules.min_length, 0);
  arguments.take("temperature", sampling.temperature);
  arguments.take("top_k", sampling.top_k, 0);
  arguments.take("top_p", sampling.top_p);
  arguments.take("min_p", sampling.min_p);
  arguments.take("repetition_penalty", sampling.repetition_penalty);
  arguments.take("presence_penalty", sampling.presence_penalty);
  arguments.take("frequency_penalty", sampling.frequency_penalty);
  arguments.take("no_repeat_ngram_size", options.rules.no_repeat_ngram, 0);
  arguments.take("seed", sampling.seed);
  arguments.take("num_return_sequences", options.samples, 1);
  arguments.take("beam_size", options.beam, 1);
  arguments.take("regex", options.regex);
  if (const py::object stop = arguments.object("stop"); !stop.is_none()) {
    options.stop = texts_of(stop, "stop").all;
  }
  if (const py::object choices = arguments.object("choices"); !choices.is_none()) {
    options.choices = list_of(choices, "choices");
    if (options.choices.empty()) {
      throw py::value_error("choices: there are none, expected at least one");
    }
  }
  return options;
}

py::object generate(const HeldGenerator& held, const Texts& prompts, PromptMarks marks, const py::kwargs& given) {
  const Generator& generator = held.get();
  NamedArguments arguments(given);
  GenerationOptions options = options_of(generator, arguments);
  const py::object callback = callable_or_none(arguments.object("callback"));
  arguments.finish();
  options.marks = marks;
  CallbackFailure failure;
  std::vector<std::vector<Completion>> found;
  run_call([&](const Interruption& interruption, std::stop_source& stop) {
    options.interruption = interruption;
    GenerationCallback listener(callback, failure, stop);
    found = generator.generate(prompts.all, options, callback.is_none() ? nullptr : &listener,
                               [](size_t i) { return "prompts[" + std::to_string(i) + "]"; });
  });
  failure.raise();
  py::list results;
  for (std::vector<Completion>& texts : found) {
    GenerationResult result;
    for (Completion& one : texts) {
      result.texts.push_back(std::move(one.text));
      result.log_probabilities.push_back(one.log_probability);
      result.tokens.push_back(one.tokens);
      result.finish_reasons.emplace_back(name_of(one.reason));
    }
    results.append(std::move(result));
  }
  return prompts.is_single ? py::object(results[0]) : results;
}

constexpr const char* kGenerate = R"(Continues a str, or each of a list.

Returns a GenerationResult, or a list of them. What is not given is as the model's own settings have it: max_new_tokens,
min_new_tokens, temperature (0: the likeliest token), top_k, top_p, min_p, repetition_penalty, presence_penalty,
frequency_penalty, no_repeat_ngram_size, seed, num_return_sequences, beam_size, stop (a str or a list), regex (that each
text matches), choices (of which each text is one).

callback is called with the prompt's number, the text's, and each new piece; what it raises stops the call and is raised
again, and a true value ends the texts where they are.

    >>> generator.generate("once upon", temperature=0)
    GenerationResult([' a time there was a dog'])
    >>> [result.text for result in generator.generate(["once upon", "the dog"], temperature=0, max_new_tokens=2)]
    [' a time', ' sees a']
    >>> pieces = []
    >>> result = generator.generate("once upon", temperature=0, callback=lambda _, text, piece: pieces.append(piece))
    >>> "".join(pieces) == result.text
    True)";

constexpr const char* kGenerator =
    R"(A language model, from its directory or from another program's model; see Translator.

    >>> generator = heed.Generator("stories")
    >>> generator.generate("the dog", temperature=0).text
    ' sees a cat')";

constexpr const char* kGenerationResult = R"(The texts that continue one prompt.

    >>> result = generator.generate("once upon", temperature=0, num_return_sequences=2)
    >>> result.texts, result.finish_reasons
    ([' a time there was a dog', ' a time there was a dog'], ['end', 'end']))";

constexpr const char* kPerplexity = R"(How well the model predicts a text: e to the mean of -log p of its tokens.

    >>> generator.perplexity("once upon a time") < generator.perplexity("time a upon once")
    True)";

constexpr const char* kGeneratorForward =
    R"(What the model computes from a str, or from token numbers as it reads them: a ForwardResult.

output_attentions, output_hidden_states: adds those of every layer

    >>> found = generator.forward("once upon")
    >>> likeliest = int(found.logits[-1].argmax())
    >>> heed.Tokenizer("stories/text.tokenizer").id_to_token(likeliest)
    'a')";

constexpr const char* kGeneratorGradients =
    R"(The loss of texts, as forward() takes them, and its gradients: each token but the first is predicted.

In f32, without dropout; the weights are opened anew in each call.

    >>> generator.gradients(["once upon a time"]).predictions
    4)";

constexpr const char* kGeneratorAttention =
    R"(What the model attends to when it reads the text; as Translator.attention().

    >>> found = generator.attention("once upon")
    >>> found["weights"].shape == (1, 2, len(found["rows"]), len(found["columns"]))
    True)";

LossExample example_of_line(const Generator& generator, const py::object& text, const std::string& name) {
  return {.tokens = tokens_of(generator, text, name), .target = {}, .expected = {}, .values = {}};
}

}  // namespace

void add_generator(py::module_& module) {
  py::class_<GenerationResult>(module, "GenerationResult", kGenerationResult)
      .def_readonly("texts", &GenerationResult::texts, "Without the prompt.")
      .def_readonly("log_probabilities", &GenerationResult::log_probabilities, "Sums over each text's tokens.")
      .def_readonly("tokens", &GenerationResult::tokens, "How many each has.")
      .def_readonly("finish_reasons", &GenerationResult::finish_reasons,
                    "Why each ended: end, stop, length, deadline or cancelled.")
      .def_property_readonly(
          "text", [](const GenerationResult& result) { return result.texts.front(); }, "The first.")
      .def("__str__", [](const GenerationResult& result) { return result.texts.front(); })
      .def("__repr__", [](const GenerationResult& result) {
        return "GenerationResult(" + std::string(py::repr(py::cast(result.texts))) + ")";
      });
  py::class_<HeldGenerator> type(module, "Generator", kGenerator);
  type.def(py::init([](const py::object& model, const py::object& compute_type, const py::object& threads,
                       const py::object& device, const py::object& cache) {
             return std::make_unique<HeldGenerator>(
                 path_of(model, "model"), inference_options(compute_type, threads, device, cache), DraftOptions{});
           }),
           py::arg("model"), py::kw_only(), py::arg("compute_type") = "auto", py::arg("threads") = 0,
           py::arg("device") = "cpu", py::arg("cache") = "auto")
      .def(
          "generate",
          [](const HeldGenerator& held, const py::object& prompts, const py::kwargs& given) {
            return generate(held, texts_of(prompts, "prompts"), PromptMarks::added, given);
          },
          kGenerate, py::arg("prompts"))
      .def(
          "_chat",
          [](const HeldGenerator& held, const py::list& messages, const py::kwargs& given) {
            const ChatFormat format(held.directory());
            std::vector<ChatMessage> all;
            for (const py::handle message : messages) {
              const auto fields = message.cast<py::dict>();
              all.push_back({value_of<std::string>(fields["role"], "messages"),
                             value_of<std::string>(fields["content"], "messages")});
            }
            return generate(held, {{format.prompt(all)}, true}, PromptMarks::spelled, given);
          },
          py::arg("messages"))
      .def(
          "perplexity",
          [](const HeldGenerator& held, const py::object& text) {
            const Generator& generator = held.get();
            const auto read = value_of<std::string>(text, "text");
            Perplexity found;
            run_call([&](const Interruption& interruption, std::stop_source&) {
              found = generator.perplexity(read, {.interruption = interruption});
            });
            return found.perplexity;
          },
          kPerplexity, py::arg("text"));
  add_gradients(type, kGeneratorGradients, &example_of_line);
  add_properties(type);
  add_forward_of_text(type, kGeneratorForward);
  add_attention_of_text(type, kGeneratorAttention, "decoder",
                        [](const Generator& generator, const std::string& text, const auto& request) {
                          return generator.attention(text, request, {}, "text");
                        });
}

}  // namespace heed::python
