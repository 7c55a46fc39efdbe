"""Parameters that are declared once, at the field: type, limits, default and meaning.

    @declared("{} of class {name}")
    class DeadlineClass:
        '''Jobs that have the same time from submission to deadline.'''

        name: str = parameter("Figures of the class begin with it.")
        share: Fraction = parameter("Share of the jobs.")
        window_s: Positive | None = parameter("Seconds to the deadline.", default=None)

pydantic checks the values. Its errors become InputErrors of one line. What several
fields must fulfil together is checked in `__post_init__`, by `require`.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, dataclass, field, fields, make_dataclass
from functools import cache, wraps
from inspect import cleandoc, signature
from typing import (
    Annotated,
    Any,
    TypeVar,
    dataclass_transform,
    get_args,
    get_type_hints,
)

from pydantic import (
    AfterValidator,
    BeforeValidator,
    ConfigDict,
    TypeAdapter,
    ValidationError,
)
from pydantic_core import ArgsKwargs, CoreSchema, PydanticCustomError, core_schema

from cgrsp_simpy.base.checks import (
    BILLION,
    InputError,
    nearest,
    python_number,
    shown,
)

T = TypeVar("T")
Called = TypeVar("Called", bound=Callable[..., Any])
CONFIG = ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=True)
LARGEST = 2**1023  # whole numbers far above it are no floating-point numbers
ROUNDED = {"gt": math.floor, "ge": math.ceil, "lt": math.ceil, "le": math.floor}
"""The limit of whole numbers that a limit of numbers means."""
ALLOWED = {
    "bool_type": "true or false",
    "dataclass_exact_type": "of type {class_name}",
    "int_type": "a whole number",
    "is_instance_of": "of type {class}",
    "string_type": "a text",
    "tuple_type": "a list",
}
"""What a value must be, by pydantic's type of error."""


# ---- what is allowed ----


class Limits:
    """Annotation of a number: finite, within limits, and whole if its type is int.

    An int stays an int, and a float a float. A bool or a text is not a number.

    allowed: in words, for messages. infinite: whether infinity is allowed, too. limits:
    gt, ge, lt and le.
    """

    def __init__(
        self, allowed: str, *, infinite: bool = False, **limits: float
    ) -> None:
        self._allowed = allowed
        self._infinite = infinite
        self._limits = limits

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        limits: Any = self._limits
        whole: Any = {name: ROUNDED[name](limit) for name, limit in limits.items()}
        schema: Any = core_schema.int_schema(strict=True, **{"le": LARGEST, **whole})
        if source is float:
            real = core_schema.float_schema(
                strict=True, allow_inf_nan=self._infinite, **limits
            )
            # the int first: as a float it would become one
            schema = core_schema.union_schema([schema, real], mode="left_to_right")
        return core_schema.custom_error_schema(
            schema, "allowed", custom_error_message=self._allowed
        )

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        whole = schema["schema"]["type"] == "int"
        plain: Any = core_schema.int_schema if whole else core_schema.float_schema
        return handler(plain(**self._limits))


def rule(
    allowed: str,
    fulfils: Callable[[Any], Any],
    here: Callable[[Any], object] | None = None,
) -> AfterValidator:
    """Annotation of a value that must fulfil a condition.

    allowed: the condition in words. here: what a message adds of a wrong value, such as
    its length.
    """

    def check(value: T) -> T:
        if not fulfils(value):
            words = f"{allowed} (here {here(value)})" if here else allowed
            raise PydanticCustomError("allowed", words)
        return value

    return AfterValidator(check)


def as_tuple(value: Any) -> Any:
    """Return a tuple of what can be iterated, except a text, and else the value."""
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return tuple(map(python_number, value))
    return value


def listed(allowed: str, number: int) -> BeforeValidator:
    """Annotation of a tuple of a number of entries; allowed: these, in words."""

    def entries(value: Any) -> Any:
        values = as_tuple(value)
        if not isinstance(values, tuple):
            raise PydanticCustomError("allowed", allowed)
        if len(values) != number:
            raise PydanticCustomError("allowed", f"{allowed} (here {len(values)})")
        return values

    return BeforeValidator(entries)


LISTED = BeforeValidator(as_tuple)
Entries = Annotated[tuple[T, ...], LISTED]
Finite = Annotated[float, Limits("a finite number")]
Positive = Annotated[float, Limits("a number > 0", gt=0)]
NotNegative = Annotated[float, Limits("a number >= 0", ge=0)]
UpToInfinity = Annotated[float, Limits("a number >= 0", infinite=True, ge=0)]
Fraction = Annotated[float, Limits("a number from 0 to 1", ge=0, le=1)]
Hour = Annotated[float, Limits("an hour of day, from 0 to below 24", ge=0, lt=24)]
Whole = Annotated[int, Limits("a whole number >= 0", ge=0)]
Count = Annotated[
    int, Limits("a whole number >= 1, at most 1,000,000,000", ge=1, le=BILLION)
]
sums_to_one = rule(
    "shares that sum to 1",
    lambda shares: abs(math.fsum(shares) - 1) < 1e-9,
    lambda shares: f"{math.fsum(shares):g}",
)
Shares = Annotated[Entries[Fraction], sums_to_one]


# ---- classes of parameters ----


def parameter(
    meaning: str,
    *,
    default: Any = MISSING,
    default_factory: Any = MISSING,
    **how: bool | None,
) -> Any:
    """Declare a field of a declared class, with its meaning in words.

    how: repr, compare and hash, as of `dataclasses.field`.
    """
    options: Any = {"default": default, "default_factory": default_factory, **how}
    return field(**options, metadata={"description": meaning})


def meanings(cls: Any) -> dict[str, str]:
    """Return the meaning per parameter of a declared class."""
    parameters = (item for item in fields(cls) if "description" in item.metadata)
    return {item.name: item.metadata["description"] for item in parameters}


@cache
def hints(cls: type) -> dict[str, Any]:
    """Return the type per field of a declared class, with its annotations."""
    return get_type_hints(cls, include_extras=True)


@dataclass_transform(frozen_default=True, field_specifiers=(field, parameter))
def declared(label: str = "{}", eq: bool = True) -> Callable[[type[T]], type[T]]:
    """Make a frozen dataclass whose parameters are checked as they are declared.

    label: what messages call a parameter, from its name and the object's values, such
    as "{} of class {name}". eq: whether objects are equal if their values are.
    """

    def decorate(cls: type[T]) -> type[T]:
        declared_class: Any = dataclass(frozen=True, eq=eq)(cls)
        init = declared_class.__init__

        @cache
        def checks() -> Any:
            return TypeAdapter(declared_class).validator

        @wraps(init)
        def checked_init(self: Any, /, *args: Any, **named: Any) -> None:
            args = tuple(map(python_number, args))
            named = {name: python_number(value) for name, value in named.items()}
            try:
                checks().validate_python(ArgsKwargs(args, named), self_instance=self)
            except ValidationError as error:
                # arguments that do not fit the signature raise the usual TypeError
                values = signature(init).bind(self, *args, **named).arguments
                raise _refusal(error, declared_class, label, values) from None

        declared_class.__init__ = checked_init
        declared_class.__pydantic_config__ = CONFIG
        declared_class.__doc__ = _documented(declared_class)
        return declared_class  # type: ignore[no-any-return]

    return decorate


def checked(function: Called) -> Called:
    """Check the arguments of a function whose types say what is allowed, such as Count.

    Arguments of plain types are passed as they are.
    """
    called = signature(function)

    @cache
    def arguments() -> Any:
        """A declared class that has the arguments to check as parameters."""
        types = get_type_hints(function, include_extras=True)
        limited = [
            (name, types[name], field(default=None))
            for name in called.parameters
            if "Annotated" in str(types.get(name))
        ]
        return declared()(make_dataclass(function.__name__, limited))

    @wraps(function)
    def call(*args: Any, **named: Any) -> Any:
        bound = called.bind(*args, **named)
        names = [
            item.name for item in fields(arguments()) if item.name in bound.arguments
        ]
        values = arguments()(**{name: bound.arguments[name] for name in names})
        bound.arguments.update({name: getattr(values, name) for name in names})
        return function(*bound.args, **bound.kwargs)

    return call  # type: ignore[return-value]


def _documented(cls: Any) -> str:
    """The docstring of a class with a section of its parameters."""
    entries = meanings(cls)
    types = {item.name: item.type for item in fields(cls)}
    listed = [f"{name} : {types[name]}\n    {text}" for name, text in entries.items()]
    head, *rest = re.split(r"\n\n(?=\w+\n---)", cleandoc(cls.__doc__ or ""), maxsplit=1)
    section = ["Parameters\n----------\n" + "\n".join(listed)] if listed else []
    return "\n\n".join([head, *section, *rest])


def _refusal(
    error: ValidationError, cls: Any, label: str, values: Mapping[str, Any]
) -> Exception:
    """The first fault as an exception; what a check of ours raised stays as it is."""
    faults: Any = error.errors(include_url=False)
    for fault in faults:
        if isinstance(raised := fault.get("ctx", {}).get("error"), Exception):
            return raised
    faults = [fault for fault in faults if fault["loc"][0] == faults[0]["loc"][0]]
    # a union gives a fault per alternative: those that lie deepest belong to the value
    depth = max(map(_depth, faults))
    faults = [fault for fault in faults if _depth(fault) == depth]
    place, *inner = faults[0]["loc"]
    name = fields(cls)[place].name if isinstance(place, int) else place
    entry = "".join(f"[{key}]" for key in inner if isinstance(key, int))
    wanted = set(re.findall(r"\{(\w+)\}", label))
    called = f"{name}{entry} of {cls.__name__}" if name in wanted else f"{name}{entry}"
    if wanted <= values.keys() - {name}:
        called = label.format(f"{name}{entry}", **values)
    value = faults[0]["input"]
    if faults[0]["type"] == "literal_error":
        allowed = ", ".join(map(str, _options(hints(cls)[name])))
        return InputError(
            f"unknown {called} {value!r}{nearest(str(value), allowed.split(', '))}"
            f" (allowed: {allowed})"
        )
    words = dict.fromkeys(map(_allowed, faults))
    return InputError(f"{called}(={shown(value)}) must be {' or '.join(words)}")


def _depth(fault: Mapping[str, Any]) -> int:
    return sum(isinstance(key, int) for key in fault["loc"])


def _allowed(fault: Mapping[str, Any]) -> str:
    """What is allowed in place of a wrong value, in words."""
    allowed: str = ALLOWED.get(fault["type"], fault["msg"])
    return allowed.format(**fault.get("ctx", {}))


def _options(hint: Any) -> list[Any]:
    """The values of the Literal in a type."""
    parts = get_args(hint)
    return [value for part in parts for value in _options(part) or [part]]
