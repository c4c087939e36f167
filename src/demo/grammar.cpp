#include "demo/grammar.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstdlib>
#include <deque>
#include <map>
#include <utility>

#include "base/errors.h"

namespace heed {
namespace grammar {

using Text = std::string_view;
using Texts = std::vector<Text>;
enum Side : uint8_t { kGerman, kEnglish };

struct Record;
struct Value {
  Text text;
  const Record* record = nullptr;

  bool there() const { return !text.empty() || record != nullptr; }
};
using Features = std::vector<std::pair<Text, Value>>;  // the last of a name counts
struct Record {
  const Record* parent = nullptr;
  Text texts = {};                        // of the entry that drew it, if it has any
  std::array<Features, 2> features = {};  // by side

  void set(Text name, Value value) {
    for (Features& side : features) {
      side.emplace_back(name, value);
    }
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
  const Texts values = tokens(list, ','), others = tokens(other, ',');
  return std::ranges::find_first_of(values, others) != values.end();
}

// The number at the beginning, which goes with what ends it; 0 without one.
size_t cut_number(Text& text, Text end) {
  const bool there = text.front() >= '0' && text.front() <= '9';
  return there ? std::strtoul(std::string(cut(text, end)).c_str(), nullptr, 10) : 0;
}

const Value* find(const Features& features, Text name) {
  const auto found = std::find_if(features.rbegin(), features.rend(), [&](const auto& f) { return f.first == name; });
  return found == features.rend() ? nullptr : &found->second;
}

struct Data {
  std::deque<std::string> texts;                  // that all else points into
  std::map<std::pair<Text, Text>, Block> blocks;  // by kind and name

  const Block* find(Text kind, Text name) const {
    const auto found = blocks.find({kind, name});
    return found == blocks.end() ? nullptr : &found->second;
  }

  void read(Text text) {
    const Text whole = text;
    Text header = cut(text, " = ");
    const Text kind = cut(header, " "), name = cut(header, " ");
    require<ConfigError>(!text.empty() && (kind == "words" || kind == "draw" || kind == "say"), "grammar",
                         "expected a block, found '{}'", whole);
    Block& block = blocks[{kind, name}];
    const std::array columns = {tokens(cut(header, " / ")), tokens(cut(header, " / ")), tokens(header)};
    for (Texts common; !text.empty();) {
      Text rest = cut(text, " ; ");
      Entry& entry = block.emplace_back();
      if (rest.find(" : ") != Text::npos) {
        Text guards = cut(rest, " : ");
        entry.weight = cut_number(guards, " ");
        entry.guards = tokens(guards);
      }
      entry.actions = tokens(kind == "draw" ? cut(rest, "| ") : "");
      entry.texts = rest;
      if (kind == "words") {
        common = entry.guards.empty() ? common : entry.guards;
        read_word(entry.word, rest, columns, common);
        entry.word.set("is", {name});
      }
    }
  }

  void read_word(Record& word, Text text, const std::array<Texts, 3>& columns, const Texts& common) {
    Text english = text;
    const Texts german = tokens(cut(english, " / "));
    const std::array cells = {german, tokens(english), common};
    for (size_t side = 0; side < columns.size(); ++side) {
      const size_t count = cells[side].size(), most = columns[side].size();
      require<ConfigError>(count <= most && (count > 0 || most == 0), "grammar", "{} cells for {} columns: '{}'", count,
                           most, text);
      for (size_t i = 0; i < most; ++i) {
        Text otherwise = columns[side][i];
        const Text name = cut(otherwise, "=");
        std::string& cell = texts.emplace_back(i < count ? cells[side][i] : otherwise);
        cell = cell == "-" ? "" : cell.starts_with('+') ? std::string(cells[side][0]) + cell.substr(1) : cell;
        std::ranges::replace(cell, '_', ' ');
        side < 2 ? void(word.features[side].emplace_back(name, Value{cell})) : word.set(name, {cell});
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

  // Drawing; false when nothing fits.
  bool draw(Text rule, Record& record) {
    const Block* const block = data_.find("draw", rule);
    ensure(block != nullptr, "grammar", "no rule draws '{}'", rule);
    std::vector<const Entry*> fitting;  // each as often as it weighs
    for (const Entry& entry : *block) {
      if (all_hold(entry.guards, record, record)) {
        fitting.insert(fitting.end(), std::max<size_t>(1, entry.weight), &entry);
      }
    }
    if (fitting.empty()) {
      return false;
    }
    const Entry& entry = *fitting[fitting[0]->weight == 0 ? 0 : below(fitting.size())];
    record.texts = entry.texts.empty() ? record.texts : entry.texts;
    return all_done(entry.actions, record);
  }

  bool all_done(const Texts& actions, Record& record) {
    return std::ranges::all_of(actions, [&](Text action) { return done(action, record); });
  }

  bool done(Text action, Record& record) {
    if (const size_t percent = cut_number(action, "%"); action == "-" || (percent > 0 && below(100) >= percent)) {
      return true;
    }
    if (action.front() == '&') {
      Text other = action.substr(1);
      const std::string first = said_name(cut(other, "/"), record), second = said_name(other, record);
      combinations_.insert(combinations_.end(), first.empty() || second.empty() ? 0 : 1, {first, second});
      return true;
    }
    const size_t at = std::min(action.find_first_of(":="), action.size());
    const Text name = action.substr(0, at);
    if (at == action.size()) {
      return draw(name, record);
    }
    if (action[at] == ':') {
      return own(record, name).there() || add(record, name, action.substr(at + 1));
    }
    record.set(name, value_of(action.substr(at + 1), record));
    return true;
  }

  bool add(Record& record, Text name, Text inside) {
    const Text source = cut(inside, "[");
    const Texts bracketed = tokens(inside.substr(0, inside.rfind(']')));
    if (const Block* const list = data_.find("words", source)) {
      std::vector<const Record*> fitting;
      for (const Entry& entry : *list) {
        if (all_hold(bracketed, entry.word, record)) {
          fitting.push_back(&entry.word);
        }
      }
      record.set(name, {"", fitting.empty() ? nullptr : fitting[below(fitting.size())]});
      return !fitting.empty();
    }
    Record& part = records_.emplace_back(Record{.parent = &record});
    const bool good = all_done(bracketed, part) && draw(source, part);
    record.set(name, {"", &part});
    return good;
  }

  // What a record or its head has; what it sees of itself and of what is around it; what a path leads to.
  Value own(const Record& record, Text name) const {
    const Features& features = record.features[side_];
    const Value* const head = find(features, "head");
    const Value* const value = find(features, name);
    return value != nullptr ? *value : head == nullptr ? Value{} : own(*head->record, name);
  }

  Value visible(const Record& record, Text name) const {
    const Value* const given = find(given_, name);
    Value value = given == nullptr ? Value{} : *given;
    for (const Record* place = &record; !value.there() && place != nullptr; place = place->parent) {
      value = own(*place, name);
    }
    return value;
  }

  Value get(Text path, const Record& record) const {
    Value value;
    for (const Record* place = &record; !path.empty() && place != nullptr; place = value.record) {
      Text name = cut(path, ".");
      name = name.starts_with('@') ? visible(record, name.substr(1)).text : name;
      value = place == &record ? visible(record, name) : own(*place, name);
    }
    return path.empty() ? value : Value{};
  }

  Value value_of(Text written, const Record& record) const {
    return written.starts_with('$') ? get(written.substr(1), record) : Value{written};
  }

  // Whether a record is what the guard asks for; a path on its right starts from the other record.
  bool holds(Text guard, const Record& record, const Record& other) {
    Text value = guard;
    Text name = cut(value, "=");
    const bool compares = name.size() < guard.size(), negated = (compares ? name.back() : name.front()) == '!';
    name = name.substr(negated && !compares ? 1 : 0, name.size() - (negated ? 1 : 0));
    const bool rule = !compares && data_.find("say", name) != nullptr;
    return negated != (rule       ? !said_name(name, record).empty()
                       : compares ? share_one(get(name, record).text, value_of(value, other).text)
                                  : get(name, record).there());
  }

  bool all_hold(const Texts& guards, const Record& record, const Record& other) {
    return std::ranges::all_of(guards, [&](Text guard) { return holds(guard, record, other); });
  }

  // Saying, on one side; one text is for both.
  std::string said(Text texts, const Record& record) {
    const Text german = cut(texts, " | ");
    Text text = side_ == kGerman || texts.empty() ? german : texts;
    std::string out;
    while (!text.empty()) {
      out += cut(text, "{");
      const Texts slot = tokens(cut(text, "}"));
      const size_t outside = given_.size();
      for (size_t i = 1; i < slot.size(); ++i) {
        Text value = slot[i];
        const Text name = cut(value, "=");
        given_.emplace_back(name, value_of(value, record));
      }
      out += slot.empty() ? "" : said_name(slot[0], record);
      given_.resize(outside);
    }
    return out;
  }

  std::string said_name(Text name, const Record& record) {
    if (const Block* const rule = data_.find("say", name)) {
      const auto entry =
          std::ranges::find_if(*rule, [&](const Entry& e) { return all_hold(e.guards, record, record); });
      return entry == rule->end() ? "" : said(entry->texts, record);
    }
    const Value value = get(name, record);
    if (value.record == nullptr) {
      return std::string(value.text);
    }
    const Text rule = get("is", *value.record).text;
    return !value.record->texts.empty() ? said(value.record->texts, *value.record)
                                        : said_name(data_.find("say", rule) != nullptr ? rule : "base", *value.record);
  }

  // One space between words and none before punctuation, the contractions, and a capital.
  std::string finished(Side side) {
    side_ = side;
    std::string text = " ";
    for (const char c : said(records_.front().texts, records_.front()) + " ") {
      if (text.back() == ' ' && Text(" ,.?").find(c) != Text::npos) {
        text.pop_back();
      }
      text += c;
    }
    for (const Entry& contraction : *data_.find("words", "contraction")) {
      const Text base = own(contraction.word, "base").text;
      for (size_t at = text.find(base); !base.empty() && at != std::string::npos; at = text.find(base)) {
        text.replace(at, base.size(), own(contraction.word, "short").text);
      }
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
  std::deque<Record> records_;  // the sentence first
  Features given_;              // to what is being said
  std::vector<Combination> combinations_;
};

}  // namespace grammar

Grammar::Grammar(std::string_view text) : data_(std::make_shared<grammar::Data>()) {
  std::deque<std::string> blocks;
  while (!text.empty()) {
    const std::string_view line = grammar::cut(text, "\n");
    if (line.starts_with("  ") && !blocks.empty()) {
      blocks.back() += line.substr(1);
    } else if (!line.empty() && line.front() != '#') {
      blocks.emplace_back(line);
    }
  }
  for (std::string& block : blocks) {
    data_->read(data_->texts.emplace_back(std::move(block)));
  }
}

Sentence Grammar::expand(std::string_view rule, RandomKey key) const {
  return grammar::Expansion(*data_, key).sentence(rule);
}

}  // namespace heed
