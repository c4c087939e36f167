// Where tags stand in a translation. Each word has parts of the source that it belongs to. An element takes the run of
// words with the largest sum of
//   (bytes of their source in the element - bytes outside) / all of these bytes,
// so that single words that are aligned wrongly change little. A mark stands where the fewest words are on the wrong
// side of it.
#include <algorithm>
#include <optional>
#include <utility>

#include "text/html/html_line.h"
#include "text/html/html_words.h"
#include "text/unicode/unicode.h"

namespace heed {
namespace {

// Neighbouring words, by their numbers.
struct WordRange {
  size_t begin = 0, end = 0;
  bool empty() const { return begin == end; }
};

constexpr double kUnknown = -0.1;  // what a word counts that belongs to nothing

size_t overlap(TextSpan a, TextSpan b) {
  const size_t begin = std::max(a.begin, b.begin), end = std::min(a.end, b.end);
  return begin < end ? end - begin : 0;
}

class HtmlLayout {
 public:
  HtmlLayout(const HtmlLine& line, const TranslatedText& translation)
      : line_(line),
        target_(translation.text),
        words_(html_words(line.text, translation)),
        ranges_(line.nodes.size()) {}

  std::string write() {
    if (line_.depth > kDeepestHtml || line_.nodes.size() * (target_.size() + 1) > kMostHtmlWork) {
      write_in_proportion();
    } else {
      ranges_[0] = {0, words_.size()};
      write_children(0);
    }
    return std::move(output_);
  }

 private:
  struct Run {
    WordRange words;
    double score = 0.0;
  };

  double score(const HtmlWord& word, TextSpan source) const {
    size_t inside = 0, all = 0;
    for (const TextSpan& part : word.sources) {
      inside += overlap(part, source);
      all += part.size();
    }
    if (all == 0) {
      return word.is_blank ? 0.0 : kUnknown;
    }
    return (2.0 * static_cast<double>(inside) - static_cast<double>(all)) / static_cast<double>(all);
  }

  Run best_run(TextSpan source, WordRange among) const {
    Run best, run;
    run.words = {among.begin, among.begin};
    for (size_t i = among.begin; i < among.end; ++i) {
      const double of_word = score(words_[i], source);
      if (run.score <= 0.0) {
        run = {{i, i}, 0.0};
      }
      run.score += of_word;
      run.words.end = i + 1;
      if (of_word > 0.0 && run.score > best.score) {
        best = run;
      }
    }
    while (!best.words.empty() && words_[best.words.begin].is_blank) {
      ++best.words.begin;
    }
    return best;
  }

  // Words that are exactly what is kept, nearest to where they are expected.
  std::optional<WordRange> same_words(const HtmlNode& node, WordRange among) const {
    std::optional<WordRange> best;
    size_t best_distance = 0;
    const size_t expected = line_.text.empty() ? 0 : node.words.begin * target_.size() / line_.text.size();
    for (size_t at = target_.find(node.shown); at != std::string_view::npos; at = target_.find(node.shown, at + 1)) {
      const auto first = std::ranges::lower_bound(words_, at, {}, [](const HtmlWord& word) { return word.span.begin; });
      const auto last = std::ranges::lower_bound(words_, at + node.shown.size(), {},
                                                 [](const HtmlWord& word) { return word.span.end; });
      const WordRange found{static_cast<size_t>(first - words_.begin()),
                            static_cast<size_t>(last - words_.begin()) + 1};
      const size_t distance = at > expected ? at - expected : expected - at;
      if (first != words_.end() && first->span.begin == at && last != words_.end() &&
          last->span.end == at + node.shown.size() && among.begin <= found.begin && found.end <= among.end &&
          (!best || distance < best_distance)) {
        best = found;
        best_distance = distance;
      }
    }
    return best;
  }

  // Where a mark stands, at one of the places that are free.
  size_t place(size_t source, const std::vector<WordRange>& free) const {
    const auto is_before = [&](const HtmlWord& word) {
      return !word.sources.empty() && word.sources.front().begin < source;
    };
    // Between places that are equally good: before the space that follows the mark, or after the one before it.
    const bool is_early = source < line_.text.size() && line_.text[source] == ' ';
    size_t best = free.front().begin;
    int64_t wrong = 0, best_wrong = 0;  // beside those that are after the first place and should be
    size_t at = best;
    for (const WordRange& range : free) {
      for (; at <= range.end; ++at) {
        if (at >= range.begin && (wrong < best_wrong || (wrong == best_wrong && !is_early))) {
          best = at;
          best_wrong = wrong;
        }
        if (at < words_.size() && !words_[at].sources.empty()) {
          wrong += is_before(words_[at]) ? -1 : 1;
        }
      }
    }
    return best;
  }

  bool has_all_words(const HtmlNode& node, const HtmlNode& parent) const {
    const auto is_blank = [&](size_t begin, size_t end) {
      return heed::is_blank(std::string_view(line_.text).substr(begin, end - begin));
    };
    return !node.words.empty() && is_blank(parent.words.begin, std::max(parent.words.begin, node.words.begin)) &&
           is_blank(node.words.end, std::max(node.words.end, parent.words.end));
  }

  // Gives the children of a node their words, of those that the node has.
  void arrange(size_t number) {
    const HtmlNode& node = line_.nodes[number];
    std::vector<WordRange> free{ranges_[number]};
    const auto take = [&](size_t child, WordRange words) {
      ranges_[child] = words;
      if (line_.keeps_order) {
        free = {{words.end, ranges_[number].end}};
        return;
      }
      for (size_t i = 0; i < free.size() && !words.empty(); ++i) {
        if (free[i].begin <= words.begin && words.end <= free[i].end) {
          const WordRange after{words.end, free[i].end};
          free[i].end = words.begin;
          free.insert(free.begin() + static_cast<std::ptrdiff_t>(i) + 1, after);
          return;
        }
      }
    };
    const auto arrange_words = [&](size_t child) {
      const HtmlNode& one = line_.nodes[child];
      if (has_all_words(one, node) && !line_.keeps_order && one.kind == HtmlNodeKind::element) {
        take(child, ranges_[number]);
        return true;
      }
      Run best;
      for (const WordRange& range : free) {
        if (one.kind == HtmlNodeKind::kept) {
          if (const auto same = same_words(one, range)) {
            take(child, *same);
            return true;
          }
        }
        const Run run = best_run(one.words, range);
        best = run.score > best.score ? run : best;
      }
      if (best.score > 0.0) {
        take(child, best.words);
      }
      return best.score > 0.0;
    };
    const auto arrange_mark = [&](size_t child) {
      const size_t at = place(line_.nodes[child].words.begin, free);
      take(child, {at, at});
    };
    std::vector<size_t> later;
    for (const size_t child : by_evidence(node, ranges_[number])) {
      const bool has_words = !line_.nodes[child].words.empty() && line_.nodes[child].kind != HtmlNodeKind::mark;
      if (has_words && arrange_words(child)) {
        continue;
      }
      if (line_.keeps_order) {
        arrange_mark(child);
      } else {
        later.push_back(child);
      }
    }
    std::ranges::sort(later);
    std::ranges::for_each(later, arrange_mark);
  }

  // A node's children, those first for which most words speak.
  std::vector<size_t> by_evidence(const HtmlNode& node, WordRange words) const {
    std::vector<size_t> children = node.children;
    if (line_.keeps_order || children.size() < 2) {
      return children;
    }
    std::vector<std::pair<double, size_t>> scored;
    for (const size_t child : children) {
      const HtmlNode& one = line_.nodes[child];
      scored.emplace_back(one.kind == HtmlNodeKind::mark ? 0.0
                          : one.kind == HtmlNodeKind::kept && same_words(one, words)
                              ? static_cast<double>(words_.size())
                              : best_run(one.words, words).score,
                          child);
    }
    std::ranges::stable_sort(scored, [](const auto& a, const auto& b) { return a.first > b.first; });
    std::ranges::transform(scored, children.begin(), [](const auto& one) { return one.second; });
    return children;
  }

  void write_children(size_t number) {
    arrange(number);
    std::vector<size_t> children = line_.nodes[number].children;
    if (!line_.keeps_order) {
      std::ranges::stable_sort(children, [&](size_t a, size_t b) {
        return std::pair(ranges_[a].begin, ranges_[a].end) < std::pair(ranges_[b].begin, ranges_[b].end);
      });
    }
    size_t at = ranges_[number].begin;
    for (const size_t child : children) {
      write_words({at, ranges_[child].begin});
      write_node(child);
      at = ranges_[child].end;
    }
    write_words({at, ranges_[number].end});
  }

  void write_node(size_t number) {
    const HtmlNode& node = line_.nodes[number];
    if (node.kind == HtmlNodeKind::element) {
      write_markup(node.begin);
      write_children(number);
      write_markup(node.end);
      return;
    }
    const bool apart = ranges_[number].empty();
    if (apart && node.spaces.before && !output_.empty() && output_.back() != ' ') {
      output_ += ' ';
    }
    write_markup(node.begin);
    needs_space_ = apart && node.spaces.after;
  }

  void write_markup(std::string_view markup) { output_ += markup; }

  void write_words(WordRange words) {
    for (size_t i = words.begin; i < words.end; ++i) {
      if (needs_space_ && !words_[i].is_blank) {
        output_ += ' ';
      }
      needs_space_ = false;
      write_text(words_[i].span.in(target_));
    }
  }

  void write_text(std::string_view text) {
    if (line_.references.empty() && text.find_first_of("&<>\xC2") == std::string_view::npos) {
      output_ += text;
      return;
    }
    for (const char32_t c : to_code_points(replace_invalid_utf8(std::string(text)))) {
      const auto found = line_.references.find(c);
      output_ += found != line_.references.end() ? found->second
                 : c == '&'                      ? "&amp;"
                 : c == '<'                      ? "&lt;"
                 : c == '>'                      ? "&gt;"
                 : c == 0xA0                     ? "&nbsp;"
                                                 : to_utf8({&c, 1});
    }
  }

  // Every tag in its order, at the word that is as far in the text.
  void write_in_proportion() {
    struct Tag {
      size_t at;
      std::string_view markup;
    };
    std::vector<Tag> tags;
    std::vector<size_t> open;  // elements by number, each with its children after it
    const auto close_until = [&](size_t size) {
      while (open.size() > size) {
        const HtmlNode& node = line_.nodes[open.back()];
        tags.push_back({node.words.end, node.end});
        open.pop_back();
      }
    };
    std::vector<size_t> depths(line_.nodes.size());
    for (size_t i = 0; i < line_.nodes.size(); ++i) {
      for (const size_t child : line_.nodes[i].children) {
        depths[child] = depths[i] + 1;
      }
      if (i == 0) {
        continue;
      }
      close_until(depths[i] - 1);
      tags.push_back({line_.nodes[i].words.begin, line_.nodes[i].begin});
      if (line_.nodes[i].kind == HtmlNodeKind::element) {
        open.push_back(i);
      }
    }
    close_until(0);
    size_t word = 0, source = 0;
    for (const Tag& tag : tags) {
      source = std::max(source, tag.at);
      const size_t at = line_.text.empty() ? 0 : source * words_.size() / line_.text.size();
      write_words({word, std::max(word, std::min(at, words_.size()))});
      word = std::max(word, std::min(at, words_.size()));
      write_markup(tag.markup);
    }
    write_words({word, words_.size()});
  }

  const HtmlLine& line_;
  std::string_view target_;
  std::vector<HtmlWord> words_;
  std::vector<WordRange> ranges_;  // by node
  std::string output_;
  bool needs_space_ = false;
};

}  // namespace

std::string with_tags(const HtmlLine& line, const TranslatedText& translation) {
  return line.before + HtmlLayout(line, translation).write() + line.after;
}

}  // namespace heed
