#include "demo/grammar.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <deque>
#include <iterator>
#include <map>
#include <unordered_map>
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
struct Feature {
  Text name;
  Value value;
};
struct Record {
  const Record* parent = nullptr;
  std::array<std::vector<Feature>, 2> features = {};  // by side
  Text texts = {};                                    // of the entry that drew it, if it has any

  // From now on, on both sides.
  void set(Text name, Value value) {
    for (std::vector<Feature>& side : features) {
      side.insert(side.begin(), {name, value});
    }
  }
};
struct Entry {
  size_t weight = 0;
  Texts guards, actions;
  Text texts;
};
struct Guard {
  Text name;
  bool negated;
  Text sign, value;  // "=", "~" or none
};
struct Block {
  Texts header;
  std::vector<Entry> entries;
  std::vector<Record> words;
};
using Blocks = std::map<Text, std::unordered_map<Text, Block>>;  // by kind and name

// Removes what stands before the separator, and returns it; all where there is none.
Text cut(Text& text, Text separator) {
  const size_t at = std::min(text.find(separator), text.size());
  const Text before = text.substr(0, at);
  text.remove_prefix(std::min(at + separator.size(), text.size()));
  return before;
}

Text trimmed(Text text) {
  text.remove_prefix(std::min(text.find_first_not_of(' '), text.size()));
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

// What stands between spaces outside brackets.
Texts tokens(Text text) {
  Texts found;
  for (size_t i = 0, start = 0, depth = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ' ';
    depth += c == '[' ? 1 : 0;
    depth -= c == ']' ? 1 : 0;
    if (c == ' ' && depth == 0) {
      if (i > start) {
        found.push_back(text.substr(start, i - start));
      }
      start = i + 1;
    }
  }
  return found;
}

// Whether two lists with commas share a value.
bool share_one(Text list, Text other) {
  while (!list.empty()) {
    const Text value = cut(list, ",");
    for (Text rest = other; !rest.empty();) {
      if (cut(rest, ",") == value) {
        return true;
      }
    }
  }
  return false;
}

// The number before the end, 0 without one.
size_t cut_number(Text& text, Text end) {
  size_t number = 0;
  if (text.front() >= '0' && text.front() <= '9') {
    const Text digits = cut(text, end);
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
  }
  return number;
}

Entry read_entry(Text text, Text kind) {
  Entry entry;
  if (text.find(" :") != Text::npos) {
    Text guards = cut(text, " :");
    entry.weight = cut_number(guards, " ");
    entry.guards = tokens(guards);
  }
  entry.actions = tokens(kind == "draw" ? cut(text, "| ") : text);
  entry.texts = trimmed(text);
  return entry;
}

void read_words(Block& block, std::deque<std::string>& texts) {
  std::vector<Texts> columns(1);
  for (const Text name : Texts(block.header.begin() + 2, block.header.end())) {
    name == "/" ? void(columns.emplace_back()) : columns.back().push_back(name);
  }
  Texts common;
  for (const Entry& entry : block.entries) {
    common = entry.guards.empty() ? common : entry.guards;
    Record& word = block.words.emplace_back();
    word.set("is", {block.header[1]});
    Text english = entry.texts;
    const Texts german = tokens(cut(english, " / "));
    const std::vector<Texts> sides = {german, tokens(english), common};
    for (size_t side = 0; side < columns.size(); ++side) {
      const Texts& cells = sides[side];
      require<ConfigError>(!cells.empty() && cells.size() <= columns[side].size(), "grammar",
                           "{} cells for {} columns: '{}'", cells.size(), columns[side].size(), entry.texts);
      for (size_t i = 0; i < columns[side].size(); ++i) {
        Text otherwise = columns[side][i];
        const Text name = cut(otherwise, "=");
        std::string& cell = texts.emplace_back(i < cells.size() ? cells[i] : otherwise);
        cell = cell == "-" ? "" : cell.starts_with('+') ? std::string(cells[0]) + cell.substr(1) : cell;
        std::ranges::replace(cell, '_', ' ');
        side < 2 ? word.features[side].push_back({name, {cell}}) : word.set(name, {cell});
      }
    }
  }
}

// A sentence on its way from a rule to two texts.
class Expansion {
 public:
  Expansion(const Blocks& blocks, RandomKey key) : blocks_(blocks), key_(key) {}

  Sentence sentence(Text rule) {
    while (!draw(rule, records_.emplace_back())) {
      records_.clear();
      combinations_.clear();
    }
    return {finished(kGerman), finished(kEnglish), std::move(combinations_)};
  }

 private:
  const Block* block(Text kind, Text name) const {
    const auto& blocks = blocks_.at(kind);
    const auto found = blocks.find(name);
    return found == blocks.end() ? nullptr : &found->second;
  }

  size_t below(size_t count) { return static_cast<size_t>(uniform_draw(key_, drawn_++) * static_cast<double>(count)); }

  // Drawing; false when nothing fits.
  bool draw(Text rule, Record& record) {
    const Block* const entries = block("draw", rule);
    ensure(entries != nullptr, "grammar", "no rule draws '{}'", rule);
    std::vector<const Entry*> fitting;  // each as often as it weighs
    for (const Entry& entry : entries->entries) {
      if (all_hold(entry.guards, record)) {
        fitting.insert(fitting.end(), std::max<size_t>(1, entry.weight), &entry);
      }
    }
    if (fitting.empty()) {
      return false;
    }
    const Entry& entry = *fitting[fitting[0]->weight == 0 ? 0 : below(fitting.size())];
    record.texts = entry.texts.empty() ? record.texts : entry.texts;
    return std::ranges::all_of(entry.actions, [&](Text action) { return act(action, record); });
  }

  bool act(Text action, Record& record) {
    if (const size_t percent = cut_number(action, "%"); percent > 0 && below(100) >= percent) {
      return true;
    }
    if (action.front() == '&') {
      Text other = action.substr(1);
      const Text one = cut(other, "/");
      Combination words{said_name(one, record), said_name(other, record)};
      if (!words.first.empty() && !words.second.empty()) {
        combinations_.push_back(std::move(words));
      }
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
    const Texts bracketed = tokens(inside.substr(0, inside.size() - (inside.empty() ? 0 : 1)));
    if (const Block* const list = block("words", source)) {
      std::vector<Guard> guards;
      std::ranges::transform(bracketed, std::back_inserter(guards), [&](Text g) { return read_guard(g, record); });
      std::vector<const Record*> fitting;
      for (const Record& word : list->words) {
        if (std::ranges::all_of(guards, [&](const Guard& guard) { return holds(guard, word); })) {
          fitting.push_back(&word);
        }
      }
      record.set(name, {"", fitting.empty() ? nullptr : fitting[below(fitting.size())]});
      return !fitting.empty();
    }
    Record& part = records_.emplace_back(Record{.parent = &record});
    const bool good =
        std::ranges::all_of(bracketed, [&](Text action) { return act(action, part); }) && draw(source, part);
    record.set(name, {"", &part});
    return good;
  }

  // Features.
  Value own(const Record& record, Text name) const {
    const std::vector<Feature>& features = record.features[side_];
    if (const auto found = std::ranges::find(features, name, &Feature::name); found != features.end()) {
      return found->value;
    }
    const Record* const head = name == "head" ? nullptr : own(record, "head").record;
    return head == nullptr ? Value{} : own(*head, name);
  }

  Value visible(const Record& record, Text name) const {
    const auto given = std::ranges::find(given_.rbegin(), given_.rend(), name, &Feature::name);
    Value value = given == given_.rend() ? Value{} : given->value;
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

  // What a guard asks for, with the value that it has here on its right.
  Guard read_guard(Text guard, const Record& record) const {
    const size_t at = std::min(guard.find_first_of("=~"), guard.size());
    const bool negated = guard[at == guard.size() ? 0 : at - 1] == '!';
    const Text name = at == guard.size() ? guard.substr(negated ? 1 : 0) : guard.substr(0, at - (negated ? 1 : 0));
    return {name, negated, guard.substr(at, 1), value_of(guard.substr(std::min(at + 1, guard.size())), record).text};
  }

  bool holds(const Guard& guard, const Record& record) {
    if (guard.sign.empty() && block("say", guard.name) != nullptr) {
      return said_name(guard.name, record).empty() == guard.negated;
    }
    const Value value = get(guard.name, record);
    const Text last = value.text.substr(value.text.empty() ? 0 : value.text.size() - 1);
    const bool held =
        guard.sign.empty() ? value.there() : share_one(guard.sign == "=" ? value.text : last, guard.value);
    return held != guard.negated;
  }

  bool all_hold(const Texts& guards, const Record& record) {
    return std::ranges::all_of(guards, [&](Text guard) { return holds(read_guard(guard, record), record); });
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
        given_.push_back({name, value_of(value, record)});
      }
      out += slot.empty() ? "" : said_name(slot[0], record);
      given_.resize(outside);
    }
    return out;
  }

  std::string said_name(Text name, const Record& record) {
    if (const Block* const rule = block("say", name)) {
      const auto entry = std::ranges::find_if(
          rule->entries, [&](const Entry& candidate) { return all_hold(candidate.guards, record); });
      return entry == rule->entries.end() ? "" : said(entry->texts, record);
    }
    if (const Block* const table = block("forms", name)) {
      const Text form = table->entries[index(table->header[2], record)].actions[index(table->header[3], record)];
      return form == "-" ? "" : std::string(form);
    }
    const Value value = get(name, record);
    if (value.record == nullptr) {
      return std::string(value.text);
    }
    const Text rule = get("is", *value.record).text;
    return !value.record->texts.empty() ? said(value.record->texts, *value.record)
                                        : said_name(block("say", rule) != nullptr ? rule : "base", *value.record);
  }

  size_t index(Text feature, const Record& record) const {
    const auto& lists = block("values", "of_forms")->entries;
    const Texts& values = std::ranges::find(lists, feature, [](const Entry& list) { return list.actions[0]; })->actions;
    const auto found = std::find(values.begin() + 1, values.end() - 1, get(feature, record).text);
    return static_cast<size_t>(found - values.begin() - 1);
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
    for (const Record& contraction : block("words", "contraction")->words) {
      const Text base = own(contraction, "base").text;
      for (size_t at = text.find(base); !base.empty() && at != std::string::npos; at = text.find(base)) {
        text.replace(at, base.size(), own(contraction, "short").text);
      }
    }
    // In UTF-8, lower-case umlauts too differ from capitals by the bit 0x20, in the second byte.
    const bool umlaut = text[1] == '\xc3';
    if (char& first = text[umlaut ? 2 : 1]; umlaut || (first >= 'a' && first <= 'z')) {
      first = static_cast<char>(first & ~0x20);
    }
    return text.substr(1, text.size() - 2);
  }

  const Blocks& blocks_;
  RandomKey key_;
  uint64_t drawn_ = 0;
  Side side_ = kGerman;
  std::deque<Record> records_;  // the sentence first
  std::vector<Feature> given_;  // to what is being said
  std::vector<Combination> combinations_;
};

struct Data {
  std::deque<std::string> texts;  // that all else points into
  Blocks blocks = {{"words", {}}, {"values", {}}, {"forms", {}}, {"draw", {}}, {"say", {}}};
};

}  // namespace grammar

Grammar::Grammar(std::string_view text) : data_(std::make_shared<grammar::Data>()) {
  using namespace grammar;  // NOLINT(google-build-using-namespace)
  std::deque<std::string>& texts = data_->texts;
  while (!text.empty()) {
    const Text line = cut(text, "\n");
    if (!line.empty() && line.front() != '#') {
      if (line.front() != ' ') {
        texts.emplace_back();
      }
      texts.back().append(line).append(" ");
    }
  }
  for (size_t i = 0, blocks = texts.size(); i < blocks; ++i) {
    Text rest = texts[i];
    const Texts header = tokens(cut(rest, " = "));
    require<ConfigError>(header.size() > 1 && !rest.empty() && data_->blocks.contains(header[0]), "grammar",
                         "expected a block, found '{}'", texts[i]);
    Block& block = data_->blocks.at(header[0])[header[1]];
    block.header = header;
    while (!rest.empty()) {
      block.entries.push_back(read_entry(trimmed(cut(rest, ";")), header[0]));
    }
    if (header[0] == "words") {
      read_words(block, texts);
    }
  }
}

Sentence Grammar::expand(std::string_view rule, RandomKey key) const {
  return grammar::Expansion(data_->blocks, key).sentence(rule);
}

}  // namespace heed
