"""Declared parameters: a field states its type, limits, default and meaning.

    @declared("{} of class {name}")
    class DeadlineClass:
        '''Jobs that have the same time from submission to deadline.'''

        name: str = parameter("Name, a prefix of figures.")
        share: Fraction = parameter("Share of the jobs.")
        window_s: Positive | None = parameter("Seconds to the deadline.", default=None)

A function whose arguments have such types is `checked`. pydantic-core checks the
values; its errors become InputErrors of one line. Conditions on several fields
together are checked in `__post_init__`, by `require`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from functools import cache, wraps
from inspect import cleandoc, get_annotations, signature
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    TypeVar,
    Union,
    dataclass_transform,
    get_args,
    get_origin,
    get_type_hints,
)

from pydantic_core import (
    PydanticCustomError,
    SchemaValidator,
    ValidationError,
    core_schema,
)

from cgrsp_simpy.base.checks import (
    BILLION,
    InputError,
    nearest,
    python_number,
    shown,
)

T = TypeVar("T")
Called = TypeVar("Called", bound=Callable[..., Any])
Limit = Callable[[Any, Any], Any]
"""An annotation: from the schema of a type, and the type, to a narrower schema."""
LARGEST = 2**1023  # whole numbers far above it are no floating-point numbers
ROUNDED = {"gt": math.floor, "ge": math.ceil, "lt": math.ceil, "le": math.floor}
"""The limit of whole numbers that a limit of numbers means."""
PLAIN = {
    str: core_schema.str_schema(strict=True),
    bool: core_schema.bool_schema(strict=True),
    int: core_schema.int_schema(strict=True),
    Any: core_schema.any_schema(),
    object: core_schema.any_schema(),
    float: core_schema.custom_error_schema(
        core_schema.union_schema(
            [
                core_schema.int_schema(strict=True),
                core_schema.float_schema(strict=True),
            ],
            mode="left_to_right",
        ),
        "allowed",
        custom_error_message="a number",
    ),
}
ALLOWED = {
    "bool_type": "true or false",
    "callable_type": "a function",
    "dict_type": "a mapping",
    "int_type": "a whole number",
    "is_instance_of": "of type {class}",
    "string_type": "a string",
    "tuple_type": "a list",
}
"""Allowed values, by pydantic's type of error."""


# ---- what is allowed ----


def limits(allowed: str, *, infinite: bool = False, **bounds: float) -> Limit:
    """Return an annotation for a finite number within bounds, whole if its type is int.

    A bool or a string is not a number. allowed: what is allowed in words, for messages.
    infinite: whether infinity is also allowed. bounds: gt, ge, lt and le.
    """

    def apply(_: Any, hint: Any) -> Any:
        whole: Any = {name: ROUNDED[name](bound) for name, bound in bounds.items()}
        schema: Any = core_schema.int_schema(strict=True, **{"le": LARGEST, **whole})
        if hint is float:
            more: Any = {**bounds, "allow_inf_nan": infinite}
            real = core_schema.float_schema(strict=True, **more)
            # the int first: as a float it would become one
            schema = core_schema.union_schema([schema, real], mode="left_to_right")
        return core_schema.custom_error_schema(
            schema, "allowed", custom_error_message=allowed
        )

    return apply


def rule(
    allowed: str,
    fulfils: Callable[[Any], Any],
    here: Callable[[Any], object] | None = None,
) -> Limit:
    """Return an annotation for a value that must satisfy a condition.

    allowed: the condition in words. here: function of a wrong value whose result, such
    as its length, is added to the message.
    """

    def check(value: T) -> T:
        if not fulfils(value):
            words = f"{allowed} (here {here(value)})" if here else allowed
            raise PydanticCustomError("allowed", words)
        return value

    return lambda schema, _: core_schema.no_info_after_validator_function(check, schema)


def prepared(convert: Callable[[Any], Any]) -> Limit:
    """Return an annotation for a value that is converted before it is checked."""
    return lambda schema, _: core_schema.no_info_before_validator_function(
        convert, schema
    )


def from_text(read: Callable[[str], Any]) -> Limit:
    """Return an annotation for a value that a string, read by `read`, may describe."""
    return prepared(lambda value: read(value) if isinstance(value, str) else value)


def as_tuple(value: Any) -> Any:
    """Convert an iterable, except a string, to a tuple; return others unchanged."""
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return tuple(map(python_number, value))
    return value


def listed(allowed: str, number: int) -> Limit:
    """Return an annotation for a tuple of `number` entries; allowed: them in words."""

    def entries(value: Any) -> Any:
        values = as_tuple(value)
        if not isinstance(values, tuple):
            raise PydanticCustomError("allowed", allowed)
        if len(values) != number:
            raise PydanticCustomError("allowed", f"{allowed} (here {len(values)})")
        return values

    return prepared(entries)


Entries = Annotated[tuple[T, ...], prepared(as_tuple)]
Finite = Annotated[float, limits("a finite number")]
Positive = Annotated[float, limits("a number > 0", gt=0)]
NotNegative = Annotated[float, limits("a number >= 0", ge=0)]
AtLeastOne = Annotated[float, limits("a number >= 1", ge=1)]
# a load, rate or duration below which the clock could not resolve the time of a job
AtLeastAMillionth = Annotated[float, limits("a number >= 1e-06", ge=1e-6)]
UpToInfinity = Annotated[float, limits("a number >= 0", infinite=True, ge=0)]
Fraction = Annotated[float, limits("a number from 0 to 1", ge=0, le=1)]
PositiveFraction = Annotated[float, limits("a number > 0, at most 1", gt=0, le=1)]
Hour = Annotated[float, limits("an hour of day, from 0 to below 24", ge=0, lt=24)]
Whole = Annotated[int, limits("a whole number >= 0", ge=0)]
Count = Annotated[
    int, limits("a whole number >= 1, at most 1,000,000,000", ge=1, le=BILLION)
]
TwoOrMore = Annotated[
    int, limits("a whole number >= 2, at most 1,000,000,000", ge=2, le=BILLION)
]
sums_to_one = rule(
    "shares that sum to 1",
    lambda shares: abs(math.fsum(shares) - 1) < 1e-9,
    lambda shares: f"{math.fsum(shares):g}",
)
Shares = Annotated[Entries[Fraction], sums_to_one]


def schema_of(hint: Any) -> Any:
    """Return the pydantic-core schema of a type with its annotations."""
    origin, parts = get_origin(hint), get_args(hint)
    if origin is Annotated:
        schema = schema_of(parts[0])
        for apply in parts[1:]:
            schema = apply(schema, parts[0])
        return schema
    if origin in (Union, UnionType):
        choices: list[Any] = [schema_of(part) for part in parts if part is not NoneType]
        schema = core_schema.union_schema(choices, mode="left_to_right")
        return core_schema.nullable_schema(schema) if NoneType in parts else schema
    if origin is Literal:
        return core_schema.literal_schema(list(parts))
    if origin is tuple:
        variadic = 0 if parts[-1] is Ellipsis else None
        items = [schema_of(part) for part in parts if part is not Ellipsis]
        return core_schema.tuple_schema(items, variadic_item_index=variadic)
    if origin is Sequence:
        listing = core_schema.tuple_schema([schema_of(parts[0])], variadic_item_index=0)
        return prepared(as_tuple)(listing, hint)
    if origin is Mapping:
        return core_schema.dict_schema(*map(schema_of, parts))
    if origin is Callable:
        return core_schema.callable_schema()
    if hint in PLAIN:
        return PLAIN[hint]
    if isinstance(hint, type) and not (origin or getattr(hint, "_is_protocol", False)):
        return core_schema.is_instance_schema(hint)
    return core_schema.any_schema()


# ---- functions and classes of parameters ----


def checked(function: Called) -> Called:
    """Check the arguments of a function by its types, such as Count.

    Arguments of plain types other than bool are passed unchanged.
    """
    names = [*signature(function).parameters]

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        if len(args) > len(names) or not named.keys().isdisjoint(names[: len(args)]):
            return function(*args, **named)  # raises the usual TypeError
        return function(**validated(function, dict(zip(names, args), **named)))

    return call  # type: ignore[return-value]


def validated(
    owner: Any, values: dict[str, Any], label: str = "{}", every: bool = False
) -> dict[str, Any]:
    """Return the validated, converted parameters of a class or arguments of a function.

    label: as in `declared`. every: whether plain types other than bool are checked too.
    Raises InputError for the first value that is not allowed.
    """
    values = {name: python_number(value) for name, value in values.items()}
    try:
        kept: dict[str, Any] = _validator(owner, every).validate_python(values)
    except ValidationError as error:
        raise _refusal(error, owner, label, values) from None
    return kept


@cache
def _validator(owner: Any, every: bool) -> SchemaValidator:
    arguments = {
        name: core_schema.typed_dict_field(schema_of(hint), required=False)
        for name, hint in hints(owner).items()
        if (every or hint is bool or "Annotated" in str(hint)) and name != "return"
    }
    return SchemaValidator(
        core_schema.typed_dict_schema(arguments, extra_behavior="allow")
    )


@cache
def hints(owner: Any) -> dict[str, Any]:
    """Return the type hints of a function or class by name, with annotations.

    Those with unknown names, such as imports for type checkers only, are left out.
    """
    try:
        return get_type_hints(owner, include_extras=True)
    except NameError:
        types: dict[str, Any] = {}
    for part in reversed(getattr(owner, "__mro__", (owner,))):
        scope, module = getattr(part, "__globals__", None), part.__module__
        for name, hint in get_annotations(part).items():
            one = type(
                name, (), {"__annotations__": {name: hint}, "__module__": module}
            )
            with suppress(NameError):
                types |= get_type_hints(one, scope, include_extras=True)
    return types


def parameter(
    meaning: str,
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    metadata: Mapping[str, Any] = {},
    **how: bool | None,
) -> Any:
    """Declare a field of a declared class; metadata, how: see `dataclasses.field`."""
    options: Any = {"default": default, "default_factory": default_factory, **how}
    return field(**options, metadata={**metadata, "meaning": meaning})


def meanings(cls: Any) -> dict[str, str]:
    """Return the meaning per parameter of a declared class."""
    parameters = (item for item in fields(cls) if "meaning" in item.metadata)
    return {item.name: item.metadata["meaning"] for item in parameters}


@dataclass_transform(frozen_default=True, field_specifiers=(field, parameter))
def declared(label: str = "{}", eq: bool = True) -> Callable[[type[T]], type[T]]:
    """Return a decorator for a frozen dataclass that checks its declared parameters.

    label: format of a parameter's name in messages, with the object's values, such as
    "{} of class {name}". eq: whether objects are equal if their values are.
    """

    def decorate(cls: type[T]) -> type[T]:
        further = getattr(cls, "__post_init__", None)

        def __post_init__(self: Any) -> None:  # noqa: N807
            # not in __init__, which a dataclass that is derived from this replaces
            values = {name: getattr(self, name) for name in defaults}
            changed = {
                name: value
                for name, value in values.items()
                if value is not defaults[name]
            }
            for name, value in validated(cls, changed, label, every=True).items():
                object.__setattr__(self, name, value)
            if further:
                further(self)

        cls.__post_init__ = __post_init__  # type: ignore[attr-defined]
        cls = dataclass(frozen=True, eq=eq)(cls)
        parameters = [item for item in fields(cls) if item.init]  # type: ignore[arg-type]
        defaults = {item.name: item.default for item in parameters}
        cls.__doc__ = _documented(cls)
        return cls

    return decorate


def _documented(cls: Any) -> str:
    """Return the docstring of a class, with a Parameters section added."""
    entries = meanings(cls)
    # in the order of the signature
    items = sorted(fields(cls), key=lambda item: bool(item.kw_only))
    rows = [
        f"{item.name} : {item.type}\n    {entries[item.name]}"
        for item in items
        if item.name in entries
    ]
    head, *rest = re.split(r"\n\n(?=\w+\n---)", cleandoc(cls.__doc__ or ""))
    section = ["Parameters\n----------\n" + "\n".join(rows)] if rows else []
    return "\n\n".join([head, *section, *rest])


def _refusal(
    error: ValidationError, owner: Any, label: str, values: Mapping[str, Any]
) -> Exception:
    """Convert the first fault to an exception; the package's errors are unchanged."""
    faults: Any = error.errors()
    for fault in faults:
        raised = fault.get("ctx", {}).get("error")
        if isinstance(raised, Exception):
            return raised
    faults = [fault for fault in faults if fault["loc"][0] == faults[0]["loc"][0]]
    # a union gives a fault per alternative: those that lie deepest belong to the value
    depth = max(map(_depth, faults))
    faults = [fault for fault in faults if _depth(fault) == depth]
    name, *inner = faults[0]["loc"]
    entry = f"{name}{''.join(f'[{key}]' for key in inner if isinstance(key, int))}"
    known = set(re.findall(r"\{(\w+)\}", label)) <= values.keys() - {name}
    called = label.format(entry, **values) if known else f"{entry} of {owner.__name__}"
    value = faults[0]["input"]
    if faults[0]["type"] == "literal_error":
        allowed = ", ".join(options_of(hints(owner)[name]))
        return InputError(
            f"unknown {called} {shown(value)}{nearest(str(value), allowed.split(', '))}"
            f" (allowed: {allowed})"
        )
    words = dict.fromkeys(
        ALLOWED.get(fault["type"], fault["msg"]).format(**fault.get("ctx", {}))
        for fault in faults
    )
    in_unit = unit(name, owner)
    written = bool(in_unit) and isinstance(value, str)
    hint = f"; write only the number, in {in_unit}" if written else ""
    return InputError(f"{called}(={shown(value)}) must be {' or '.join(words)}{hint}")


UNITS = {"usd": "USD", "gb": "GB", "mb": "MB", "tflops": "TFLOPS"}
UNIT = "(?:usd|gb|mb|tflops|ms|s|min|h|day|month)"


def unit(name: str, owner: Any = None) -> str:
    """Return the unit in a parameter's name: "USD per h" for "price_usd_per_h".

    owner: class that declares the parameter, maybe with a unit in its metadata.
    """
    for item in fields(owner) if is_dataclass(owner) else ():
        if item.name == name and "unit" in item.metadata:
            return str(item.metadata["unit"])
    words = re.search(rf"((^|_)({UNIT}))?((^|_)per(_{UNIT})+)?$", name)
    assert words is not None
    return " ".join(UNITS.get(word, word) for word in words[0].split("_")).strip()


def _depth(fault: Mapping[str, Any]) -> int:
    return sum(isinstance(key, int) for key in fault["loc"])


def options_of(hint: Any) -> list[str]:
    """Return the strings that a type allows if it is a Literal or contains one."""
    if get_origin(hint) is Literal:
        return [str(value) for value in get_args(hint)]
    return [text for part in get_args(hint) for text in options_of(part)]
