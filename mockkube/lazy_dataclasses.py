"""Dataclasses whose methods are compiled when they are needed, not while their module is imported.

`dataclass` takes the arguments of `dataclasses.dataclass` and makes the same classes: `fields`, `replace`, `asdict`,
pickling and subclassing work as ever. The standard decorator compiles five or six methods of each class, and classes
are many: that was a quarter of the start of an API server, a third with all components, for methods of which most are
never called. The first instances of a class are initialized without a compiled method, because many classes have few.
"""

import dataclasses
from collections.abc import Callable, Iterable, Sequence
from dataclasses import MISSING, Field, FrozenInstanceError
from reprlib import recursive_repr
from typing import TYPE_CHECKING, Any, Final

__all__ = ["dataclass"]

Method = Callable[..., Any]
# Default of a parameter whose field has a factory.
_ABSENT: Final = object()
_FIELDS: Final = "__dataclass_fields__"
# Instances of a class until its `__init__` is compiled, which takes as long as setting the fields of this many.
_UNCOMPILED_MAX: Final = 30
_INITIALIZER: Final = "__lazy_initializer__"
# What few classes use is left to the standard decorator.
_STANDARD_OPTIONS: Final = ("init", "order", "unsafe_hash")
# Methods that a class may define itself.
_METHODS: Final = frozenset(("__init__", "__repr__", "__eq__", "__hash__", "__getstate__", "__setstate__"))


def _make_dataclass(cls: type[Any] | None = None, /, **options: Any) -> Any:
    """Make a dataclass, as `dataclasses.dataclass` does."""
    if cls is None:
        return lambda decorated: _make_dataclass(decorated, **options)
    # Fields of base classes and InitVars are left to it, too.
    has_bases = any(map(dataclasses.is_dataclass, cls.__mro__[1:]))
    if has_bases or any(name in options for name in _STANDARD_OPTIONS):
        return dataclasses.dataclass(**options)(cls)
    return _make_lazily(cls, **options)


# To type checkers, it is the standard decorator.
if TYPE_CHECKING:
    from dataclasses import dataclass
else:
    dataclass = _make_dataclass


def _make_lazily(
    cls: type[Any],
    *,
    frozen: bool = False,
    repr: bool = True,  # noqa: A002 - the name that the standard decorator gives it
    eq: bool = True,
    **options: Any,
) -> type[Any]:
    """Let the standard decorator find the fields, and add methods that are shared or compiled when called."""
    own = vars(cls)
    given = _METHODS & own.keys()
    if own.get("__hash__", ...) is None and "__eq__" in given:
        given -= {"__hash__"}  # Python has set it, because the class has an __eq__
    if cls.__doc__ is None:
        cls.__doc__ = ""  # else the standard decorator would derive one from the signature, which is slow
    cls = dataclasses.dataclass(init=False, repr=False, eq=False, **options)(cls)
    methods: dict[str, Any] = {"__init__": _init_lazily}
    if repr:
        methods["__repr__"] = _represent
    if eq:
        methods["__eq__"] = _equals_lazily
        methods["__hash__"] = _hash_lazily if frozen else None
    if frozen:
        methods |= {"__setattr__": _refuse_assignment, "__delattr__": _refuse_deletion}
        if options.get("slots"):
            methods |= {"__getstate__": _get_state, "__setstate__": _set_state}
        # The standard decorator lets only frozen dataclasses inherit from frozen ones.
        cls.__dataclass_params__.frozen = True
    for name, method in methods.items():
        if name not in given:
            setattr(cls, name, method)
    return cls


def _init_lazily(self: Any, /, *args: Any, **kwargs: Any) -> None:
    initializer: _Initializer | None = getattr(type(self), _INITIALIZER, None)
    if initializer is None:
        owner = _find_owner(self, "__init__", _init_lazily)
        if owner is not None:
            initializer = _Initializer(owner)
            setattr(owner, _INITIALIZER, initializer)
    # Wrong arguments are left to the compiled method, whose errors name them.
    if initializer is None or not initializer.set_fields(self, args, kwargs):
        _compile_method(self, "__init__", _init_lazily, _compile_init)(self, *args, **kwargs)


class _Initializer:
    """Sets the fields of the first instances of a dataclass."""

    __slots__ = ("calls", "fields", "has_post_init", "positional")

    def __init__(self, cls: type[Any]) -> None:
        fields = dataclasses.fields(cls)
        self.calls = 0
        self.positional = [field.name for field in fields if field.init and not field.kw_only]
        self.fields = [(field, _find_setter(cls, field.name)) for field in fields if _is_set(cls, field)]
        self.has_post_init = hasattr(cls, "__post_init__")

    def set_fields(self, instance: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        """Set the fields as `__init__` does; return False if a compiled one has to."""
        self.calls += 1
        if self.calls > _UNCOMPILED_MAX or len(args) > len(self.positional):
            return False
        given = dict(zip(self.positional, args, strict=False))
        if not given.keys().isdisjoint(kwargs):
            return False
        given |= kwargs
        values = []
        for field, _ in self.fields:
            if field.init and field.name in given:
                values.append(given.pop(field.name))
            elif field.default_factory is not MISSING:
                values.append(field.default_factory())
            elif field.default is not MISSING:
                values.append(field.default)
            else:
                return False
        if given:
            return False
        for (_, set_field), value in zip(self.fields, values, strict=True):
            set_field(instance, value)
        if self.has_post_init:
            instance.__post_init__()
        return True


def _is_set(cls: type[Any], field: "Field[Any]") -> bool:
    """Return whether `__init__` sets a field; else the class has the value, or __post_init__ sets it."""
    if field.init or field.default_factory is not MISSING:
        return True
    return "__slots__" in vars(cls) and field.default is not MISSING


def _find_setter(cls: type[Any], name: str) -> Method:
    """Return the function that sets a field."""
    if not cls.__dataclass_params__.frozen:
        return lambda instance, value: setattr(instance, name, value)
    if "__slots__" in vars(cls):
        setter: Method = vars(cls)[name].__set__
        return setter
    return lambda instance, value: object.__setattr__(instance, name, value)


def _equals_lazily(self: Any, other: object) -> Any:
    return _compile_method(self, "__eq__", _equals_lazily, _compile_eq)(self, other)


def _hash_lazily(self: Any) -> int:
    value: int = _compile_method(self, "__hash__", _hash_lazily, _compile_hash)(self)
    return value


def _compile_method(instance: object, name: str, lazy: Method, compile_for: Callable[[type[Any]], Method]) -> Method:
    """Replace a method of the instance's dataclass by the compiled one, and return that."""
    cls = _find_owner(instance, name, lazy)
    if cls is None:  # another thread has just replaced it
        found: Method = getattr(type(instance), name)
        return found
    method = compile_for(cls)
    method.__name__, method.__qualname__ = name, f"{cls.__qualname__}.{name}"
    setattr(cls, name, method)
    return method


def _find_owner(instance: object, name: str, lazy: Method) -> type[Any] | None:
    """Return the class of the instance that has the method which is not compiled."""
    return next((cls for cls in type(instance).__mro__ if vars(cls).get(name) is lazy), None)


def _compile_init(cls: type[Any]) -> Method:
    namespace: dict[str, Any] = {"_absent": _ABSENT, "_set": object.__setattr__}
    fields = dataclasses.fields(cls)
    given = [field for field in fields if field.init]
    parameters = ["self", *[_make_parameter(field, namespace) for field in given if not field.kw_only]]
    if keywords := [_make_parameter(field, namespace) for field in given if field.kw_only]:
        parameters += ["*", *keywords]
    lines = [_make_assignment(cls, field, namespace) for field in fields]
    if hasattr(cls, "__post_init__"):
        lines.append("self.__post_init__()")
    return _compile_function(parameters, lines, namespace)


def _make_parameter(field: "Field[Any]", namespace: dict[str, Any]) -> str:
    """Return the parameter of a field."""
    if field.default_factory is not MISSING:
        return f"{field.name}=_absent"
    if field.default is MISSING:
        return field.name
    namespace[f"_default_{field.name}"] = field.default
    return f"{field.name}=_default_{field.name}"


def _make_assignment(cls: type[Any], field: "Field[Any]", namespace: dict[str, Any]) -> str:
    """Return the statement that sets a field."""
    name, value, has_slots = field.name, field.name, "__slots__" in vars(cls)
    if field.default_factory is not MISSING:
        namespace[f"_make_{name}"] = field.default_factory
        value = f"_make_{name}() if {name} is _absent else {name}" if field.init else f"_make_{name}()"
    elif not field.init:
        if not _is_set(cls, field):
            return "pass"
        namespace[f"_default_{name}"] = field.default
        value = f"_default_{name}"
    if not cls.__dataclass_params__.frozen:
        return f"self.{name} = {value}"
    if has_slots:
        # The slot's own setter takes half the time of object.__setattr__, which has to find it.
        namespace[f"_set_{name}"] = vars(cls)[name].__set__
        return f"_set_{name}(self, {value})"
    return f"_set(self, {name!r}, {value})"


def _compile_eq(cls: type[Any]) -> Method:
    names = [field.name for field in dataclasses.fields(cls) if field.compare]
    lines = [
        "if other.__class__ is self.__class__:",
        f" return {_make_tuple('self', names)} == {_make_tuple('other', names)}",
        "return NotImplemented",
    ]
    return _compile_function(["self", "other"], lines, {})


def _compile_hash(cls: type[Any]) -> Method:
    names = [field.name for field in dataclasses.fields(cls) if (field.compare if field.hash is None else field.hash)]
    return _compile_function(["self"], [f"return hash({_make_tuple('self', names)})"], {})


def _make_tuple(variable: str, names: Iterable[str]) -> str:
    return f"({''.join(f'{variable}.{name}, ' for name in names)})"


def _compile_function(parameters: Sequence[str], lines: Sequence[str], namespace: dict[str, Any]) -> Method:
    body = "\n".join(f" {line}" for line in (*lines, "pass"))
    exec(f"def method({', '.join(parameters)}):\n{body}", namespace)  # noqa: S102 - made of names of fields
    method: Method = namespace.pop("method")
    return method


@recursive_repr()
def _represent(self: Any) -> str:
    shown = [f"{field.name}={getattr(self, field.name)!r}" for field in dataclasses.fields(self) if field.repr]
    return f"{self.__class__.__qualname__}({', '.join(shown)})"


def _refuse_assignment(self: Any, name: str, value: Any) -> None:
    if _is_frozen(type(self), name):
        raise FrozenInstanceError(f"cannot assign to field {name!r}")
    object.__setattr__(self, name, value)


def _refuse_deletion(self: Any, name: str) -> None:
    if _is_frozen(type(self), name):
        raise FrozenInstanceError(f"cannot delete field {name!r}")
    object.__delattr__(self, name)


def _is_frozen(cls: type[Any], name: str) -> bool:
    """Return whether an attribute cannot be changed: a field, or any attribute unless a subclass is no dataclass."""
    return _FIELDS in vars(cls) or name in getattr(cls, _FIELDS)


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: Sequence[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, field.name, value)
