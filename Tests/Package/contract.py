#!/usr/bin/env python3
"""Reads objstore.h: every exported declaration has OBJSTORE_CHECKS with tokens that bad_arguments.md explains, every
token names a parameter, and every pointer parameter is in null() or nullable() or array() or is userdata. Every token
that is explained is used. The table of contents has the numbers and titles of the sections.

contract.py HEADER               prints a summary; exit 1 with a list of what is wrong
contract.py HEADER --swift FILE  also writes an implementation of every function in Swift, to compile against the
                                 header (a function the Swift importer cannot see then fails to compile)
"""

import pathlib
import re
import sys

EXPLANATIONS = pathlib.Path(__file__).with_name("bad_arguments.md")
BAR = r"={20,}"
HANDLES = {
    "objstore",
    *("objstore_" + n for n in "schema config view query results table sections values changes token bound".split()),
}


def split(text):
    """The items of a list separated by commas that are in no parentheses."""
    items, depth, item = [], 0, ""
    for character in text:
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            items.append(item.strip())
            item = ""
        else:
            item += character
    return [i for i in [*items, item.strip()] if i]


def declarations(header):
    """(name, result type, [(type, name)], [(token, [names])]) of each exported function."""
    text = re.sub(r"/\*.*?\*/", "", header, flags=re.DOTALL)
    text = re.sub(r"^[ ]*#(.*\\\n)*.*$", "", text, flags=re.MULTILINE)  # preprocessor lines, continued ones too
    text = re.sub(r"\s+", " ", text)
    for found in re.finditer(
        r"OBJSTORE_API (.*?)(objstore_\w+)\((.*?)\)(?: OBJSTORE_CHECKS\(((?:[^()]|\([^()]*\))*)\))?;", text
    ):
        result, name, parameters, checks = found.groups()
        pairs = [] if parameters == "void" else [re.match(r"(.*?[ *])(\w+)$", p).groups() for p in split(parameters)]
        tokens = []
        for token in split(checks or ""):
            word, _, arguments = token.partition("(")
            tokens.append((word, split(arguments.rstrip(")"))))
        yield name, result.strip(), [(t.strip(), n) for t, n in pairs], tokens


def explained(document):
    """The tokens in the first column of the table of bad_arguments.md."""
    return re.findall(r"^\| `(\w+)(?:\([^)]*\))?` \|", document, flags=re.MULTILINE)


def problems(name, parameters, tokens, explanations):
    known = {n for _, n in parameters}
    if not tokens:
        yield "no OBJSTORE_CHECKS"
    for word, arguments in tokens:
        if word not in explanations:
            yield f"unknown token {word}: {EXPLANATIONS.name} does not explain it"
        for argument in arguments:
            if argument not in known:
                yield f"{word}({argument}): no such parameter"
    named = {a for w, args in tokens if w in ("null", "nullable") for a in args} | {
        args[0] for w, args in tokens if w == "array"
    }
    closed = {a for w, args in tokens if w == "closed" for a in args}
    kinds = {a for w, args in tokens if w == "kind" for a in args}
    functions = ("objstore_free_userdata", "objstore_progress", "objstore_function")
    for type_, parameter in parameters:
        is_function = type_ in functions or type_.endswith(("_body", "_handler"))
        if ("*" in type_ or is_function) and parameter != "userdata" and parameter not in named:
            yield f"{parameter} is in neither null() nor nullable() nor array()"
        if type_.rstrip(" *") in HANDLES and type_.count("*") == 1 and not (parameter in closed and parameter in kinds):
            yield f"handle {parameter} is not in closed() and kind()"
    if closed != kinds:
        yield "closed() and kind() differ"


def vocabulary_problems(functions, explanations):
    used = {word for _, _, _, tokens in functions for word, _ in tokens}
    for word in explanations:
        if explanations.count(word) > 1:
            yield f"{word} is explained twice"
        if word not in used:
            yield f"{word} is explained, and no declaration uses it"


def contents_problems(header):
    """The table of contents ("Contents" on the first page) and the banners of the sections, and what refers to them."""
    page, _, rest = header.partition("#ifndef OBJSTORE_H")
    table = re.search(r"^ \*  Contents\n((?: \* +\d+\. .+\n)+)", page, flags=re.MULTILINE)
    listed = re.findall(r"^ \* +(\d+)\. (.+)$", table.group(1), flags=re.MULTILINE) if table else []
    sections = re.findall(rf"^/\* {BAR}\n \*  (\d+)\. (.+)$", rest, flags=re.MULTILINE)
    banners = len(re.findall(rf"^/\* {BAR}$", rest, flags=re.MULTILINE))
    if banners != len(sections) or not sections:
        yield f"{banners} banners, {len(sections)} with number and title"
    for number, title in listed:
        if (number, title) not in sections:
            yield f"the table of contents has {number}. {title}, and no section is called so"
    for place, (number, title) in enumerate(sections, 1):
        if (number, title) not in listed:
            yield f"section {number}. {title} is not in the table of contents"
        if int(number) != place:
            yield f"section {number}. {title} is number {place} in the file"
    if listed != sorted(listed, key=lambda line: int(line[0])):
        yield "the table of contents is not in order"
    for number in re.findall(r"\bsection (\d+)", header):
        if int(number) not in range(1, len(sections) + 1):
            yield f"there is no section {number}"


def swift_type(type_):
    simple = {
        "int32_t": "Int32",
        "uint32_t": "UInt32",
        "int64_t": "Int64",
        "uint64_t": "UInt64",
        "uint8_t": "UInt8",
        "size_t": "Int",
        "float": "Float",
        "double": "Double",
        "bool": "Bool",
        "char": "CChar",
        "void": "Void",
    }
    type_ = type_.replace("OBJSTORE_NONNULL", "").strip()
    if type_.endswith("*"):
        inner = type_[:-1].strip()
        if inner in HANDLES:
            return "OpaquePointer?"
        if inner == "void":
            return "UnsafeMutableRawPointer?"
        if inner == "const void":
            return "UnsafeRawPointer?"
        const = inner.startswith("const ") and "*" not in inner
        pointee = swift_type(inner.removeprefix("const ") if const else inner)
        return ("UnsafePointer<%s>?" if const else "UnsafeMutablePointer<%s>?") % pointee
    if type_ in ("objstore_free_userdata", "objstore_progress", "objstore_function") or type_.endswith(
        ("_body", "_handler")
    ):
        return type_ + "?"
    return simple.get(type_, type_)


def swift(functions):
    yield "public import CObjStore\n"
    for name, result, parameters, _ in functions:
        arguments = ", ".join(f"_ {n}: {swift_type(t)}" for t, n in parameters)
        result = swift_type(result).rstrip("?")
        yield f"@c @implementation public func {name}({arguments}) -> {result} {{ fatalError() }}\n"


def main():
    header = open(sys.argv[1], encoding="utf-8").read()
    functions = list(declarations(header))
    declared = len(re.findall(r"^OBJSTORE_API ", header, flags=re.MULTILINE))
    explanations = explained(EXPLANATIONS.read_text(encoding="utf-8"))
    wrong = [f"{f[0]}: {p}" for f in functions for p in problems(f[0], f[2], f[3], explanations)]
    wrong += [*vocabulary_problems(functions, explanations), *contents_problems(header)]
    if declared != len(functions):
        wrong.append(f"{declared} declarations, {len(functions)} understood")
    print(
        "\n".join(wrong)
        if wrong
        else f"{len(functions)} functions, {sum(len(a) or 1 for f in functions for _, a in f[3])} checks"
    )
    if "--swift" in sys.argv:
        with open(sys.argv[sys.argv.index("--swift") + 1], "w", encoding="utf-8") as out:
            out.writelines(swift(functions))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
