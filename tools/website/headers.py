"""What headers declare, with the comments before it: C++ as in include/heed/, and C as in bindings/c/heed.h."""

import dataclasses
import re

SKIPPED = re.compile(r"#(?!define HEED_\w+ )|namespace [\w:]+ \{|extern \"C\" \{|\}  // namespace|#define HEED_(PUBLIC|CHECKED)")
SECTION = re.compile(r"/\* ---- (.*) ---- \*/$")
NOISE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\])*\"|'(?:\\.|[^'\\])'", re.DOTALL)


@dataclasses.dataclass
class Declaration:
    name: str
    comment: str
    code: str
    members: list  # names of what stands inside
    section: str = ""


@dataclasses.dataclass
class Header:
    about: str
    declarations: list


def without_noise(code):
    """Code without comments and strings, whose places are filled so that nothing moves."""
    return NOISE.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), code)


def comment_text(comment):
    """A comment's words: paragraphs are set apart by empty lines."""
    lines = []
    for line in comment.split("\n"):
        line = re.sub(r"^\s*(//|/\*|\*/|\*(?= |$))", "", line)
        lines.append(re.sub(r"\*/\s*$", "", line).strip())
    return "\n".join(lines).strip()


def is_complete(code):
    bare = without_noise(code).rstrip()
    if code.startswith("#"):
        return not code.rstrip().endswith("\\")
    return bare.count("{") == bare.count("}") and bare.count("(") == bare.count(")") and bare.endswith((";", "}"))


def name_of(code):
    """What a declaration declares."""
    bare = " ".join(without_noise(code).split())
    patterns = (r"^#define (\w+)", r"^(?:template <[^{;]*?> )?using (\w+)\s*=", r"^typedef [^;]*\(\*(\w+)\)",
                r"^typedef .*?(\w+);$", r"^(?:template <[^{;]*?> )?(?:class|struct|enum class|enum) (\w+)",
                r"\b(operator\S+?)\(", r"\b(\w+)\(", r"\b(\w+)\s*(?:=|\{|;)")
    return next(found[1] for pattern in patterns if (found := re.search(pattern, bare)))


def without_private(code):
    """A class without what only its own functions see."""
    found = re.search(r"\n private:\n", code)
    return code if not found else code[:found.start()].rstrip() + "\n" + re.search(r"\};?\s*$", code)[0]


def members_of(code):
    """Functions, variables and values that stand directly inside a struct, a class or an enum."""
    bare = without_noise(code)
    if "{" not in bare or not re.match(r"\s*(template <.*> )?(typedef )?(class|struct|enum)\b", bare):
        return []
    inside, depth = [], 0
    for sign in bare[bare.index("{") + 1:bare.rindex("}")]:
        depth += (sign in "{(") - (sign in "})")
        inside.append(sign if depth == 0 or (sign == "(" and depth == 1) else " ")
    inside = "".join(inside)
    if re.match(r"\s*enum\b", bare):
        return re.findall(r"(?:^|,)\s*(\w+)", inside)
    found = []
    for statement in re.split(r"[;}]|public:|protected:", inside):
        statement = re.sub(r"=(?!=).*", "", without_templates(re.sub(r"=[^,;]*(?=,)", "", statement)), flags=re.DOTALL)
        if re.search(r"\b(operator|using|friend|struct|class)\b", statement):
            continue
        if function := re.search(r"(~?\w+)\s*\(", statement):
            found += [function[1]] * (function[1][0] != "~")
        else:
            found += re.findall(r"(\w+)\s*(?=,|$)", statement.strip())
    return list(dict.fromkeys(found))


def without_templates(code):
    while (shorter := re.sub(r"<[^<>]*>", "", code)) != code:
        code = shorter
    return code


def read(text):
    """The declarations of a header, in order."""
    header, comment, code, section = Header("", []), [], [], ""
    in_comment = False
    for line in text.split("\n"):
        if not code:
            if in_comment or line.startswith(("//", "/*")):
                if found := SECTION.match(line):
                    section, comment = found[1], []
                    continue
                comment.append(line)
                in_comment = (in_comment or line.startswith("/*")) and "*/" not in line
                continue
            if not line.strip() or SKIPPED.match(line) or line == "}":
                if comment and not header.about and not header.declarations:
                    header.about = comment_text("\n".join(comment))
                    comment = []
                elif comment and not line.strip() and section:  # it speaks of what follows as a whole
                    header.declarations.append(Declaration("", comment_text("\n".join(comment)), "", [], section))
                    comment = []
                continue
        code.append(line)
        text_so_far = "\n".join(code)
        if is_complete(text_so_far):
            shown = without_private(text_so_far)
            header.declarations.append(Declaration(name_of(text_so_far), comment_text("\n".join(comment)), shown,
                                                   members_of(shown), section))
            comment, code = [], []
    return header
