#include "demo/german_english_words.h"

namespace heed::german_english {
namespace {

constexpr Gender m = Gender::masculine, f = Gender::feminine, n = Gender::neuter;
constexpr Traits kTool = kThing | kDear;

// Only nouns whose English word is not another noun's, so that the translation can be reversed.
constexpr Noun kNouns[] = {
    // People.
    {"Mann", m, "", "Männer", "man", "men", kPerson},
    {"Frau", f, "", "Frauen", "woman", "women", kPerson},
    {"Kind", n, "", "Kinder", "child", "children", kPerson | kRelation},
    {"Junge", m, "Jungen", "Jungen", "boy", "boys", kPerson},
    {"Mädchen", n, "", "Mädchen", "girl", "girls", kPerson},
    {"Lehrer", m, "", "Lehrer", "teacher", "teachers", kPerson | kRelation},
    {"Arzt", m, "", "Ärzte", "doctor", "doctors", kPerson | kRelation},
    {"Freund", m, "", "Freunde", "friend", "friends", kPerson | kRelation},
    {"Nachbar", m, "Nachbarn", "Nachbarn", "neighbor", "neighbors", kPerson | kRelation},
    {"Student", m, "Studenten", "Studenten", "student", "students", kPerson},
    {"Bruder", m, "", "Brüder", "brother", "brothers", kPerson | kRelation},
    {"Schwester", f, "", "Schwestern", "sister", "sisters", kPerson | kRelation},
    {"Mutter", f, "", "Mütter", "mother", "mothers", kPerson | kRelation},
    {"Vater", m, "", "Väter", "father", "fathers", kPerson | kRelation},
    {"Sohn", m, "", "Söhne", "son", "sons", kPerson | kRelation},
    {"Tochter", f, "", "Töchter", "daughter", "daughters", kPerson | kRelation},
    {"Verkäuferin", f, "", "Verkäuferinnen", "saleswoman", "saleswomen", kPerson},
    {"Polizist", m, "Polizisten", "Polizisten", "policeman", "policemen", kPerson},
    {"Gast", m, "", "Gäste", "guest", "guests", kPerson | kRelation},
    {"Tante", f, "", "Tanten", "aunt", "aunts", kPerson | kRelation},
    // Animals.
    {"Hund", m, "", "Hunde", "dog", "dogs", kAnimal},
    {"Katze", f, "", "Katzen", "cat", "cats", kAnimal},
    {"Pferd", n, "", "Pferde", "horse", "horses", kAnimal},
    // To read.
    {"Buch", n, "", "Bücher", "book", "books", kReadable | kWritten | kFlat | kTool},
    {"Bilderbuch", n, "", "Bilderbücher", "picture book", "picture books", kReadable | kFlat | kTool},
    {"Wörterbuch", n, "", "Wörterbücher", "dictionary", "dictionaries", kFlat | kTool},
    {"Brief", m, "", "Briefe", "letter", "letters", kReadable | kWritten | kFlat | kDear},
    {"Zeitung", f, "", "Zeitungen", "newspaper", "newspapers", kReadable | kFlat | kTool},
    {"Roman", m, "", "Romane", "novel", "novels", kReadable | kWritten | kFlat | kTool},
    {"Gedicht", n, "", "Gedichte", "poem", "poems", kReadable | kWritten},
    // To eat and drink.
    {"Apfel", m, "", "Äpfel", "apple", "apples", kFood},
    {"Tomate", f, "", "Tomaten", "tomato", "tomatoes", kFood},
    {"Kartoffel", f, "", "Kartoffeln", "potato", "potatoes", kFood | kCooked},
    {"Ei", n, "", "Eier", "egg", "eggs", kFood | kCooked},
    {"Kuchen", m, "", "Kuchen", "cake", "cakes", kFood},
    {"Apfelkuchen", m, "", "Apfelkuchen", "apple cake", "apple cakes", kFood},
    {"Suppe", f, "", "Suppen", "soup", "soups", kFood | kCooked},
    {"Tomatensuppe", f, "", "Tomatensuppen", "tomato soup", "tomato soups", kFood | kCooked},
    {"Brot", n, "", "", "bread", "", kFood | kMass},
    {"Käse", m, "", "", "cheese", "", kFood | kMass},
    {"Fleisch", n, "", "", "meat", "", kFood | kCooked | kMass},
    {"Fisch", m, "", "", "fish", "", kFood | kCooked | kMass},
    {"Milch", f, "", "", "milk", "", kDrink | kMass},
    {"Wasser", n, "", "", "water", "", kDrink | kMass},
    {"Kaffee", m, "", "", "coffee", "", kDrink | kMass},
    {"Orangensaft", m, "", "", "orange juice", "", kDrink | kMass},
    // To wear.
    {"Hemd", n, "", "Hemden", "shirt", "shirts", kClothes | kDear},
    {"Jacke", f, "", "Jacken", "jacket", "jackets", kClothes | kDear},
    {"Winterjacke", f, "", "Winterjacken", "winter jacket", "winter jackets", kClothes | kDear},
    {"Mantel", m, "", "Mäntel", "coat", "coats", kClothes | kDear},
    {"Kleid", n, "", "Kleider", "dress", "dresses", kClothes | kDear},
    {"Rock", m, "", "Röcke", "skirt", "skirts", kClothes},
    {"Pullover", m, "", "Pullover", "sweater", "sweaters", kClothes | kDear},
    // To use.
    {"Auto", n, "", "Autos", "car", "cars", kVehicle | kDear},
    {"Fahrrad", n, "", "Fahrräder", "bicycle", "bicycles", kVehicle | kDear},
    {"Bus", m, "", "Busse", "bus", "buses", kTransport},
    {"Zug", m, "", "Züge", "train", "trains", kTransport},
    {"Uhr", f, "", "Uhren", "clock", "clocks", kDevice | kTool},
    {"Computer", m, "", "Computer", "computer", "computers", kDevice | kUpright | kTool},
    {"Lampe", f, "", "Lampen", "lamp", "lamps", kDevice | kUpright | kTool},
    {"Tasche", f, "", "Taschen", "bag", "bags", kVessel | kUpright | kTool},
    {"Koffer", m, "", "Koffer", "suitcase", "suitcases", kVessel | kUpright | kTool},
    {"Flasche", f, "", "Flaschen", "bottle", "bottles", kVessel | kUpright | kThing},
    {"Glas", n, "", "Gläser", "glass", "glasses", kVessel | kUpright | kThing},
    {"Messer", n, "", "Messer", "knife", "knives", kFlat | kTool},
    {"Schlüssel", m, "", "Schlüssel", "key", "keys", kFlat | kTool},
    {"Puppe", f, "", "Puppen", "doll", "dolls", kTool},
    {"Geschenk", n, "", "Geschenke", "gift", "gifts", kFlat | kThing},
    {"Blume", f, "", "Blumen", "flower", "flowers", kThing},
    // To put things on, to open, to be in.
    {"Tisch", m, "", "Tische", "table", "tables", kSurface},
    {"Küchentisch", m, "", "Küchentische", "kitchen table", "kitchen tables", kSurface},
    {"Stuhl", m, "", "Stühle", "chair", "chairs", kSurface | kThing | kSeat},
    {"Bett", n, "", "Betten", "bed", "beds", kSurface | kSeat},
    {"Sofa", n, "", "Sofas", "sofa", "sofas", kSurface | kSeat},
    {"Tür", f, "", "Türen", "door", "doors", kDoor},
    {"Haustür", f, "", "Haustüren", "front door", "front doors", kDoor},
    {"Fenster", n, "", "Fenster", "window", "windows", kDoor},
    {"Zimmer", n, "", "Zimmer", "room", "rooms", kRoom | kPlace},
    {"Küche", f, "", "Küchen", "kitchen", "kitchens", kRoom | kPlace},
    {"Wohnzimmer", n, "", "Wohnzimmer", "living room", "living rooms", kRoom | kPlace},
    {"Schlafzimmer", n, "", "Schlafzimmer", "bedroom", "bedrooms", kRoom | kPlace},
    {"Büro", n, "", "Büros", "office", "offices", kRoom | kPlace | kFar},
    {"Garten", m, "", "Gärten", "garden", "gardens", kPlace},
    {"Park", m, "", "Parks", "park", "parks", kPlace},
    {"Schule", f, "", "Schulen", "school", "schools", kPlace | kFar},
    {"Stadt", f, "", "Städte", "city", "cities", kPlace | kFar | kHome},
    {"Museum", n, "", "Museen", "museum", "museums", kPlace | kFar},
    {"Krankenhaus", n, "", "Krankenhäuser", "hospital", "hospitals", kPlace | kFar},
    {"Bahnhof", m, "", "Bahnhöfe", "train station", "train stations", kPlace | kFar | kAtStation},
    {"Hotel", n, "", "Hotels", "hotel", "hotels", kPlace | kFar | kAtStation | kHome},
};

constexpr Name kNames[] = {{"Anna", f}, {"Maria", f}, {"Lena", f}, {"Peter", m}, {"Paul", m}, {"Thomas", m}};

constexpr City kCities[] = {{"Berlin", "Berlin"}, {"Wien", "Vienna"}, {"München", "Munich"}, {"Köln", "Cologne"}};

constexpr std::string_view kGermanNumbers[] = {"zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "zehn"};
constexpr std::string_view kEnglishNumbers[] = {"two", "three", "four", "five", "six", "seven", "eight", "ten"};

}  // namespace

std::span<const Noun> nouns() { return kNouns; }
std::span<const Name> names() { return kNames; }
std::span<const City> cities() { return kCities; }
std::span<const std::string_view> german_numbers() { return kGermanNumbers; }
std::span<const std::string_view> english_numbers() { return kEnglishNumbers; }

}  // namespace heed::german_english
