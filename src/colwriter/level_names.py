"""What each repetition and definition level of a leaf stands for, in words (README.md, Nested Encoding)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from colwriter.metadata import ConvertedType, FieldRepetitionType, SchemaElement, leaf_levels

__all__ = ["LevelNames", "level_names"]

# Of a repeated group with these names, or "<name of the list>_tuple", old writers mean the element itself
# (LogicalTypes.md, Lists, Backward-compatibility rules).
_ELEMENT_NAMES = ("array",)

_Chain = Sequence[SchemaElement]


@dataclass(frozen=True, slots=True)
class LevelNames:
    """Names of the levels of one leaf: item i is level i."""

    path: str
    repetition: tuple[str, ...]
    definition: tuple[str, ...]


def level_names(schema: Sequence[SchemaElement]) -> list[LevelNames]:
    """The names for each leaf of a schema, in the order of the columns of a row group.

    A definition level says what is missing: "null list", "empty list", "null element", "null struct 'a'" and so on,
    with "at" and the path of the field where one leaf can miss the same at two depths; the largest is "value". A
    repetition level says what begins: "new row", or "next element of" the path of a list. Raises ``CorruptFileError``
    where the schema is not a tree.
    """
    return [_names(chain) for chain in _chains(schema)]


def _chains(schema: Sequence[SchemaElement]) -> Iterator[_Chain]:
    """The elements from below the root down to each leaf."""
    leaf_levels(schema)
    chain: list[SchemaElement] = []
    left = [schema[0].num_children or 0]  # children to come, of the root and of each group in the chain
    for element in schema[1:]:
        while left[-1] == 0:
            del left[-1], chain[-1]
        left[-1] -= 1
        chain.append(element)
        if element.type is None:
            left.append(element.num_children or 0)
        else:
            yield tuple(chain)
            chain.pop()


def _names(chain: _Chain) -> LevelNames:
    repetition = ["new row"]
    missing = []  # what a definition level misses, and where
    for depth, element in enumerate(chain):
        if element.repetition_type is FieldRepetitionType.OPTIONAL:
            missing.append((_null(chain[: depth + 1]), _path(chain[: depth + 1])))
        elif element.repetition_type is FieldRepetitionType.REPEATED:
            kind = _kind(chain[depth - 1]) if depth else ""
            owner = _path(chain[:depth] if kind else chain[: depth + 1])
            repetition.append(f"next {'entry' if kind == 'map' else 'element'} of {owner}")
            missing.append((f"empty {kind or 'list'}", owner))
    times = Counter(name for name, _ in missing)
    definition = [name if times[name] == 1 else f"{name} at {path}" for name, path in missing]
    return LevelNames(_path(chain), tuple(repetition), (*definition, "value"))


def _path(chain: _Chain) -> str:
    return ".".join(element.name for element in chain)


def _kind(element: SchemaElement) -> str:
    """Whether a group is a "list" or a "map"; otherwise empty."""
    logical = element.logicalType
    if (logical is not None and logical.LIST is not None) or element.converted_type is ConvertedType.LIST:
        return "list"
    if (logical is not None and logical.MAP is not None) or element.converted_type in (
        ConvertedType.MAP,
        ConvertedType.MAP_KEY_VALUE,
    ):
        return "map"
    return ""


def _null(chain: _Chain) -> str:
    """What the null of the last element of the chain, an optional one, is called."""
    element = chain[-1]
    if _kind(element):
        return f"null {_kind(element)}"
    if len(chain) > 2 and chain[-2].repetition_type is FieldRepetitionType.REPEATED:
        kind = _kind(chain[-3])
        if kind == "map":
            return "null map value"
        if kind == "list" and _is_wrapper(chain[-2], chain[-3]):
            return "null element"
    if element.type is None:
        return f"null struct '{element.name}'"
    return "null" if len(chain) == 1 else f"null field '{element.name}'"


def _is_wrapper(repeated: SchemaElement, owner: SchemaElement) -> bool:
    """Whether the repeated group of a list holds the element, and is not the element itself."""
    return repeated.num_children == 1 and repeated.name not in (*_ELEMENT_NAMES, f"{owner.name}_tuple")
