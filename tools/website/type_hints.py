"""The Python module's reference: the signatures in its type hints, and the descriptions that help() shows, which are in
the native module's sources and in the package."""

import ast
import re

LITERAL = r'R"\((?P<raw>.*?)\)"|"(?P<plain>(?:\\.|[^"\\])*)"'


def text_of(literals):
    """What neighbouring C++ string literals spell."""
    return "".join(found["raw"] if found["raw"] is not None else re.sub(r"\\(.)", r"\1", found["plain"].replace("\\n", "\n"))
                   for found in re.finditer(LITERAL, literals, re.DOTALL))


def arguments_of(code, at):
    """The arguments of a call whose parenthesis opens before `at`."""
    found, depth, begin = [], 0, at
    signs = re.compile(rf"{LITERAL}|//[^\n]*|[()\[\]{{}},]", re.DOTALL)
    for sign in signs.finditer(code, at):
        if sign[0] in "([{":
            depth += 1
        elif sign[0] in ")]}":
            if depth == 0:
                return [*found, code[begin:sign.start()].strip()]
            depth -= 1
        elif sign[0] == "," and depth == 0:
            found.append(code[begin:sign.start()].strip())
            begin = sign.end()
    raise ValueError("a call does not end")


def native_descriptions(code):
    """{(class or "", name): description} of pybind11's declarations in a source file."""
    constants = {found[1]: text_of(found[2]) for found in
                 re.finditer(rf"constexpr const char\* (\w+) =\s*((?:(?:{LITERAL})\s*)+);", code, re.DOTALL)}
    found, owner = {}, ""
    kinds = r"class_<[\w:, <>]+>(?: \w+)?|module\.def|\.def(?:_\w+)?|add_(?P<method>gradients|forward|attention)(?:_of_text)?"
    for call in re.finditer(rf"(?P<kind>{kinds})\(", code):
        arguments = arguments_of(code, call.end())
        if call["method"]:  # which classes have in common
            found[owner, call["method"]] = constants[arguments[1]]
            continue
        texts = [constants.get(argument) or text_of(argument) for argument in arguments
                 if argument in constants or re.fullmatch(rf"(?:(?:{LITERAL})\s*)+", argument, re.DOTALL)]
        if not texts:
            continue
        if call["kind"].startswith("class_"):
            owner = texts[0]
        key = ("", texts[0]) if call["kind"].startswith(("class_", "module")) else (owner, texts[0])
        if len(texts) > 1:
            found[key] = texts[1]
    exceptions = dict(re.findall(r'exception<\w+> (\w+)\(module, "(\w+)"', code))
    for variable, constant in re.findall(r"(\w+)\.doc\(\) = (\w+);", code):
        found["", exceptions[variable]] = constants[constant]
    return found


def package_descriptions(code):
    """{(class or "", name): description} of what the package itself defines; that of the package has no names."""
    tree = ast.parse(code)
    found = {("", ""): ast.get_docstring(tree) or ""}
    for node in tree.body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef)):
            found["", node.name] = ast.get_docstring(node) or ""
        if isinstance(node, ast.ClassDef):
            found |= {(node.name, member.name): ast.get_docstring(member) or "" for member in node.body
                      if isinstance(member, ast.FunctionDef)}
        for decorator in getattr(node, "decorator_list", []):
            if isinstance(decorator, ast.Call):  # @_method_of(Generator) def _chat
                found[decorator.args[0].id, node.name.lstrip("_")] = ast.get_docstring(node) or ""
        if isinstance(node, ast.Assign) and isinstance(target := node.targets[0], ast.Attribute):
            # Encoder.similarity = staticmethod(similarity)
            functions = [part.id for part in ast.walk(node.value) if isinstance(part, ast.Name) and ("", part.id) in found]
            found |= {(target.value.id, target.attr): found["", name] for name in functions}
    return found


def read(hints, package, sources):
    """(what the module says of itself, [(name, description, code, members)]) of the module's public names."""
    described = package_descriptions(package)
    for source in sources:
        described |= native_descriptions(source)
    lines, found = hints.split("\n"), {}
    for node in ast.parse(hints).body:
        if not isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AnnAssign, ast.Assign)):
            continue
        target = node.target if isinstance(node, ast.AnnAssign) else node.targets[0] if isinstance(node, ast.Assign) else None
        name = target.id if target is not None else node.name
        first = min([node.lineno, *(one.lineno for one in getattr(node, "decorator_list", []))])
        code = re.sub(r"  # type: ignore.*", "", "\n".join(lines[first - 1:node.end_lineno]))
        if not isinstance(node, ast.ClassDef):
            found[name] = (name, described.get(("", name), ""), code, [])
            continue
        members = list(dict.fromkeys(one.target.id if isinstance(one, ast.AnnAssign) else one.name for one in node.body
                                     if isinstance(one, (ast.AnnAssign, ast.FunctionDef))))
        notes = [(member, described.get((name, member), "")) for member in members if member != "__init__"]
        found[name] = (name, described.get(("", name), ""), code, notes)
    return described["", ""], list(found.values())
