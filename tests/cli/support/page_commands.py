"""The commands that heed's pages show: a page's blocks of code whose lines begin like a command."""

import random
import re

STARTS = re.compile(r"(\$ )?(heed|build/heed|cmake|curl|sudo|sudoedit|pip|mpirun|echo|(tools|bench|recipes|\.)/\w\S*)( |$)")
WORDS = {"ein": "a", "zwei": "two", "mann": "man", "frau": "woman", "hund": "dog", "ball": "ball", "spielt": "plays",
         "sieht": "sees", "rot": "red", "im": "in", "park": "park", "schnee": "snow", "und": "and", "der": "the"}


def blocks_of(page):
    """The lines of each indented or fenced block of a page in Markdown, without those in a language of their own."""
    found, lines, at = [], page.split("\n"), 0
    while at < len(lines):
        end = at + 1
        if lines[at].startswith("```"):
            while not lines[end].startswith("```"):
                end += 1
            if lines[at][3:] in ("", "console", "sh"):
                found.append(lines[at + 1:end])
            end += 1
        elif lines[at].startswith("    "):
            while end < len(lines) and (lines[end].startswith("    ") or
                                        (not lines[end] and lines[end + 1:end + 2] and lines[end + 1].startswith("    "))):
                end += 1
            found.append([line[4:] for line in lines[at:end]])
        at = end
    return found


def commands_of(page):
    """[[a block's command, ...], ...]: each in one line, without the comment behind it."""
    found = []
    for block in blocks_of(page):
        commands = []
        for line in block:
            if STARTS.match(line):
                commands.append(line)
            elif commands and line.startswith("  "):
                commands[-1] += " " + line.strip()
        commands = [re.sub(r"\s+#.*", "", re.sub(r"\\(?= |$)", "", command)).removeprefix("$ ") for command in commands]
        if commands:
            found.append([re.sub(r" {2,}", " ", command).strip() for command in commands])
    return found


def without_choices(command):
    """A command without what it shows in brackets, which may be left out."""
    while (shorter := re.sub(r" ?\[-[^\[\]]*\]", "", command)) != command:
        command = shorter
    return command


def options_of(page):
    """{(the words of a heed command, an option of it)} that a page shows, in running text too."""
    shown = [command for block in commands_of(page) for command in block]
    shown += [re.sub(r"\s+", " ", code) for code in re.findall(r"`(heed [^`]*)`", page)]
    found = set()
    for command in re.split(r"[|;<>]| && ", re.sub(r"'[^']*'|\"[^\"]*\"", "TEXT", " | ".join(shown))):
        if match := re.search(r"\bheed ((?:bench |tokenizer )?[a-z-]+) (.*)", command):
            found |= {(match[1], option) for option in re.findall(r"(?:^|[ \[])(--[a-z0-9-]+)", match[2])}
    return found


def write_text(folder, seed, lines, name):
    """Random words and what they mean; all texts begin with one sentence, which training and validation then share."""
    drawn = random.Random(seed)
    pairs = [list(WORDS), *(drawn.choices(list(WORDS), k=drawn.randint(4, 12)) for _ in range(lines - 1))]
    (folder / f"{name}.de").write_text("".join(" ".join(words) + " .\n" for words in pairs))
    (folder / f"{name}.en").write_text("".join(" ".join(WORDS[word] for word in words) + " .\n" for words in pairs))
