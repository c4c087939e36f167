// German clauses. The verb's two parts embrace the middle field:
//   [first place] finite verb [subject, dative, known object, time, new object, nicht, place, predicate] rest
// and in subordinate clauses the finite verb follows the rest.
#include "demo/german_english_clauses.h"

namespace heed::german_english {
namespace {

using Case = GrammaticalCase;

// The finite form in the present, without prefix. The first person is the infinitive without its n.
std::string present(const Verb& verb, Agreement agreement) {
  switch (agreement) {
    case Agreement::first:
      return std::string(verb.infinitive.substr(0, verb.infinitive.size() - 1));
    case Agreement::second:
      return std::string(verb.second);
    case Agreement::third:
      return std::string(verb.third);
    case Agreement::plural:
      return std::string(verb.infinitive);
  }
  return "";
}

std::string_view pick(Agreement agreement, const std::string_view (&forms)[4]) {
  return forms[static_cast<size_t>(agreement)];
}

constexpr std::string_view kHaben[4] = {"habe", "hast", "hat", "haben"};
constexpr std::string_view kSein[4] = {"bin", "bist", "ist", "sind"};
constexpr std::string_view kWar[4] = {"war", "warst", "war", "waren"};

// The finite verb, and what comes last in main clauses.
struct VerbParts {
  std::string finite, rest;
  std::string joined;  // what both become at the end of a subordinate clause
};

VerbParts verb_parts(const Clause& clause) {
  const Agreement agrees = agreement(clause.subject);
  if (clause.verb == nullptr) {
    const std::string finite(pick(agrees, clause.tense == Tense::past ? kWar : kSein));
    return {finite, "", finite};
  }
  const Verb& verb = *clause.verb;
  const std::string prefix(verb.prefix);
  VerbParts parts;
  if (clause.modal != nullptr) {
    const Modal& modal = *clause.modal;
    parts.finite = pick(agrees, {modal.singular, modal.second, modal.singular, modal.infinitive});
    parts.rest = prefix + std::string(verb.infinitive);
  } else if (clause.tense == Tense::past) {
    parts.finite = pick(agrees, verb.auxiliary == Auxiliary::haben ? kHaben : kSein);
    parts.rest = verb.participle;
  } else {
    parts.finite = present(verb, agrees);
    parts.rest = prefix;
    parts.joined = prefix + parts.finite;
    return parts;
  }
  parts.joined = parts.rest + " " + parts.finite;
  return parts;
}

void add_middle_field(Words& words, const Clause& clause, Gap gap) {
  const auto unless = [gap](Gap role, std::string text) { return gap == role ? std::string() : std::move(text); };
  const std::string accusative = unless(Gap::accusative, german(clause.accusative, Case::accusative));
  const auto* const object = std::get_if<NounPhrase>(&clause.accusative);
  // What the hearer knows precedes the time, except after a recipient: "gibt dem Kind heute den Ball".
  const bool early = is_definite(clause.accusative) && is_empty(clause.dative);
  const bool says_kein = object != nullptr && object->determiner == Determiner::negative;
  words.add(unless(Gap::dative, german(clause.dative, Case::dative)));
  words.add(early ? accusative : "");
  words.add(clause.time == nullptr ? "" : unless(Gap::time, std::string(clause.time->german)));
  words.add(early ? "" : accusative);
  words.add(clause.polarity == Polarity::negative && !says_kein ? "nicht" : "");
  words.add(is_empty(clause.prepositional.phrase) ? "" : unless(Gap::prepositional, german(clause.prepositional)));
  if (clause.predicate != nullptr) {
    words.add(is_empty(clause.compared_with) ? clause.predicate->german : clause.predicate->comparative);
  }
  if (!is_empty(clause.compared_with)) {
    words.add("als");
    words.add(german(clause.compared_with, Case::nominative));
  }
}

}  // namespace

std::string german(const Clause& clause, GermanOrder order, Gap gap) {
  const VerbParts verb = verb_parts(clause);
  Words words;
  words.add(order == GermanOrder::verb_first ? verb.finite : "");
  words.add(gap == Gap::subject ? "" : german(clause.subject, Case::nominative));
  add_middle_field(words, clause, gap);
  words.add(order == GermanOrder::verb_first ? verb.rest : verb.joined);
  return words.take();
}

std::string german_statement(const Clause& clause, Front front) {
  return front == Front::time
             ? std::string(clause.time->german) + " " + german(clause, GermanOrder::verb_first, Gap::time)
             : german(clause.subject, Case::nominative) + " " + german(clause, GermanOrder::verb_first, Gap::subject);
}

std::string german_purpose(const Clause& clause) {
  Words words;
  words.add("um");
  add_middle_field(words, clause, Gap::none);
  const std::string prefix(clause.verb->prefix), infinitive(clause.verb->infinitive);
  words.add(prefix.empty() ? "zu " + infinitive : prefix + "zu" + infinitive);
  return words.take();
}

}  // namespace heed::german_english
