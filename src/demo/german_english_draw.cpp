#include "demo/german_english_draw.h"

#include <algorithm>
#include <optional>

namespace heed::german_english {
namespace {

constexpr size_t kFewNumbers = 3;  // numbers used for groups of people

// Who a possessive may point back to. "ihr" is her and their: only the subject tells which.
std::optional<PronounIndex> index_for(const Phrase& person) {
  if (const auto* const chosen = std::get_if<const Pronoun*>(&person)) {
    return static_cast<PronounIndex>(*chosen - &pronoun(kI));
  }
  const auto of_gender = [](Gender gender) -> std::optional<PronounIndex> {
    return gender == Gender::masculine  ? std::optional(kHe)
           : gender == Gender::feminine ? std::optional(kShe)
                                        : std::nullopt;
  };
  if (const auto* const name = std::get_if<const Name*>(&person)) {
    return of_gender((*name)->gender);
  }
  const auto* const noun = std::get_if<NounPhrase>(&person);
  if (noun == nullptr || !noun->noun->is(kPerson) || noun->determiner == Determiner::every) {
    return std::nullopt;
  }
  return noun->number == Number::plural ? std::optional(kThey) : of_gender(noun->noun->gender);
}

void perhaps_add_adjective(Draw& draw, NounPhrase& phrase, int64_t percent) {
  if (!draw.percent(percent)) {
    return;
  }
  const auto fits = [&](const Adjective& adjective) { return phrase.noun->is(adjective.of); };
  if (std::ranges::any_of(adjectives(), fits)) {
    phrase.adjective = &draw.of(adjectives(), fits);
    draw.combine(*phrase.adjective, *phrase.noun);
  }
}

const Noun& draw_noun(Draw& draw, Traits traits) {
  return draw.of(nouns(), [traits](const Noun& noun) { return noun.is(traits); });
}

// One of several determiners, and a number that goes with it. Uncountable nouns are never plural and never take "a".
void draw_determiner(Draw& draw, NounPhrase& phrase, std::initializer_list<Determiner> determiners) {
  const bool person = phrase.noun->is(kPerson);
  phrase.determiner = draw.of(determiners);
  phrase.number = draw.percent(person ? 20 : 30) ? Number::plural : Number::singular;
  phrase.possessor = draw.of({kI, kI, kYou, kWe});
  if (person && phrase.determiner == Determiner::possessive && !phrase.noun->is(kRelation)) {
    phrase.determiner = Determiner::definite;
  }
  if (phrase.noun->is(kMass)) {
    phrase.number = Number::singular;
    if (phrase.determiner == Determiner::indefinite || phrase.determiner == Determiner::number) {
      phrase.determiner = Determiner::none;
    }
  } else if (phrase.determiner == Determiner::every) {
    phrase.number = Number::singular;
  } else if (phrase.determiner == Determiner::number) {
    phrase.number = Number::plural;
    phrase.count = draw.below(person ? kFewNumbers : german_numbers().size());
  } else if (phrase.determiner == Determiner::indefinite && phrase.number == Number::plural) {
    phrase.determiner = person ? Determiner::definite : Determiner::none;  // "I help boys" asks which
  }
}

// The same for a subject, which does not stand without a determiner.
void draw_subject_determiner(Draw& draw, NounPhrase& phrase, std::initializer_list<Determiner> determiners) {
  draw_determiner(draw, phrase, determiners);
  if (phrase.determiner == Determiner::none) {
    phrase.determiner = Determiner::definite;
  }
}

PrepositionalPhrase draw_location(Draw& draw, GrammaticalCase grammatical_case) {
  struct Preposition {
    std::string_view german, english;
  };
  const auto [german, english] = draw.of({Preposition{"auf", "on"}, Preposition{"auf", "on"},
                                          Preposition{"unter", "under"}, Preposition{"neben", "next to"}});
  return {german, english, grammatical_case, draw_known_thing(draw, kSurface)};
}

PrepositionalPhrase draw_place(Draw& draw, Frame frame) {
  constexpr GrammaticalCase kAccusative = GrammaticalCase::accusative, kDative = GrammaticalCase::dative;
  const auto city = [&draw] { return &draw.of(cities()); };
  if (frame == Frame::direction || frame == Frame::drive) {
    if (frame == Frame::drive && draw.percent(30)) {
      return {"nach", "to", kDative, city()};
    }
    const NounPhrase place = draw_known_thing(draw, frame == Frame::drive ? kFar : kPlace);
    const bool with_zu = place.noun->is(kAtStation);
    return {with_zu ? "zu" : "in", "to", with_zu ? kDative : kAccusative, place};
  }
  if (draw.percent(30)) {
    return {"in", "in", kDative, city()};
  }
  return {"in", "in", kDative, draw_known_thing(draw, kPlace)};
}

PrepositionalPhrase draw_place_of(Draw& draw, const Verb& verb) {
  if (verb.infinitive == "wohnen") {
    return draw.percent(50) ? PrepositionalPhrase{"in", "in", GrammaticalCase::dative, &draw.of(cities())}
                            : PrepositionalPhrase{"in", "in", GrammaticalCase::dative, draw_known_thing(draw, kHome)};
  }
  return draw.percent(50) ? PrepositionalPhrase{"auf", "on", GrammaticalCase::dative, draw_known_thing(draw, kSeat)}
                          : PrepositionalPhrase{"in", "in", GrammaticalCase::dative, draw_known_thing(draw, kPlace)};
}

// A person as an object. Excludes pronouns that could refer to the subject: in "he helps him" another person may be
// meant, but need not be, and "I see us" is seldom said.
Phrase draw_person_object(Draw& draw, const Phrase& subject, std::initializer_list<PronounIndex> pronouns) {
  if (draw.percent(25)) {
    const PronounIndex index = draw.of(pronouns);
    const std::optional<PronounIndex> self = index_for(subject);
    const auto speaks = [](PronounIndex who) { return who == kI || who == kWe; };
    if (!self || (*self != index && !(speaks(*self) && speaks(index)))) {
      return &pronoun(index);
    }
  }
  return draw_object(draw, kPerson, subject);
}

void fill_objects(Draw& draw, Clause& clause) {
  const Verb& verb = *clause.verb;
  const bool takes_pronoun = verb.particle_kind != Particle::adverb;
  switch (verb.frame) {
    case Frame::accusative:
      clause.accusative = verb.object == kPerson && takes_pronoun
                              ? draw_person_object(draw, clause.subject, {kI, kYou, kHe, kWe})
                              : draw_object(draw, verb.object, clause.subject);
      draw.combine(verb, clause.accusative);
      break;
    case Frame::dative:
      clause.dative = draw_person_object(draw, clause.subject, {kI, kYou, kHe, kShe, kWe, kThey});
      draw.combine(verb, clause.dative);
      break;
    case Frame::recipient:
    case Frame::explain:
      clause.dative = draw_person_object(draw, clause.subject, {kI, kYou, kHe, kShe, kWe, kThey});
      clause.accusative = draw_object(draw, verb.object, clause.subject);
      draw.combine(verb, clause.accusative);
      break;
    case Frame::accusative_preposition:
    case Frame::dative_preposition: {
      const bool dative = verb.frame == Frame::dative_preposition;
      clause.prepositional = {verb.preposition, verb.particle,
                              dative ? GrammaticalCase::dative : GrammaticalCase::accusative,
                              draw_object(draw, verb.object, clause.subject)};
      draw.combine(verb, clause.prepositional.phrase);
      break;
    }
    case Frame::put:
      clause.accusative = draw_object(draw, verb.object, clause.subject);
      draw.combine(verb, clause.accusative);
      clause.prepositional = draw_location(draw, GrammaticalCase::accusative);
      break;
    case Frame::place:
      clause.prepositional = draw_place_of(draw, verb);
      break;
    case Frame::activity:
      if (draw.percent(60)) {
        clause.prepositional = draw_place(draw, verb.frame);
      }
      break;
    case Frame::direction:
    case Frame::drive:
      clause.prepositional = draw_place(draw, verb.frame);
      break;
    case Frame::rest:
    case Frame::intransitive:
      break;
  }
}

const TimeAdverb* draw_time(Draw& draw, std::initializer_list<When> when) {
  return &draw.of(time_adverbs(),
                  [when](const TimeAdverb& time) { return std::ranges::find(when, time.when) != when.end(); });
}

bool is_vague(const Phrase& phrase) {
  const auto* const noun = std::get_if<NounPhrase>(&phrase);
  return noun != nullptr && (!is_definite(phrase) || noun->determiner == Determiner::every);
}

}  // namespace

size_t Draw::below(size_t count) {
  return static_cast<size_t>(uniform_draw(key_, drawn_++) * static_cast<double>(count));
}

void Draw::combine(const Adjective& adjective, const Noun& noun) {
  combinations_.push_back({std::string(adjective.german), std::string(noun.german)});
}

void Draw::combine(const Verb& verb, const Phrase& object) {
  if (const auto* const noun = std::get_if<NounPhrase>(&object)) {
    combinations_.push_back({std::string(verb.prefix).append(verb.infinitive), std::string(noun->noun->german)});
  }
}

Phrase draw_known_person(Draw& draw) {
  NounPhrase phrase{.noun = &draw_noun(draw, kPerson)};
  draw_determiner(draw, phrase, {Determiner::definite, Determiner::definite, Determiner::possessive});
  perhaps_add_adjective(draw, phrase, 25);
  return phrase;
}

Phrase draw_person(Draw& draw) {
  if (draw.percent(35)) {
    return &pronoun(draw.of({kI, kYou, kHe, kShe, kWe, kThey}));
  }
  if (draw.percent(15)) {
    return &draw.of(names());
  }
  NounPhrase phrase{.noun = &draw_noun(draw, kPerson)};
  constexpr Determiner kThe = Determiner::definite, kMy = Determiner::possessive;
  draw_subject_determiner(draw, phrase,
                          {kThe, kThe, kThe, kThe, kThe, kMy, kMy, kMy, Determiner::indefinite,
                           Determiner::demonstrative, Determiner::every, Determiner::number});
  perhaps_add_adjective(draw, phrase, 30);
  return phrase;
}

NounPhrase draw_known_thing(Draw& draw, Traits traits) {
  NounPhrase phrase{.noun = &draw_noun(draw, traits)};
  constexpr Determiner kThe = Determiner::definite;
  draw_determiner(draw, phrase, {kThe, kThe, kThe, Determiner::demonstrative});
  if (draw.percent(60)) {
    phrase.number = Number::singular;
  }
  perhaps_add_adjective(draw, phrase, 30);
  return phrase;
}

Phrase draw_object(Draw& draw, Traits traits, const Phrase& subject) {
  const auto* const other = std::get_if<NounPhrase>(&subject);  // "the teacher asks the teacher" sounds odd
  const auto fits = [&](const Noun& noun) { return noun.is(traits) && (other == nullptr || other->noun != &noun); };
  NounPhrase phrase{.noun = &draw.of(nouns(), fits)};
  draw_determiner(draw, phrase,
                  {Determiner::definite, Determiner::definite, Determiner::definite, Determiner::indefinite,
                   Determiner::indefinite, Determiner::indefinite, Determiner::possessive, Determiner::possessive,
                   Determiner::demonstrative, Determiner::number});
  const std::optional<PronounIndex> self = index_for(subject);
  if (self && draw.percent(75)) {
    phrase.possessor = *self;
  }
  perhaps_add_adjective(draw, phrase, 45);
  return phrase;
}

Phrase pronoun_for(const Phrase& person) {
  const std::optional<PronounIndex> index = index_for(person);
  return index ? Phrase(&pronoun(*index)) : Phrase();
}

const Verb& draw_verb(Draw& draw, std::initializer_list<Frame> frames) {
  return draw.of(verbs(), [frames](const Verb& verb) { return std::ranges::find(frames, verb.frame) != frames.end(); });
}

Clause draw_clause(Draw& draw, const Phrase& subject, const Verb& verb) {
  Clause clause;
  clause.subject = subject;
  clause.verb = &verb;
  use_plain_present(clause);
  fill_objects(draw, clause);
  return clause;
}

Clause draw_clause(Draw& draw, const Phrase& subject) {
  return draw_clause(draw, subject, draw.of(verbs(), [](const Verb& verb) { return verb.frame != Frame::rest; }));
}

Clause draw_state(Draw& draw) {
  Clause clause;
  const bool compares = draw.percent(50);
  clause.predicate = &draw.of(adjectives(), [=](const Adjective& a) { return !compares || !a.comparative.empty(); });
  const auto phrase_of = [&](const Noun& noun) {
    NounPhrase phrase{.noun = &noun};
    draw_determiner(draw, phrase,
                    {Determiner::definite, Determiner::definite, Determiner::possessive, Determiner::demonstrative});
    draw.combine(*clause.predicate, noun);
    return phrase;
  };
  const Noun& subject = draw_noun(draw, clause.predicate->of);
  clause.subject = phrase_of(subject);
  const auto comparable = [&](const Noun& noun) {
    return &noun != &subject && noun.is(subject.traits & kKinds) && noun.is(clause.predicate->of);
  };
  if (compares && std::ranges::any_of(nouns(), comparable)) {
    clause.compared_with = phrase_of(draw.of(nouns(), comparable));
  } else {
    clause.tense = draw.percent(30) ? Tense::past : Tense::simple;
  }
  return clause;
}

Clause draw_feeling(Draw& draw, const Phrase& person) {
  Clause clause;
  clause.subject = person;
  const auto* const noun = std::get_if<NounPhrase>(&person);
  const Adjective* const said = noun == nullptr ? nullptr : noun->adjective;
  clause.predicate = &draw.of(adjectives(), [said](const Adjective& adjective) {
    constexpr std::string_view kLasting[] = {"alt", "jung", "klein"};  // no reason for what happens today
    return (adjective.of & kPerson) != 0 && &adjective != said &&
           std::ranges::find(kLasting, adjective.german) == std::end(kLasting);
  });
  if (noun != nullptr) {
    draw.combine(*clause.predicate, *noun->noun);
  }
  return clause;
}

Clause draw_whereabouts(Draw& draw) {
  Clause clause;
  clause.verb = &draw_verb(draw, {Frame::rest});
  NounPhrase thing{.noun = &draw_noun(draw, clause.verb->object)};
  draw_subject_determiner(draw, thing,
                          {Determiner::definite, Determiner::definite, Determiner::possessive, Determiner::indefinite,
                           Determiner::number, Determiner::demonstrative});
  perhaps_add_adjective(draw, thing, 40);
  clause.subject = thing;
  draw.combine(*clause.verb, clause.subject);
  clause.prepositional = draw_location(draw, GrammaticalCase::dative);
  use_plain_present(clause);
  return clause;
}

void use_plain_present(Clause& clause) {
  clause.time = nullptr;
  clause.modal = nullptr;
  clause.tense = clause.verb != nullptr && clause.verb->aspect == Aspect::action ? Tense::progressive : Tense::simple;
}

void use_modal(Draw& draw, Clause& clause) {
  clause.modal = &draw.of(modals());
  clause.tense = Tense::simple;
}

void draw_tense(Draw& draw, Clause& clause) {
  use_plain_present(clause);
  if (clause.verb == nullptr || clause.verb->aspect == Aspect::state ||
      (clause.verb->aspect == Aspect::action && draw.percent(15))) {
    return;
  }
  enum class Choice : uint8_t { now, habit, future, past, modal };
  switch (clause.verb->aspect == Aspect::event
              ? Choice::past
              : draw.of({Choice::now, Choice::habit, Choice::future, Choice::past, Choice::past, Choice::modal})) {
    case Choice::now:
      clause.time = draw_time(draw, {When::now});
      break;
    case Choice::habit:
      clause.time = draw_time(draw, {When::usual, When::frequency});
      clause.tense = Tense::simple;
      break;
    case Choice::future:
      clause.time = draw_time(draw, {When::future});
      clause.tense = Tense::future;
      break;
    case Choice::past:
      clause.time = draw.percent(60) ? draw_time(draw, {When::past}) : nullptr;
      clause.tense = Tense::past;
      break;
    case Choice::modal:
      use_modal(draw, clause);
      clause.time = draw.percent(40) ? draw_time(draw, {When::now, When::future}) : nullptr;
  }
}

void perhaps_negate(Draw& draw, Clause& clause) {
  const bool habit =
      clause.time != nullptr && (clause.time->when == When::usual || clause.time->when == When::frequency);
  if (habit || is_vague(clause.subject) || is_vague(clause.prepositional.phrase) || !is_empty(clause.compared_with) ||
      is_vague(clause.dative) || !draw.percent(25)) {
    return;
  }
  auto* const object = std::get_if<NounPhrase>(&clause.accusative);
  if (object != nullptr && object->determiner == Determiner::number) {
    return;
  }
  clause.polarity = Polarity::negative;
  if (object != nullptr && (object->determiner == Determiner::indefinite || object->determiner == Determiner::none)) {
    object->determiner = Determiner::negative;
  }
}

}  // namespace heed::german_english
