// A grammar of sentences in two languages side by side, as text: words, their forms, and rules that draw and say.
//
// A block starts at the margin, its further lines are indented, and ` ; ` separates its entries; `#` starts a comment.
//   words noun {base} base plural / base plural=+s / gender = m : Arzt Ärzte / doctor ; f : Frau +en / woman women
//     What such a word says, and columns of German, of English and of both; the cells of the latter come first, and hold
//     for the words that follow. "+s" is the first cell of the side and an s, "-" nothing, "_" a space; plural=+s is
//     what a missing cell has.
//   draw NAME = [WEIGHT] [GUARD...] : [ACTION...] [| GERMAN | ENGLISH] ; ...
//   say NAME = [GUARD...] : GERMAN [| ENGLISH] ; ...        one text is for both; without guards, no colon is needed
//
// Records have features: values, or other records. What a record lacks, its `head` has, or else the record that it was
// drawn for: an object sees the subject of its clause. Drawing takes one of the entries whose guards hold, by weight,
// or the first if it has none. If nothing fits, the whole sentence is drawn anew. Actions, in their order:
//   name=value   a feature; name=$path is that of another record, such as $subject.gender
//   name:source  unless it is there already, a record: a word of the list `source` for which the guards in brackets
//                hold, or what the rule `source` draws after the actions in brackets
//   rule         what this rule draws, into the same record; "-" draws nothing
//   one&other    the words of a Combination, unless one is missing
//   N%action     with a probability of N in a hundred
// Guards: name (is there) and a=b (lists with commas share a value; b may be a $path); !name and !a=b are the opposite.
//
// A record says its feature `text`: the texts of the entry that drew it. A rule says the first entry whose guards hold.
// A name stands for what the rule of that name says, or else for the feature; @name for the feature that it names.
// {name} in a text is what the name says, and {name case=dat} gives a feature to all that is said within. Last of all,
// the words of the list `contraction` replace base by short, in their order, between a space at either end.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/random.h"

namespace heed {

namespace grammar {
struct Data;
}

struct Combination {  // two words in one sentence
  std::string first, second;

  auto operator<=>(const Combination&) const = default;
};

struct Sentence {
  std::string source, target;  // German, English
  std::vector<Combination> combinations;

  bool operator==(const Sentence&) const = default;
};

class Grammar {
 public:
  explicit Grammar(std::string_view text);  // ConfigError for a block that it cannot read

  // A sentence that the rule draws; depends only on the key.
  Sentence expand(std::string_view rule, RandomKey key) const;

 private:
  std::shared_ptr<grammar::Data> data_;
};

}  // namespace heed
