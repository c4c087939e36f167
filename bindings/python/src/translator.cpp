#include "heed/translator.h"

#include "arguments.h"
#include "calls.h"
#include "handles.h"
#include "inside.h"
#include "parts.h"

namespace heed::python {
namespace {

struct TranslationResult {
  std::vector<std::string> hypotheses;
  std::vector<double> scores, log_probabilities;
  std::vector<int64_t> tokens;
  py::object attention = py::none(), alignments = py::none();
};

// Tells a Python callable of each line's translation as it grows.
class TranslationCallback final : public TranslationListener {
 public:
  TranslationCallback(const py::object& callable, CallbackFailure& failure, std::stop_source& stop)
      : callable_(callable), failure_(failure), stop_(stop) {}

  void on_piece(size_t line, std::string_view piece) override {
    const py::gil_scoped_acquire acquire;
    const std::string text(piece);
    if (!failure_.goes_on_after([&] { return callable_(line, text); })) {
      stop_.request_stop();
    }
  }

 private:
  const py::object& callable_;
  CallbackFailure& failure_;
  std::stop_source& stop_;
};

struct Options {
  TranslationOptions search;
  bool returns_attention = false, returns_alignments = false;
  py::object callback = py::none();
};

std::vector<std::string> prefixes_of(const py::object& given, size_t lines) {
  if (given.is_none()) {
    return {};
  }
  Texts prefixes = texts_of(given, "target_prefix");
  if (prefixes.is_single) {
    prefixes.all.resize(lines, prefixes.all.front());
  }
  if (prefixes.all.size() != lines) {
    throw py::value_error("target_prefix: " + std::to_string(prefixes.all.size()) + " for " + std::to_string(lines) +
                          " texts");
  }
  return std::move(prefixes.all);
}

Options options_of(const Translator& translator, size_t lines, const py::kwargs& given) {
  Options options{.search = translator.with_defaults()};
  TranslationOptions& search = options.search;
  NamedArguments arguments(given);
  arguments.take("beam_size", search.beam, 1);
  arguments.take("num_hypotheses", search.n_best, 1);
  arguments.take("length_penalty", search.length_penalty);
  arguments.take("max_length", search.max_length, 0);
  arguments.take("min_length", search.rules.min_length, 0);
  arguments.take("no_repeat_ngram_size", search.rules.no_repeat_ngram, 0);
  arguments.take("repetition_penalty", search.repetition_penalty);
  arguments.take("coverage_penalty", search.coverage_penalty);
  arguments.take("source_language", search.languages.source);
  arguments.take("target_language", search.languages.target);
  search.prefixes = prefixes_of(arguments.object("target_prefix"), lines);
  bool returns_scores = true;
  arguments.take("return_scores", returns_scores);
  arguments.take("return_alignments", options.returns_alignments);
  arguments.take("return_attention", options.returns_attention);
  options.callback = callable_or_none(arguments.object("callback"));
  arguments.finish();
  search.alignments = options.returns_alignments ? Alignments::pieces : Alignments::none;
  return options;
}

TranslationResult result_of(std::vector<Translation>&& line, const Options& options) {
  TranslationResult result;
  py::list alignments;
  for (Translation& one : line) {
    result.hypotheses.push_back(std::move(one.text));
    result.scores.push_back(one.score);
    result.log_probabilities.push_back(one.log_probability);
    result.tokens.push_back(one.tokens);
    py::list pairs;
    for (const AlignedPair& pair : one.alignment) {
      pairs.append(py::make_tuple(pair.source, pair.target));
    }
    alignments.append(pairs);
  }
  if (options.returns_alignments) {
    result.alignments = alignments;
  }
  return result;
}

py::object translate(const Held<Translator>& held, const py::object& texts, const py::kwargs& given) {
  const Translator& translator = held.get();
  const Texts lines = texts_of(texts, "texts");
  const Options options = options_of(translator, lines.all.size(), given);
  const bool tells = !options.callback.is_none();
  CallbackFailure failure;
  std::vector<std::vector<Translation>> found;
  std::vector<TextAttention> attention;
  const AttentionRequest cross{.kind = AttentionKind::cross};
  try {
    run_call([&](const Interruption& interruption, std::stop_source& stop) {
      TranslationOptions search = options.search;
      search.interruption = interruption;
      TranslationCallback listener(options.callback, failure, stop);
      const LineName name = [](size_t i) { return "texts[" + std::to_string(i) + "]"; };
      found = translator.translate(lines.all, search, name, tells ? &listener : nullptr);
      for (size_t i = 0; options.returns_attention && i < found.size(); ++i) {
        attention.push_back(translator.attention(lines.all[i], found[i].front().text, cross, search.languages));
      }
    });
  } catch (const InterruptedError&) {
    failure.raise();
    throw;
  }
  failure.raise();
  if (failure.was_stopped()) {  // also where all was done by then
    throw InterruptedError("translate: the callback stopped it");
  }
  py::list results;
  for (size_t i = 0; i < found.size(); ++i) {
    TranslationResult result = result_of(std::move(found[i]), options);
    if (options.returns_attention) {
      result.attention = attention_dict(attention[i], cross);
    }
    results.append(std::move(result));
  }
  return lines.is_single ? py::object(results[0]) : results;
}

// What the model reads of a pair, of which each side is a text or numbers.
PairTokens tokens_of(const Translator& translator, const py::object& source, const py::object& target,
                     const std::string& before) {
  const auto text_or = [&](const py::object& side, const char* name, std::vector<int32_t>& ids) {
    if (is_text(side)) {
      return value_of<std::string>(side, before + name);
    }
    ids = ids_of(side, before + name);
    return std::string();
  };
  PairTokens given;
  const std::string from = text_or(source, "source", given.source), to = text_or(target, "target", given.target);
  if (!is_text(source) && !is_text(target)) {
    return given;
  }
  PairTokens read = translator.tokens(from, to, {}, before);
  if (!is_text(source)) {
    read.source = std::move(given.source);
  }
  if (!is_text(target)) {
    read.target = std::move(given.target);
  }
  return read;
}

py::object forward(const Held<Translator>& held, const py::object& source, const py::object& target,
                   const py::object& attentions, const py::object& hidden_states) {
  const Translator& translator = held.get();
  const ForwardRequest request = forward_request(attentions, hidden_states);
  PairTokens tokens = tokens_of(translator, source, target, "");
  ForwardResult result;
  run_call([&](const Interruption&, std::stop_source&) { result = translator.forward(tokens, request); });
  return forward_result(std::move(result), std::move(tokens));
}

LossExample example_of_pair(const Translator& translator, const py::object& pair, const std::string& name) {
  const auto [source, target] = two_of(pair, name);
  PairTokens tokens = tokens_of(translator, source, target, name + ", ");
  return {.tokens = std::move(tokens.source), .target = std::move(tokens.target), .expected = {}, .values = {}};
}

constexpr const char* kTranslator = R"(A translation model, from its directory or from another program's model.

    >>> translator = heed.Translator("model")
    >>> translator.translate("ein Hund").text
    'a dog'

compute_type is "auto", "f32" or "bf16"; threads 0 is one per processor; device "cpu" or "cuda"; cache "auto", "bf16" or
"int8". Any number of threads may call it at once. A text's translation does not depend on the others.)";

constexpr const char* kTranslate = R"(Translates a str, or each of a list.

Returns a TranslationResult, or a list of them. What is not given is as the model's own settings have it.

beam_size: hypotheses kept; 1 is greedy
num_hypotheses: translations of each text, best first; at most beam_size
length_penalty, max_length, min_length, no_repeat_ngram_size, repetition_penalty, coverage_penalty: of the search
target_prefix: how translations begin: a str for all, or a list with one for each text
return_scores: kept for other libraries' sake: scores are always there
return_alignments: lists pairs of source and target tokens
return_attention: cross-attention of all layers and heads with the best translation
callback: is called with the text's number and each new piece of its translation; what it raises stops the call and is
    raised again, and a true value stops it with InterruptedError

    >>> translator.translate("ein Hund", beam_size=1)
    TranslationResult(['a dog'])
    >>> [result.text for result in translator.translate(["ein Hund", "zwei Katzen"])]
    ['a dog', 'two cats']
    >>> pieces = []
    >>> result = translator.translate("ein Hund", callback=lambda line, piece: pieces.append(piece))
    >>> "".join(pieces)
    'a dog')";

constexpr const char* kTranslationResult = R"(The translations of one text, best first.

    >>> result = translator.translate("ein Hund", beam_size=4, num_hypotheses=2)
    >>> result.text, len(result.hypotheses), result.scores[0] >= result.scores[1]
    ('a dog', 2, True))";

constexpr const char* kTranslatorScore = R"(The log-probability of each target, its end included, given its source.

    >>> translator.score("ein Hund", "a dog") > translator.score("ein Hund", "a cat")
    True
    >>> translator.score(["ein Hund", "zwei Hunde"], ["a dog", "two dogs"]).shape
    (2,))";

constexpr const char* kTranslatorAttention =
    R"(What the model attends to when it reads the source and writes the target: a dict of weights (layers, heads,
rows, columns), the tokens of rows and columns and, with norms, weights times the lengths of values.
kind is "encoder", "decoder" or "cross".

    >>> found = translator.attention("ein Hund", "a dog")
    >>> found["weights"].shape == (1, 2, len(found["rows"]), len(found["columns"]))
    True)";

constexpr const char* kSourceTokens = R"(The tokens of a text as the model reads them.

    >>> translator.source_tokens("ein Hund")
    ['ein', 'Hund', '</s>'])";

constexpr const char* kTranslatorForward = R"(What the model computes from a source and a target: a PairForwardResult.

Each is a str, or token numbers as the model reads them: a source with its end, a target that begins with what the
decoder reads first. Results name what was read.

output_attentions, output_hidden_states: adds those of every layer

    >>> found = translator.forward("ein Hund", "a dog")
    >>> heed.Tokenizer("model/shared.tokenizer").decode(found.logits.argmax(axis=-1)[:-1])
    'a dog')";

constexpr const char* kTranslatorGradients =
    R"(The loss of pairs (source, target), as forward() takes them, and its gradients.

In f32, without dropout and label smoothing; the weights are opened anew in each call.

    >>> found = translator.gradients([("ein Hund", "a dog")])
    >>> found.predictions, round(found.loss, 1)
    (3, 0.0))";

}  // namespace

void add_translator(py::module_& module) {
  py::class_<TranslationResult>(module, "TranslationResult", kTranslationResult)
      .def_readonly("hypotheses", &TranslationResult::hypotheses, "The texts.")
      .def_readonly("scores", &TranslationResult::scores, "What the search compared.")
      .def_readonly("log_probabilities", &TranslationResult::log_probabilities, "Sums over tokens, ends included.")
      .def_readonly("tokens", &TranslationResult::tokens, "How many tokens each has, its end included.")
      .def_readonly("attention", &TranslationResult::attention, "Where asked for: weights, rows and columns.")
      .def_readonly("alignments", &TranslationResult::alignments, "Where asked for: pairs of tokens of each.")
      .def_property_readonly(
          "text", [](const TranslationResult& result) { return result.hypotheses.front(); }, "The best translation.")
      .def("__str__", [](const TranslationResult& result) { return result.hypotheses.front(); })
      .def("__repr__", [](const TranslationResult& result) {
        return "TranslationResult(" + std::string(py::repr(py::cast(result.hypotheses))) + ")";
      });
  using HeldTranslator = Held<Translator>;
  py::class_<HeldTranslator> type(module, "Translator", kTranslator);
  type.def(py::init([](const py::object& model, const py::object& compute_type, const py::object& threads,
                       const py::object& device, const py::object& cache, const py::object& shortlist) {
             return std::make_unique<HeldTranslator>(path_of(model, "model"),
                                                     inference_options(compute_type, threads, device, cache),
                                                     DraftOptions{}, path_or_empty(shortlist, "shortlist"));
           }),
           py::arg("model"), py::kw_only(), py::arg("compute_type") = "auto", py::arg("threads") = 0,
           py::arg("device") = "cpu", py::arg("cache") = "auto", py::arg("shortlist") = py::none())
      .def("translate", &translate, kTranslate, py::arg("texts"))
      .def(
          "score",
          [](const HeldTranslator& held, const py::object& sources, const py::object& targets) {
            const Translator& translator = held.get();
            const Texts from = texts_of(sources, "sources"), to = texts_of(targets, "targets");
            if (from.is_single != to.is_single) {
              refuse_type("targets", from.is_single ? "a str, as sources are" : "a list of str, as sources are",
                          targets);
            }
            if (from.all.size() != to.all.size()) {
              throw py::value_error("targets: " + std::to_string(to.all.size()) + " for " +
                                    std::to_string(from.all.size()) + " sources");
            }
            std::vector<PairScore> found;
            run_call([&](const Interruption& interruption, std::stop_source&) {
              found = translator.score({from.all, to.all},
                                       {[](size_t i) { return "sources[" + std::to_string(i) + "]"; },
                                        [](size_t i) { return "targets[" + std::to_string(i) + "]"; }},
                                       {}, interruption);
            });
            std::vector<double> scores;
            scores.reserve(found.size());
            for (const PairScore& one : found) {
              scores.push_back(one.log_probability);
            }
            return from.is_single ? py::object(py::float_(scores.front()))
                                  : py::object(array_of(std::move(scores), {static_cast<py::ssize_t>(found.size())}));
          },
          kTranslatorScore, py::arg("sources"), py::arg("targets"))
      .def(
          "attention",
          [](const HeldTranslator& held, const py::object& source, const py::object& target, const py::object& kind,
             const py::object& layers, const py::object& heads, const py::object& norms) {
            const Translator& translator = held.get();
            const auto from = value_of<std::string>(source, "source"), to = value_of<std::string>(target, "target");
            return attention_of(attention_request(kind, layers, heads, norms), [&](const AttentionRequest& request) {
              return translator.attention(from, to, request);
            });
          },
          kTranslatorAttention, py::arg("source"), py::arg("target"), py::kw_only(), py::arg("kind") = "cross",
          py::arg("layers") = py::none(), py::arg("heads") = py::none(), py::arg("norms") = false)
      .def("forward", &forward, kTranslatorForward, py::arg("source"), py::arg("target"), py::kw_only(),
           py::arg("output_attentions") = false, py::arg("output_hidden_states") = false)
      .def(
          "source_tokens",
          [](const HeldTranslator& held, const py::object& text) {
            return held.get().source_pieces(value_of<std::string>(text, "text"));
          },
          kSourceTokens, py::arg("text"));
  add_gradients(type, kTranslatorGradients, &example_of_pair);
  add_properties(type);
}

}  // namespace heed::python
