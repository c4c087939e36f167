"""BLEU, chrF2 and chrF2++ from their published definitions, slow and plain: the oracle for src/eval.

The definitions are those of sacreBLEU 2 with its defaults. Besides the scores there are texts that go wrong easily.
"""

import math
import random
import re
import string
from collections import Counter


def tokenize_13a(line):
    for old, new in (("<skipped>", ""), ("-\n", ""), ("\n", " "), ("&quot;", '"'), ("&amp;", "&"), ("&lt;", "<"),
                     ("&gt;", ">")):
        line = line.replace(old, new)
    line = f" {line} "
    line = re.sub(r"([{-~[-` -&(-+:-@/])", r" \1 ", line)
    line = re.sub(r"([^0-9])([.,])", r"\1 \2 ", line)
    line = re.sub(r"([.,])([^0-9])", r" \1 \2", line)
    line = re.sub(r"([0-9])(-)", r"\1 \2 ", line)
    return line.split()


def n_grams(units, order):
    return Counter(tuple(units[i:i + order]) for i in range(len(units) - order + 1))


def references_that_count(lines):
    return [line for line in lines if line.strip()] or [""]


def bleu_statistics(hypothesis, references):
    words = tokenize_13a(hypothesis)
    others = [tokenize_13a(reference) for reference in references]
    closest = min((abs(len(other) - len(words)), len(other)) for other in others)[1]
    matches, totals = [], []
    for order in range(1, 5):
        counts = n_grams(words, order)
        most = Counter()
        for other in others:
            most |= n_grams(other, order)
        matches.append(sum((counts & most).values()))
        totals.append(sum(counts.values()))
    return [len(words), closest] + matches + totals


def bleu_score(statistics, effective_order=False):
    hypothesis, reference, matches, totals = statistics[0], statistics[1], statistics[2:6], statistics[6:]
    penalty = 1.0
    if hypothesis < reference:
        penalty = math.exp(1 - reference / hypothesis) if hypothesis else 0.0
    precisions = [0.0] * 4
    result = {"brevity_penalty": penalty, "precisions": precisions, "hypothesis_length": hypothesis,
              "reference_length": reference, "bleu": 0.0}
    if not any(matches):
        return result
    halvings, orders = 0, 0
    for order in range(4):
        if totals[order] == 0:
            break
        orders += 1
        if matches[order]:
            precisions[order] = 100 * matches[order] / totals[order]
        else:
            halvings += 1
            precisions[order] = 100 / (2 ** halvings * totals[order])
    if orders == 4 or effective_order:
        result["bleu"] = penalty * math.exp(sum(map(math.log, precisions[:orders])) / orders)
    return result


def chrf_words(text):
    for word in text.split():
        if len(word) > 1 and word[-1] in string.punctuation:
            yield from (word[:-1], word[-1])
        elif len(word) > 1 and word[0] in string.punctuation:
            yield from (word[0], word[1:])
        else:
            yield word


def chrf_statistics(hypothesis, references, word_order):
    def sides(text):
        characters, words = "".join(text.split()), list(chrf_words(text))
        return [n_grams(characters, n) for n in range(1, 7)] + [n_grams(words, n) for n in range(1, word_order + 1)]

    candidates = []
    for reference in references:
        candidates.append([])
        for ours, theirs in zip(sides(hypothesis), sides(reference)):
            candidates[-1] += [sum(ours.values()) if theirs else 0, sum(theirs.values()),
                               sum((ours & theirs).values())]
    return max(candidates, key=chrf_score)  # the first of equals


def chrf_score(statistics):
    precisions, recalls = [], []
    for at in range(0, len(statistics), 3):
        ours, theirs, matches = statistics[at:at + 3]
        if ours and theirs:
            precisions.append(matches / ours)
            recalls.append(matches / theirs)
    if sum(precisions) + sum(recalls) == 0:
        return 0.0
    precision, recall = sum(precisions) / len(precisions), sum(recalls) / len(recalls)
    return 100 * (5 * precision * recall / (4 * precision + recall))


def column_sums(rows):
    return [sum(column) for column in zip(*rows)]


def scores(hypotheses, references, lowercase=False):
    """references[k] holds reference k of every sentence."""
    if lowercase:
        hypotheses = [line.lower() for line in hypotheses]
        references = [[line.lower() for line in reference] for reference in references]
    pairs = [(hypothesis, references_that_count(lines)) for hypothesis, *lines in zip(hypotheses, *references)]
    result = bleu_score(column_sums(bleu_statistics(*pair) for pair in pairs))
    result["chrf2"] = chrf_score(column_sums(chrf_statistics(*pair, 0) for pair in pairs))
    result["chrf2pp"] = chrf_score(column_sums(chrf_statistics(*pair, 2) for pair in pairs))
    return result


PIECES = (
    "the dog a cat The DOG sat on Haus Straße schöne Über İstanbul ΣΟΦΟΣ ΑΣ. ŒUVRE don't it's 'quoted' «so» “this” ‘that’ "
    "1,000 1.5 3, .5 5. ,5 1,2,3. 10-20 9- -9 a-b well-known 2-fold 1--2 100% $5.00 €3,50 U.S. e.g. etc... ... .. ., ,. "
    "?! (see) [1] {x} a/b c:d e;f x=y <b> </b> <skipped> <skip &quot; &amp; &lt; &gt; &amp;lt; &amp;quot; &nbsp; & &; "
    "日本語 テスト。 中文,测试 3,中 你好!世界 한국어. 😀 👩‍👩‍👧 é e\u0301 ½ ² ٣,٤ ３．５ １，２ — – … · ¿Qué? ¡Hola! “.” „Gänse“, "
    "_ ^ ` ~ | \\ \" # @ * + a_b foo@bar.com http://a.b/c?d=e&f=1.2,3 1.000.000,00 12:30 3.14.15 7.a a.7 7,a a,7 --- -"
).split(" ")
SPACES = [" "] * 12 + ["  ", "\t", "\u00a0", "\u2003", "\u3000", "\u200b", "\x1f", "\x0b", "\u2028", "\u0085", "\ufeff", "", "",
                      "\u1680", "\u180e", "\u202f"]


def nasty_line(draw, max_length=14):
    line = ""
    for _ in range(draw.randrange(max_length)):
        line += draw.choice(PIECES) + draw.choice(SPACES)
    return line


def disturbed(draw, line):
    """A translation that has something to do with its reference."""
    words = line.split(" ")
    for _ in range(draw.randrange(1, 4)):
        at = draw.randrange(len(words) + 1)
        change = draw.randrange(4)
        if change == 0 and words:
            del words[at % len(words)]
        elif change == 1:
            words.insert(at, draw.choice(PIECES))
        elif change == 2 and words:
            words[at % len(words)] = draw.choice(PIECES)
        elif words:
            words.insert(at, words[at % len(words)])
    return " ".join(words)


def nasty_corpus(seed):
    """Hypotheses and one to three references each, some of them blank."""
    draw = random.Random(seed)
    size, count = draw.choice((1, 1, 2, 3, 10, 40)), draw.choice((1, 1, 2, 3))
    references, hypotheses = [[] for _ in range(count)], []
    for _ in range(size):
        lines = [nasty_line(draw) if draw.random() > 0.04 else draw.choice(("", " ")) for _ in range(count)]
        close = [disturbed(draw, draw.choice(lines)) for _ in range(2)]
        hypotheses.append(draw.choice([close[0], close[1], lines[0], nasty_line(draw)]))
        for reference, line in zip(references, lines):
            reference.append(line)
    return hypotheses, references
