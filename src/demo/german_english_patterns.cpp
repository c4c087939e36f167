#include "demo/german_english_patterns.h"

#include <algorithm>

#include "demo/german_english_draw.h"

namespace heed::german_english {
namespace {

constexpr GermanOrder kFirst = GermanOrder::verb_first, kLast = GermanOrder::verb_last;
constexpr EnglishOrder kStatement = EnglishOrder::statement, kQuestion = EnglishOrder::question;

Clause draw_whole_clause(Draw& draw) {
  Clause clause;
  const size_t kind = draw.below(10);
  if (kind == 0) {
    clause = draw_state(draw);
  } else if (kind == 1) {
    clause = draw_whereabouts(draw);
  } else {
    clause = draw_clause(draw, draw_person(draw));
    draw_tense(draw, clause);
  }
  perhaps_negate(draw, clause);
  return clause;
}

// Der Mann liest heute ein Buch. Heute liest der Mann ein Buch.
SentencePair statement(Draw& draw) {
  const Clause clause = draw_whole_clause(draw);
  const bool can_front = clause.time != nullptr && clause.time->when != When::frequency;
  const Front front = can_front && draw.percent(45) ? Front::time : Front::subject;
  return {german_statement(clause, front) + ".", english_statement(clause, front) + "."};
}

// Liest der Mann ein Buch?
SentencePair question(Draw& draw) {
  Clause clause = draw_clause(draw, draw_person(draw));
  draw_tense(draw, clause);
  return {german(clause, kFirst, Gap::none) + "?", english(clause, kQuestion, Gap::none) + "?"};
}

struct QuestionWord {
  std::string_view german, english;
};

SentencePair ask(QuestionWord word, const Clause& clause, Gap gap) {
  const EnglishOrder order = gap == Gap::subject ? kStatement : kQuestion;
  return {Words().add(word.german).add(german(clause, kFirst, gap)).take() + "?",
          Words().add(word.english).add(english(clause, order, gap)).take() + "?"};
}

// Wer liest das Buch? Was liest der Mann? Wem hilft er? Wo arbeitet er? Wohin geht er? Warum lacht er?
SentencePair question_word(Draw& draw) {
  constexpr Noun kSomebody{"", Gender::neuter, "", "", "", "", kPerson};
  if (draw.percent(20)) {
    Clause clause = draw_clause(draw, NounPhrase{.noun = &kSomebody});
    draw_tense(draw, clause);
    return ask({"wer", "who"}, clause, Gap::subject);
  }
  if (draw.percent(25)) {
    Clause clause = draw_clause(draw, draw_person(draw));
    draw_tense(draw, clause);
    return ask({"warum", "why"}, clause, Gap::none);
  }
  const Phrase subject = draw_person(draw);
  const size_t met = draw.met();
  const Verb& verb = draw_verb(draw, {Frame::accusative, Frame::dative, Frame::direction, Frame::drive, Frame::place});
  Clause clause = draw_clause(draw, subject, verb);
  draw.forget_since(met);  // of the part that the question asks for
  draw_tense(draw, clause);
  switch (verb.frame) {
    case Frame::accusative: {
      const auto* const noun = std::get_if<NounPhrase>(&clause.accusative);
      const bool person = noun == nullptr || noun->noun->is(kPerson);
      return ask(person ? QuestionWord{"wen", "who"} : QuestionWord{"was", "what"}, clause, Gap::accusative);
    }
    case Frame::dative:
      return ask({"wem", "who"}, clause, Gap::dative);
    case Frame::place:
      return ask({"wo", "where"}, clause, Gap::prepositional);
    default:
      return ask({"wohin", "where"}, clause, Gap::prepositional);
  }
}

// Der Mann schläft, weil er müde ist.
SentencePair reason(Draw& draw) {
  const QuestionWord conjunction = draw.of({QuestionWord{"weil", "because"}, QuestionWord{"obwohl", "although"}});
  const Phrase subject = draw_person(draw);
  Clause main = draw_clause(draw, subject), other;
  draw_tense(draw, main);
  perhaps_negate(draw, main);
  const Phrase same = pronoun_for(subject);
  if (!is_empty(same) && draw.percent(60)) {
    other = draw_feeling(draw, same);
    other.tense = main.tense == Tense::past ? Tense::past : Tense::simple;
  } else {
    other = draw_clause(draw, draw_person(draw));
    draw_tense(draw, other);
    perhaps_negate(draw, other);
  }
  return {german_statement(main, Front::subject) + ", " + std::string(conjunction.german) + " " +
              german(other, kLast, Gap::none) + ".",
          english_statement(main, Front::subject) + " " + std::string(conjunction.english) + " " +
              english(other, kStatement, Gap::none) + "."};
}

// Ich glaube, dass der Mann ein Buch liest. Ich weiß nicht, ob der Mann ein Buch liest.
SentencePair thought(Draw& draw) {
  const Phrase thinker = draw.percent(60) ? Phrase(&pronoun(draw.of({kI, kHe, kShe, kWe, kThey}))) : draw_person(draw);
  const ClauseVerb& verb = draw.of(clause_verbs());
  const Agreement agrees = agreement(thinker);
  const std::string_view forms[] = {verb.first, verb.second, verb.third, verb.infinitive};
  const bool third = agrees == Agreement::third;
  Clause clause = draw_whole_clause(draw);
  const std::string german_clause = german(clause, kLast, Gap::none);
  const std::string english_clause = english(clause, kStatement, Gap::none);
  Words source, target;
  source.add(german(thinker, GrammaticalCase::nominative)).add(forms[static_cast<size_t>(agrees)]);
  target.add(english(thinker, EnglishRole::subject));
  if (verb.infinitive == "wissen" && draw.percent(50)) {
    source.add("nicht, ob");
    target.add(third ? "does not know whether" : "do not know whether");
  } else {
    target.add(third ? verb.english_third : verb.english).add("that");
    return {source.take() + ", dass " + german_clause + ".", target.add(english_clause).take() + "."};
  }
  return {source.add(german_clause).take() + ".", target.add(english_clause).take() + "."};
}

// Wenn der Mann müde ist, soll er schlafen.
SentencePair condition(Draw& draw) {
  const Phrase subject = draw_person(draw);
  Clause first = draw.percent(50) ? draw_feeling(draw, subject) : draw_clause(draw, subject);
  first.tense = Tense::simple;
  const Phrase same = pronoun_for(subject);
  const auto acts = [](const Verb& verb) { return verb.aspect == Aspect::action && verb.frame != Frame::rest; };
  const Verb& verb = draw.of(verbs(), acts);
  Clause second = draw_clause(draw, is_empty(same) || draw.percent(50) ? draw_person(draw) : same, verb);
  use_modal(draw, second);
  perhaps_negate(draw, second);
  return {"wenn " + german(first, kLast, Gap::none) + ", " + german(second, kFirst, Gap::none) + ".",
          "if " + english(first, kStatement, Gap::none) + ", " + english(second, kStatement, Gap::none) + "."};
}

// A noun phrase and the clause that describes it: "der Mann, der das Buch liest".
struct Described {
  std::string german, english;  // the clause alone, with its pronoun
};

// The subject of a clause whose relative pronoun is its accusative. "die Frau, die das Kind sieht" sees or is seen:
// where the pronoun has one form for both, the subject must be one that shows its case.
Phrase draw_subject_beside(Draw& draw, const NounPhrase& head) {
  const bool shows_case = head.noun->gender == Gender::masculine && head.number == Number::singular;
  return shows_case || !head.noun->is(kPerson) ? draw_person(draw) : Phrase(&pronoun(draw.of({kI, kYou, kHe, kWe})));
}

// Describes the head of a main clause with another verb than its own (which may be none).
Described describe(Draw& draw, const NounPhrase& head, const Verb* main_verb) {
  const auto described = [&](Clause clause, Gap gap, GrammaticalCase grammatical_case, std::string_view pronoun) {
    draw_tense(draw, clause);
    return Described{std::string(german_relative(head, grammatical_case)) + " " + german(clause, kLast, gap),
                     std::string(pronoun) + " " + english(clause, kStatement, gap)};
  };
  const auto is_other = [main_verb](const Verb& verb) { return &verb != main_verb && verb.frame != Frame::rest; };
  const bool person = head.noun->is(kPerson);
  if (person && draw.percent(50)) {
    const Clause clause = draw_clause(draw, head, draw.of(verbs(), is_other));
    return described(clause, Gap::subject, GrammaticalCase::nominative, "who");
  }
  Clause clause;
  if (person && draw.percent(40)) {
    clause.subject = draw_person(draw);
    clause.verb = &draw_verb(draw, {Frame::dative});
    clause.dative = head;
    draw.combine(*clause.verb, clause.dative);
    return described(clause, Gap::dative, GrammaticalCase::dative, "whom");
  }
  clause.subject = draw_subject_beside(draw, head);
  clause.verb = &draw.of(verbs(), [&](const Verb& verb) {
    return verb.frame == Frame::accusative && head.noun->is(verb.object) && is_other(verb);
  });
  clause.accusative = head;
  draw.combine(*clause.verb, clause.accusative);
  return described(clause, Gap::accusative, GrammaticalCase::accusative, person ? "whom" : "that");
}

// Ich kenne den Mann, dem du hilfst.
SentencePair relative_of_object(Draw& draw) {
  const Verb& verb = draw.of(verbs(), [](const Verb& v) {
    return v.frame == Frame::accusative && v.prefix.empty() && (v.aspect != Aspect::event || v.infinitive == "sehen");
  });
  for (;;) {
    const size_t met = draw.met();
    const Clause main = draw_clause(draw, draw_person(draw), verb);
    if (const auto* const head = std::get_if<NounPhrase>(&main.accusative)) {
      const Described described = describe(draw, *head, &verb);
      return {german_statement(main, Front::subject) + ", " + described.german + ".",
              english_statement(main, Front::subject) + " " + described.english + "."};
    }
    draw.forget_since(met);  // a pronoun is not described
  }
}

// Der Mann, dem ich helfe, ist müde.
SentencePair relative_of_subject(Draw& draw) {
  const bool person = draw.percent(60);
  constexpr Traits kThings = kReadable | kVehicle | kDevice | kClothes | kFood | kDrink;
  const Phrase subject = person ? draw_known_person(draw) : Phrase(draw_known_thing(draw, kThings));
  const NounPhrase& head = std::get<NounPhrase>(subject);
  Clause main;
  if (person && draw.percent(50)) {
    main = draw_clause(draw, subject, draw_verb(draw, {Frame::activity, Frame::intransitive, Frame::place}));
  } else {
    main.subject = subject;
    main.predicate =
        &draw.of(adjectives(), [&](const Adjective& a) { return head.noun->is(a.of) && &a != head.adjective; });
    draw.combine(*main.predicate, *head.noun);
  }
  const Described described = describe(draw, head, main.verb);
  return {german(subject, GrammaticalCase::nominative) + ", " + described.german + ", " +
              german(main, kFirst, Gap::subject) + ".",
          english(subject, EnglishRole::subject) + " " + described.english + " " +
              english(main, kStatement, Gap::subject) + "."};
}

// Der Mann geht in die Stadt, um ein Buch zu kaufen.
SentencePair purpose(Draw& draw) {
  const Phrase subject = draw_person(draw);
  Clause main = draw_clause(draw, subject, draw_verb(draw, {Frame::direction, Frame::drive}));
  draw_tense(draw, main);
  constexpr std::string_view kAims[] = {"kaufen", "suchen", "lesen", "essen",  "trinken", "besuchen",
                                        "fragen", "holen",  "laden", "helfen", "danken"};
  const Clause aim = draw_clause(draw, subject, draw.of(verbs(), [&](const Verb& verb) {
    return std::ranges::find(kAims, verb.infinitive) != std::end(kAims);
  }));
  return {german_statement(main, Front::subject) + ", " + german_purpose(aim) + ".",
          english_statement(main, Front::subject) + " " + english_purpose(aim) + "."};
}

// Der Mann schläft, aber die Frau arbeitet.
SentencePair contrast(Draw& draw) {
  const Clause first = draw_whole_clause(draw), second = draw_whole_clause(draw);
  return {german_statement(first, Front::subject) + ", aber " + german_statement(second, Front::subject) + ".",
          english_statement(first, Front::subject) + ", but " + english_statement(second, Front::subject) + "."};
}

struct Pattern {
  SentencePair (*draw)(Draw&);
  size_t weight;
};
constexpr Pattern kPatterns[] = {{statement, 42}, {question, 8},  {question_word, 8},      {reason, 10},
                                 {thought, 9},    {condition, 6}, {relative_of_object, 4}, {relative_of_subject, 5},
                                 {purpose, 5},    {contrast, 3}};

// In UTF-8, lower-case umlauts too differ from capitals by the bit 0x20, in the second byte: "öffnest du" begins with
// one.
std::string capitalized(std::string text) {
  const bool umlaut = text.front() == '\xc3';
  char& first = text[umlaut ? 1 : 0];
  if (umlaut || (first >= 'a' && first <= 'z')) {
    first = static_cast<char>(first & ~0x20);
  }
  return text;
}

}  // namespace

Sentence draw_sentence(RandomKey key) {
  Draw draw(key);
  size_t total = 0;
  for (const Pattern& pattern : kPatterns) {
    total += pattern.weight;
  }
  size_t at = draw.below(total);
  const Pattern* pattern = kPatterns;
  while (at >= pattern->weight) {
    at -= pattern->weight;
    ++pattern;
  }
  SentencePair pair = pattern->draw(draw);
  return {{capitalized(std::move(pair.source)), capitalized(std::move(pair.target))}, draw.take_combinations()};
}

}  // namespace heed::german_english
