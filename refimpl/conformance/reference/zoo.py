"""The modules of `zoo/1`, field for field as `spec/fixtures.md` has them."""

from __future__ import annotations

from typing import Annotated, Generic, TypeVar

from ...module.fields import Array, Skip
from ...module.module import Module
from ...module.variants import ModuleEnum
from ...param.flag import Flag
from ...param.param import Param
from ...param.running import RunningState
from ...tensor.tensor import BoolTensor, IntTensor, Tensor

M = TypeVar("M")
P = Param[Tensor]


class Linear(Module):
    """`zoo/linear` and `zoo/transposed`."""

    weight: Param[Tensor]
    bias: Param[Tensor] | None


class Mlp(Module):
    """`zoo/mlp`."""

    input: Linear
    hidden: tuple[Linear, ...]
    output: Linear
    rate: float


class Kinds(Module):
    """`zoo/kinds`."""

    b: Param[BoolTensor]
    z_first: Param[Tensor]
    i: Param[IntTensor]
    on: Param[Flag]
    a_last: Param[Tensor]


class Containers(Module):
    """`zoo/containers`."""

    vec: tuple[Linear, ...]
    arr: Annotated[tuple[Linear, ...], Array]
    tup: tuple[Linear, Param[Tensor], tuple[Param[Tensor], ...]]
    some: Linear | None
    none: Linear | None
    nested: tuple[tuple[Param[Tensor] | None, ...], ...]
    empty_vec: tuple[Linear, ...]
    opt_vec: tuple[Linear, ...] | None
    vec_opt: tuple[Linear | None, ...]


class Nested(Module):
    """Inside `zoo/nested` and `zoo/pick`."""

    inner: Linear


class Pick(ModuleEnum):
    """`zoo/pick`."""


class One(Pick):
    """A module."""

    value: Linear


class Two(Pick):
    """Another module."""

    value: Nested


class Plain(Pick):
    """A constant."""

    value: float


class Skipped(Pick):
    """A module that is carried along."""

    value: Skip[Linear]


class List(Pick):
    """Several modules."""

    value: tuple[Linear, ...]


class Deep(Module):
    """`zoo/nested`."""

    a: Nested
    pick: Pick
    picks: tuple[Pick, ...]


class Gen(Module, Generic[M]):
    """`zoo/generic`."""

    module: M
    own: Param[Tensor]


class Consts(Module):
    """`zoo/constants`."""

    p: float
    name: str
    n: int
    flag: bool
    opt: float | None
    vecs: tuple[int, ...]
    pair: tuple[int, float]
    weight: Param[Tensor]


class Skips(Module):
    """`zoo/skip`."""

    weight: Param[Tensor]
    tensor: Skip[Tensor]
    names: Skip[tuple[str, ...]]
    module: Skip[Linear | None]
    level: Skip[int]


class Flagged(Module):
    """Inside `zoo/flags`."""

    weight: Param[Tensor]
    on: Param[Flag]


class Flags(Module):
    """`zoo/flags`."""

    first: Param[Flag]
    inner: Flagged
    second: Param[Flag]


class Shared(Module):
    """`zoo/shared`."""

    a: Param[Tensor]
    b: Param[Tensor]


class Running(Module):
    """`zoo/running`."""

    mean: RunningState
    w: Param[Tensor]


class Tensors(Module):
    """`zoo/tensors`."""

    t: Tensor
    i: IntTensor
    b: BoolTensor
    weight: Param[Tensor]


class Floats(Module):
    """`zoo/floats`."""

    f64: Param[Tensor]
    f32: Param[Tensor]
    f16: Param[Tensor]
    bf16: Param[Tensor]


class Ints(Module):
    """`zoo/integers`."""

    i64: Param[IntTensor]
    i32: Param[IntTensor]
    i16: Param[IntTensor]
    i8: Param[IntTensor]
    u64: Param[IntTensor]
    u32: Param[IntTensor]
    u16: Param[IntTensor]
    u8: Param[IntTensor]


class Bools(Module):
    """`zoo/bools`."""

    native: Param[BoolTensor]
    u8: Param[BoolTensor]


class Shapes(Module):
    """`zoo/shapes`."""

    zero: Param[Tensor]
    zero_int: Param[IntTensor]
    one: Param[Tensor]
    r3: Param[Tensor]
    r4: Param[Tensor]


class Net(Module):
    """`zoo/net`."""

    lin: Linear
    scale: Param[Tensor]
    count: Param[IntTensor]
    mask: Param[BoolTensor]
    training: Param[Flag]
    rate: float


class Chain(Module):
    """Inside `zoo/recursive`."""

    weight: Param[Tensor]
    next: Chain | None


class Tree(Module):
    """`zoo/recursive`."""

    layer: Linear
    children: tuple[Tree, ...]
    next: Chain | None


class Unit(Module):
    """`zoo/unit`."""


class Ten(Module):
    """`zoo/tuple10`."""

    t: tuple[P, P, P, P, P, P, P, P, P, P]


class Counted(Module):
    """A module that says 42 for its own count."""

    weight: Param[Tensor]

    def num_params(self) -> int:
        """Whatever it holds: 42."""
        return 42


class Holder(Module):
    """`zoo/count`."""

    list: tuple[Counted, ...]
    pair: tuple[Counted, Counted]
    some: Counted | None
    own: Counted
