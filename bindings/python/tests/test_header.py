"""prototypes.py and structures.py say exactly what include/objstore.h says."""

import ctypes
import importlib.util
import pathlib
import re
import sys

import pytest

from objstore import errors
from objstore.building import outcomes
from objstore.json import json_options
from objstore.models import nodes
from objstore.native import ffi, prototypes, structures
from objstore.observing import changes, delivery, sides, tokens, typed_functions
from objstore.opening import config, file_checks
from objstore.queries import aggregates, plans
from objstore.reading import packed_rows
from objstore.schema import declaration
from objstore.stores import store_info
from objstore.values import kinds

ROOT = pathlib.Path(__file__).resolve().parents[3]
HEADER = (ROOT / "include" / "objstore.h").read_text(encoding="utf-8")
PLAIN = re.sub(r"/\*.*?\*/", "", HEADER, flags=re.DOTALL)


def contract():
    spec = importlib.util.spec_from_file_location("contract", ROOT / "Tests" / "Package" / "contract.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


DECLARATIONS = {name: (result, parameters) for name, result, parameters, _ in contract().declarations(HEADER)}
ENUMERATIONS = re.findall(r"OBJSTORE_ENUM\((\w+)\) \{(.*?)\}", PLAIN, re.DOTALL)
CONSTANTS = {
    n: int(v, 0)
    for n, v in re.findall(r"\b(OBJSTORE_[A-Z0-9_]+) = (-?0x[0-9A-F]+|-?\d+)", PLAIN)
    + re.findall(r"#define (OBJSTORE_\w+) (\d+)", PLAIN)
}
BY_VALUE = {
    "objstore_text": "T",
    "objstore_value": "V",
    "objstore_object": "O",
    "objstore_decimal128": "D",
    "objstore_collection": "C",
    "objstore_object_id": "I",
    "objstore_uuid": "U",
}
RESULTS = {
    "objstore_status": ctypes.c_int32,
    "uint32_t": ctypes.c_uint32,
    "const char *": ctypes.c_char_p,
    "void": None,
}
MEMBERS = {
    "uint8_t": ctypes.c_uint8,
    "uint32_t": ctypes.c_uint32,
    "int32_t": ctypes.c_int32,
    "uint64_t": ctypes.c_uint64,
    "int64_t": ctypes.c_int64,
    "size_t": ctypes.c_size_t,
    "bool": ctypes.c_bool,
    "char": ctypes.c_char,
    "float": ctypes.c_float,
    "double": ctypes.c_double,
    "objstore_class_id": ctypes.c_uint32,
    "objstore_property_id": ctypes.c_uint32,
    "objstore_index_id": ctypes.c_uint32,
} | {"objstore_" + e: ctypes.c_int32 for e in ("kind", "mode", "status", "pin_holder", "report_kind")}


def structure(c_name):
    return getattr(structures, "".join(word.capitalize() for word in c_name.removeprefix("objstore_").split("_")))


def letter(type_):
    if "*" in type_ or type_ not in BY_VALUE:
        assert type_ not in ("double", "float"), "does not cross as a word"
        return "w"
    return BY_VALUE[type_]


def test_every_prototype():
    expected = {name: "".join(letter(t) for t, _ in parameters) for name, (_, parameters) in DECLARATIONS.items()}
    assert prototypes.PROTOTYPES == expected


def test_every_result():
    for name, (result, _) in DECLARATIONS.items():
        wanted = RESULTS[re.sub(r"OBJSTORE_NONNULL", "", result).strip()]
        assert prototypes.RESULTS.get(name, ctypes.c_int32) is wanted, name
    assert set(prototypes.RESULTS) <= set(DECLARATIONS)
    assert prototypes.SHORT <= set(DECLARATIONS)


def test_the_library_has_what_the_package_binds():
    package = pathlib.Path(ffi.__file__).parents[1]
    names = {
        n for file in package.rglob("*.py") for n in re.findall(r'bind\("(\w+)"\)', file.read_text(encoding="utf-8"))
    }
    assert len(names) > 50
    for name in names:
        ffi.bind(name)


def fields_in_header(body):
    for type_, names in re.findall(r"((?:const )?\w+(?: \*OBJSTORE_NULLABLE)?) ([^;]+);", body):
        for name in names.split(","):
            name, _, length = name.strip().partition("[")
            yield name, type_, int(length.rstrip("]")) if length else None


def expected_type(type_, length):
    if "*" in type_:
        return ctypes.c_void_p
    element = MEMBERS.get(type_) or structure(type_)
    return element if length is None else element * length


STRUCTURES = {
    name: body
    for body, name in re.findall(r"typedef struct (?:objstore_\w+ )?\{((?:[^{}]|\{[^{}]*\})*)\} (\w+);", PLAIN)
}


@pytest.mark.parametrize("name", STRUCTURES)
def test_every_structure(name):
    body = STRUCTURES[name]
    if name == "objstore_value":
        union = re.search(r"union objstore_value_data \{(.*?)\} data;", body, re.DOTALL)[1]
        expected = [(n, expected_type(t, length)) for n, t, length in fields_in_header(union)]
        assert structures.ValueData._fields_ == expected
        assert ctypes.sizeof(structures.Value) == 40 and structures.Value.data.offset == 8
        return
    expected = [(n, expected_type(t, length)) for n, t, length in fields_in_header(body)]
    assert structure(name)._fields_ == expected


def test_no_structure_is_forgotten():
    ours = {
        t
        for t in vars(structures).values()
        if isinstance(t, type) and issubclass(t, ctypes.Structure) and t is not ctypes.Structure
    }
    assert ours == {structure(name) for name in STRUCTURES} | {structures.ArrowArrayStream}
    assert len(STRUCTURES) == len(re.findall(r"typedef struct (?:objstore_\w+ )?\{", PLAIN)) > 20


def test_nodes_of_queries():
    """Python writes them as bytes."""
    assert ctypes.sizeof(structures.QueryNode) == nodes.SIZE
    made = structures.QueryNode.from_buffer_copy(nodes.node(nodes.SORT_KEY, 3, 2, 1, number=-4))
    found = made.kind, made.operands, made.choice, made.modifiers, made.number, made.value.kind
    assert found == (nodes.SORT_KEY, 3, 2, 1, -4, 0)
    made = structures.QueryNode.from_buffer_copy(nodes.property_of("näme"))
    assert (made.kind, made.operands, ffi.string(made.value.data.text)) == (nodes.PROPERTY, 1, "näme")


def test_callbacks():
    found = dict(re.findall(r"typedef \w+ \(\*(objstore_\w+)\)\(([^;]*)\);", PLAIN))
    ours = {
        "objstore_free_userdata": structures.FreeUserdata,
        "objstore_progress": structures.Progress,
        "objstore_report": structures.Report,
        "objstore_json_write": structures.JSONWrite,
        "objstore_section_key": structures.SectionKey,
        "objstore_json_read": structures.JSONRead,
        "objstore_json_convert": structures.JSONConvert,
        "objstore_log_handler": structures.LogHandler,
        "objstore_write_body": structures.WriteBody,
        "objstore_completion": structures.Completion,
        "objstore_ready": structures.Ready,
        "objstore_change_handler": structures.ChangeHandler,
        "objstore_function": structures.Function,
        "objstore_initial_data": structures.InitialData,
        "objstore_compaction": structures.Compaction,
        "objstore_migration": structures.Migration,
        "objstore_wait_handler": structures.WaitHandler,
        "objstore_comparator": structures.Comparator,
        "objstore_plain_comparator": structures.PlainComparator,
    }
    assert set(found) == set(ours)
    for name, parameters in found.items():
        count = 0 if parameters == "void" else parameters.count(",") + 1
        assert len(ours[name]._argtypes_) == count, name


def test_every_status():
    expected = {
        n.removeprefix("OBJSTORE_").removeprefix("ERR_"): v
        for n, v in CONSTANTS.items()
        if n == "OBJSTORE_OK" or n.startswith("OBJSTORE_ERR_")
    }
    assert expected == {s.name: s.value for s in errors.Status}


@pytest.mark.parametrize(
    "prefix, ours",
    [
        (
            "KIND",
            {
                n: getattr(kinds, n)
                for n in "NULL BOOL INT FLOAT DOUBLE STRING BINARY TIMESTAMP OBJECT_ID UUID LIST SET MAP".split()
            },
        ),
        ("POLICY", outcomes.POLICIES),
        ("OUTCOME", {n: getattr(outcomes, n) for n in "UNCHANGED CHANGED CREATED".split()}),
        ("MODE", config.MODES),
        ("CREATION", config.CREATIONS),
        ("REPORT", file_checks.KINDS),
        ("DURABILITY", config.DURABILITIES),
        ("LIMIT", config.LIMITS | {"versions": config.VERSIONS}),
        ("CONFIG", {"EXCLUSIVE": config.EXCLUSIVE, "WITHOUT_LOG": config.WITHOUT_LOG}),
        ("PROPERTY", {n: getattr(declaration, n) for n in "PRIMARY_KEY INDEXED NULLABLE COUNTER FULL_TEXT".split()}),
        ("PACKED", {"MAGIC": packed_rows.MAGIC}),
        ("PIN", {name: number for number, name in store_info.HOLDERS.items()}),
        (
            "AGGREGATE",
            {{"min": "MINIMUM", "max": "MAXIMUM", "avg": "AVERAGE"}.get(n, n): v for n, v in aggregates.KINDS.items()},
        ),
        ("EXPLAIN", {"RUN": plans.RUN, "JSON": plans.JSON}),
        ("OBSERVE", {"INITIAL": tokens.INITIAL}),
        ("TYPED", {"DELETIONS": typed_functions.DELETIONS_TOO}),
        ("JSON", {n: getattr(json_options, n) for n in "EXTENDED RELAXED PRETTY NAN_AS_NULL".split()}),
        (
            "CHANGES",
            {n: getattr(changes, n) for n in "INITIAL OTHER_PROCESS COMPARED OWNER_DELETED CLEARED LOST".split()},
        ),
        (
            "",
            {
                n: getattr(changes, n)
                for n in "DELETIONS INSERTIONS MODIFICATIONS MODIFICATIONS_AFTER MOVES MOVES_AFTER".split()
            },
        ),
        ("", {n: getattr(sides, n) for n in "BEFORE AFTER".split()}),
        ("", {"USER_STATUS": delivery.FAILED, "FOREVER": delivery.FOREVER}),
        (
            "QUERY",
            {
                n: getattr(nodes, n)
                for n in (
                    "TRUTH AND OR NOT COMPARE CONSTANT LIST ARITHMETIC VARIABLE PROPERTY ELEMENT KEY COUNT AGGREGATE "
                    "QUANTIFIED SORT_KEY SORT DISTINCT LIMIT OFFSET WHOLE"
                ).split()
            },
        ),
        (
            "",
            {
                n: getattr(nodes, n)
                for n in (
                    "EQUAL NOT_EQUAL LESS LESS_EQUAL GREATER GREATER_EQUAL IN BETWEEN BEGINS_WITH ENDS_WITH CONTAINS "
                    "LIKE FULL_TEXT ADD SUBTRACT MULTIPLY DIVIDE NEGATE ANY ALL NONE PLACE_AT ASCENDING DESCENDING "
                    "IGNORES_CASE IGNORES_ACCENTS"
                ).split()
            },
        ),
        ("AGGREGATE", {n: getattr(nodes, n) for n in "SUM MINIMUM MAXIMUM AVERAGE".split()}),
    ],
)
def test_constants(prefix, ours):
    assert ours
    for name, value in ours.items():
        full = "_".join(filter(None, ("OBJSTORE", prefix, name.upper().replace("-", "_"))))
        assert CONSTANTS[full] == value


def test_statistics_are_complete():
    ours = list(store_info.Statistics.__dataclass_fields__)
    assert ours == [n for n, _ in structures.Statistics._fields_ if n not in ("struct_size", "reserved")]


def test_numbers_cross_as_the_header_of_this_machine_has_them():
    assert sys.byteorder == "little" and ctypes.sizeof(ctypes.c_void_p) == 8


def test_every_status_has_its_name():
    statuses = {
        name: value
        for name, value in CONSTANTS.items()
        if name in ("OBJSTORE_OK", "OBJSTORE_USER_STATUS") or name.startswith("OBJSTORE_ERR_")
    }
    assert len(statuses) > 50
    name_of = ffi.bind("objstore_status_name")
    assert {name: name_of(value).decode() for name, value in statuses.items()} == {name: name for name in statuses}
