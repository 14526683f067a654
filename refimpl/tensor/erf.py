"""The error function, for arrays."""

from __future__ import annotations

import math
from functools import cache
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from .dtype import DType
from .namespace import Space

#: From here on erf is 1 in every dtype.
_END: Final = 6.0
#: Distance of the points about which it is expanded, and the degree of the expansions: the first term that is
#: left out is below 1e-19 (each derivative of erf is below 2^n sqrt(n!), and the distance at most 1/32).
_STEP: Final = 1.0 / 16.0
_DEGREE: Final = 11


def erf(space: Space, x: Any) -> Any:
    """Erf of each element of `x`, a float array of the library `space`: in F64, to about one unit in the last place.

    Taylor polynomials about the nearest multiple of 1/16. The derivatives come from the rule
    erf^(n+1)(a) = 2 / sqrt(pi) exp(-a^2) (-1)^n H_n(a) with Hermite's polynomials, the values at the
    points from `math.erf`.

    >>> float(erf(Space(), np.array(0.5))) == math.erf(0.5)
    True
    """
    xp = space.xp
    wide = space.astype(x, DType.F64)
    size = xp.abs(wide)
    near = xp.where(size < _END, size, xp.zeros_like(size))  # NaN and what lies beyond are set below
    place = xp.round(near / _STEP)
    rest = near - place * _STEP
    columns = space.astype(xp.reshape(place, (-1,)), DType.I64)
    table = space.from_host(_table())
    result = xp.zeros_like(rest)
    for n in range(_DEGREE, -1, -1):
        result = result * rest + xp.reshape(xp.take(table[n, :], columns, axis=0), rest.shape)
    result = xp.where(size < _END, result, xp.ones_like(size))
    result = xp.where(wide < 0, -result, result)
    result = xp.where((wide != wide) | (wide == 0), wide, result)  # NaN stays, and so does the sign of zero
    return result


@cache
def _table() -> NDArray[np.float64]:
    """Row n, column k: the coefficient of h^n in the expansion of erf(k/16 + h)."""
    columns = []
    for k in range(round(_END / _STEP) + 1):
        a = k * _STEP
        hermite = [1.0, 2.0 * a]
        for n in range(1, _DEGREE):
            hermite.append(2.0 * a * hermite[n] - 2.0 * n * hermite[n - 1])
        slope = 2.0 / math.sqrt(math.pi) * math.exp(-a * a)
        terms = [slope * (-1) ** n * hermite[n] / math.factorial(n + 1) for n in range(_DEGREE)]
        columns.append([math.erf(a), *terms])
    return np.array(columns).T.copy()
