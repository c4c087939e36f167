// The words of the German-English corpus, with what it takes to use them: how they inflect on both sides, and which
// other words they go with, so that nobody drinks a bicycle.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace heed::german_english {

enum class Gender : uint8_t { masculine, feminine, neuter };
enum class Number : uint8_t { singular, plural };

// The traits of a noun that matter to verbs, adjectives and prepositions.
enum Trait : uint32_t {
  kPerson = 1U << 0,
  kAnimal = 1U << 1,
  kFood = 1U << 2,
  kDrink = 1U << 3,
  kCooked = 1U << 4,
  kReadable = 1U << 5,
  kWritten = 1U << 6,  // by people at a desk
  kClothes = 1U << 7,
  kVehicle = 1U << 8,
  kDevice = 1U << 9,
  kFlat = 1U << 10,     // one lays it down (legen)
  kUpright = 1U << 11,  // one stands it up (stellen)
  kVessel = 1U << 12,   // empty or full
  kRoom = 1U << 13,
  kDoor = 1U << 14,  // opened and closed
  kSurface = 1U << 15,
  kPlace = 1U << 16,      // one can be in it
  kFar = 1U << 17,        // one drives there
  kAtStation = 1U << 18,  // one goes there with `zu`, not with `in`
  kMass = 1U << 19,       // no plural, no indefinite article
  kThing = 1U << 20,      // bought, carried, lost
  kDear = 1U << 21,       // one has, needs and looks for it
  kHome = 1U << 22,       // one lives in it
  kSeat = 1U << 23,       // one sits on it
  kTransport = 1U << 24,  // one waits for it
  kRelation = 1U << 25,   // people who are somebody's; "meine Frau" would be my wife
};
using Traits = uint32_t;

// What makes two nouns comparable: a car may be faster than a bicycle, but who asks whether it is newer than a skirt?
inline constexpr Traits kKinds = kPerson | kAnimal | kFood | kDrink | kReadable | kClothes | kVehicle | kTransport |
                                 kDevice | kVessel | kRoom | kDoor | kSurface | kFar;

struct Noun {
  std::string_view german;
  Gender gender;
  std::string_view oblique;  // accusative and dative singular, where different: the weak nouns
  std::string_view plural;
  std::string_view english, english_plural;
  Traits traits;

  bool is(Traits any) const { return (traits & any) != 0; }
};

struct Adjective {
  std::string_view german, stem;  // "teuer" alone, "teur-" before endings
  std::string_view comparative;   // empty if it has none
  std::string_view english, english_comparative;
  Traits of;
};

enum class Auxiliary : uint8_t { haben, sein };

// Actions are in progress where states are: "is reading", but "knows". Events (to find) are in the past; states (to
// know) are in the present, since nobody says "hat gekannt".
enum class Aspect : uint8_t { action, event, state };

enum class Frame : uint8_t {
  intransitive,
  activity,  // the same, perhaps in some place
  accusative,
  dative,     // jemandem helfen
  recipient,  // jemandem etwas geben
  explain,    // the same, with `to` in English
  accusative_preposition,
  dative_preposition,
  place,      // in or on something, dative
  direction,  // to a place
  drive,      // to a place that is far
  put,        // something somewhere, accusative
  rest,       // of things, on or in something, dative
};

// After an English verb: "look for him" but "pick the child up", which is why the latter takes no pronoun.
enum class Particle : uint8_t { none, preposition, adverb };

struct Verb {
  std::string_view prefix, infinitive;  // an + rufen
  std::string_view second, third;       // du rufst, er ruft
  std::string_view participle;          // with the prefix
  Auxiliary auxiliary;
  Aspect aspect;
  std::string_view base, english_third, past, progressive;
  std::string_view particle;
  Particle particle_kind;
  Frame frame;
  std::string_view preposition;  // of the German object
  Traits object;                 // of the accusative, the prepositional object, or what is put or rests
};

// Modal verbs, and the verbs of thinking and saying, which take a clause.
struct Modal {
  std::string_view infinitive, singular, second;  // können, kann, kannst
  // English: an auxiliary ("can"), or else a verb with `to` that has forms ("has to", "wants to"); "is allowed to".
  std::string_view auxiliary, negated, base, third;
};

struct ClauseVerb {
  std::string_view infinitive, first, second, third;
  std::string_view english, english_third;
};

// When something happens decides the tense of both sides.
enum class When : uint8_t { now, usual, frequency, future, past };

struct TimeAdverb {
  std::string_view german, english;
  When when;
};

struct Name {
  std::string_view name;
  Gender gender;
};

struct City {
  std::string_view german, english;
};

std::span<const Noun> nouns();
std::span<const Adjective> adjectives();
std::span<const Verb> verbs();
std::span<const Modal> modals();
std::span<const ClauseVerb> clause_verbs();
std::span<const TimeAdverb> time_adverbs();
std::span<const Name> names();
std::span<const City> cities();
std::span<const std::string_view> german_numbers();  // from two on
std::span<const std::string_view> english_numbers();

}  // namespace heed::german_english
