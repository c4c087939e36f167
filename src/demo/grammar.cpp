#include "demo/grammar.h"

#include <algorithm>
#include <array>
#include <deque>
#include <unordered_map>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace grammar {

using Text = std::string_view;
using Texts = std::vector<Text>;
enum Side : size_t { kGerman, kEnglish, kBoth };

struct Record;
struct Value {
  Text text;
  const Record* record = nullptr;

  bool there() const { return !text.empty() || record != nullptr; }
};
// Values by name. A record has few, which a search one by one finds faster than a hash table.
class Features {
 public:
  Value get(Text name) const {
    const auto found = std::ranges::find(all_, name, &std::pair<Text, Value>::first);
    return found == all_.end() ? Value{} : found->second;
  }
  void set(Text name, Value value) {
    const auto found = std::ranges::find(all_, name, &std::pair<Text, Value>::first);
    (found == all_.end() ? all_.emplace_back(name, Value{}) : *found).second = value;
  }

 private:
  std::vector<std::pair<Text, Value>> all_;
};
struct Record {
  const Record* parent = nullptr;
  std::array<Features, 2> features = {};  // by side

  void set(Text name, Value value, Side side = kBoth) {
    features[side == kBoth ? kGerman : side].set(name, value);
    features[side == kBoth ? kEnglish : side].set(name, value);
  }
};
struct Entry {
  size_t weight = 0;
  Texts guards, actions;
  Text texts;
  Record word;
};
using Block = std::vector<Entry>;

// Removes what stands before the separator, and returns it; all where there is none.
Text cut(Text& text, Text separator) {
  const size_t at = std::min(text.find(separator), text.size());
  const Text before = text.substr(0, at);
  text.remove_prefix(std::min(at + separator.size(), text.size()));
  return before;
}

// The number at the beginning, which goes with what ends it; 0 without one.
size_t cut_number(Text& text, Text end) {
  return text.find_first_of("0123456789") == 0 ? std::stoul(std::string(cut(text, end))) : 0;
}

// What stands between separators outside brackets.
Texts tokens(Text text, char separator = ' ') {
  Texts found;
  for (size_t i = 0, start = 0, depth = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : separator;
    depth += c == '[' ? 1 : c == ']' ? -1 : 0;
    if (c == separator && depth == 0) {
      found.push_back(text.substr(start, i - start));
      start = i + 1;
    }
  }
  std::erase(found, "");
  return found;
}

// Whether two lists with commas share a value.
bool share_one(Text list, Text other) {
  while (!list.empty()) {
    const Text value = cut(list, ",");
    for (Text rest = other; !value.empty() && !rest.empty();) {
      if (cut(rest, ",") == value) {
        return true;
      }
    }
  }
  return false;
}

void replace_all(std::string& text, Text old, Text by) {
  for (size_t at = text.find(old); !old.empty() && at != Text::npos; at = text.find(old)) {
    text.replace(at, old.size(), by);
  }
}

struct Data {
  std::string text;               // that all else points into,
  std::deque<std::string> cells;  // or into these
  std::unordered_map<Text, Block> words, drawn, said;

  void read(Text entries) {
    const Text block = entries;
    Text header = cut(entries, " = ");
    const Text kind = cut(header, " "), name = cut(header, " "), said_by = kind == "words" ? cut(header, " ") : "";
    require<ConfigError>(!entries.empty() && (kind == "words" || kind == "draw" || kind == "say"), "grammar",
                         "expected a block, found '{}'", block);
    const std::array columns = {tokens(cut(header, " / ")), tokens(cut(header, " / ")), tokens(header)};
    for (Texts common; !entries.empty();) {
      Text rest = cut(entries, " ; ");
      Text guards = rest.find(" : ") == Text::npos ? "" : cut(rest, " : ");
      Entry& entry = (kind == "words" ? words : kind == "draw" ? drawn : said)[name].emplace_back();
      if (kind == "words") {
        common = guards.empty() ? common : tokens(guards);
        entry.weight = 1;
        read_word(entry.word, columns, rest, common);
        entry.word.set("text", {said_by});
      } else {
        entry.weight = cut_number(guards, " ");
        entry.guards = tokens(guards);
        entry.actions = tokens(kind == "draw" ? cut(rest, "| ") : "");
        entry.texts = rest;
      }
    }
  }

  void read_word(Record& word, const std::array<Texts, 3>& columns, Text written, const Texts& common) {
    Text english = written;
    const Texts german = tokens(cut(english, " / "));
    const std::array given = {german, tokens(english), common};
    for (const Side side : {kGerman, kEnglish, kBoth}) {
      const size_t count = given[side].size(), most = columns[side].size();
      require<ConfigError>(count <= most && (count > 0 || most == 0), "grammar", "{} cells for {} columns: '{}'", count,
                           most, written);
      for (size_t i = 0; i < most; ++i) {
        Text otherwise = columns[side][i];
        const Text name = cut(otherwise, "=");
        std::string& cell = cells.emplace_back(i < count ? given[side][i] : otherwise);
        cell = cell == "-" ? "" : cell.starts_with('+') ? std::string(given[side][0]) + cell.substr(1) : cell;
        std::ranges::replace(cell, '_', ' ');
        word.set(name, {cell}, side);
      }
    }
  }
};

// A sentence on its way from a rule to two texts.
class Expansion {
 public:
  Expansion(const Data& data, RandomKey key) : data_(data), key_(key) {}

  Sentence sentence(Text rule) {
    while (!draw(rule, records_.emplace_back())) {
      records_.clear();
      combinations_.clear();
    }
    return {finished(kGerman), finished(kEnglish), std::move(combinations_)};
  }

 private:
  size_t below(size_t count) { return static_cast<size_t>(uniform_draw(key_, drawn_++) * static_cast<double>(count)); }

  // One of the entries that fit, of words those that are what is wanted: the first without a weight, or one by weight.
  const Entry* chosen(const Block& block, const Record& record, const Texts& wanted = {}) {
    std::vector<const Entry*> fitting;  // each as often as it weighs
    for (const Entry& entry : block) {
      if (hold(entry.guards, record, record) && hold(wanted, entry.word, record)) {
        if (entry.weight == 0) {
          return &entry;
        }
        fitting.insert(fitting.end(), entry.weight, &entry);
      }
    }
    return fitting.empty() ? nullptr : fitting[below(fitting.size())];
  }

  // Drawing; false when nothing fits.
  bool draw(Text rule, Record& record) {
    ensure(data_.drawn.contains(rule), "grammar", "no rule draws '{}'", rule);
    const Entry* const entry = chosen(data_.drawn.at(rule), record);
    if (entry != nullptr && !entry->texts.empty()) {
      record.set("text", {entry->texts});
    }
    return entry != nullptr && all_done(entry->actions, record);
  }

  bool all_done(const Texts& actions, Record& record) {
    return std::ranges::all_of(actions, [&](Text action) { return done(action, record); });
  }

  bool done(Text action, Record& record) {
    if (const size_t percent = cut_number(action, "%"); percent > 0 && below(100) >= percent) {
      return true;
    }
    const size_t at = std::min(action.find_first_of(":=&"), action.size());
    const Text name = action.substr(0, at), sign = action.substr(at, 1), rest = action.substr(at + sign.size());
    if (sign == ":") {
      return own(record, name).there() || add(record, name, rest);
    }
    if (sign == "=") {
      record.set(name, value_of(rest, record));
    } else if (sign == "&") {
      const std::string first = said_value(get(name, record)), second = said_value(get(rest, record));
      combinations_.insert(combinations_.end(), first.empty() || second.empty() ? 0 : 1, {first, second});
    }
    return !sign.empty() || name == "-" || draw(name, record);
  }

  bool add(Record& record, Text name, Text inside) {
    const Text source = cut(inside, "[");
    const Texts bracketed = tokens(inside.substr(0, inside.rfind(']')));
    if (data_.words.contains(source)) {
      const Entry* const entry = chosen(data_.words.at(source), record, bracketed);
      record.set(name, {"", entry == nullptr ? nullptr : &entry->word});
      return entry != nullptr;
    }
    Record& part = records_.emplace_back(Record{.parent = &record});
    const bool good = all_done(bracketed, part) && draw(source, part);
    record.set(name, {"", &part});
    return good;
  }

  // What a record or its head has; what it sees of itself and of what is around it; what a rule says or a path leads to.
  Value own(const Record& record, Text name) const {
    const Value value = record.features[side_].get(name);
    const Record* const head = value.there() ? nullptr : record.features[side_].get("head").record;
    return head == nullptr ? value : own(*head, name);
  }

  Value visible(const Record& record, Text name) const {
    Value value = given_.get(name);
    for (const Record* place = &record; !value.there() && place != nullptr; place = place->parent) {
      value = own(*place, name);
    }
    return value;
  }

  Value get(Text path, const Record& record) {
    if (data_.said.contains(path)) {
      const Entry* const entry = chosen(data_.said.at(path), record);
      return {texts_.emplace_back(entry == nullptr ? "" : said(entry->texts, record))};
    }
    Value value;
    for (const Record* place = &record; !path.empty(); place = value.record) {
      const Text written = cut(path, ".");
      const Text name = written.starts_with('@') ? visible(record, written.substr(1)).text : written;
      value = place == nullptr ? Value{} : place == &record ? visible(record, name) : own(*place, name);
    }
    return value;
  }

  Value value_of(Text written, const Record& record) {
    return written.starts_with('$') ? get(written.substr(1), record) : Value{written};
  }

  // Whether a record is what the guards ask for; paths on their right start from the other record.
  bool hold(const Texts& guards, const Record& record, const Record& other) {
    return std::ranges::all_of(guards, [&](Text guard) {
      const bool negated = guard.starts_with('!'), compares = guard.find('=') != Text::npos;
      guard.remove_prefix(negated ? 1 : 0);
      const Value value = get(cut(guard, "="), record);
      return negated != (compares ? share_one(value.text, value_of(guard, other).text) : value.there());
    });
  }

  // Saying, on one side; one text is for both.
  std::string said(Text texts, const Record& record) {
    const Text german = cut(texts, " | ");
    Text text = side_ == kGerman || texts.empty() ? german : texts;
    std::string out;
    while (!text.empty()) {
      out += cut(text, "{");
      Text slot = cut(text, "}");
      const Text name = cut(slot, " ");
      const Features outside = given_;
      for (Text value : tokens(slot)) {
        const Text given = cut(value, "=");
        given_.set(given, value_of(value, record));
      }
      out += said_value(get(name, record));
      given_ = outside;
    }
    return out;
  }

  std::string said_value(const Value& value) {
    return value.record == nullptr ? std::string(value.text) : said(own(*value.record, "text").text, *value.record);
  }

  // With the contractions, and a capital.
  std::string finished(Side side) {
    side_ = side;
    std::string text = " " + said_value({"", &records_.front()}) + " ";
    for (const Entry& contraction : data_.words.at("contraction")) {
      replace_all(text, own(contraction.word, "base").text, own(contraction.word, "short").text);
    }
    // In UTF-8, lower-case umlauts too differ from capitals by the bit 0x20, in the second byte.
    const bool umlaut = text[1] == '\xc3';
    if (char& first = text[umlaut ? 2 : 1]; umlaut || (first >= 'a' && first <= 'z')) {
      first = static_cast<char>(first & ~0x20);
    }
    return text.substr(1, text.size() - 2);
  }

  const Data& data_;
  RandomKey key_;
  uint64_t drawn_ = 0;
  Side side_ = kGerman;
  std::deque<Record> records_;     // the sentence first
  std::deque<std::string> texts_;  // that rules said
  Features given_;                 // to what is being said
  std::vector<Combination> combinations_;
};

}  // namespace grammar

Grammar::Grammar(std::string_view text) : data_(std::make_shared<grammar::Data>()) {
  data_->text = text;
  grammar::replace_all(data_->text, "\n  ", " ");
  for (std::string_view rest = data_->text; !rest.empty();) {
    if (const std::string_view block = grammar::cut(rest, "\n"); !block.empty() && block.front() != '#') {
      data_->read(block);
    }
  }
}

Sentence Grammar::expand(std::string_view rule, RandomKey key) const {
  return grammar::Expansion(*data_, key).sentence(rule);
}

}  // namespace heed
