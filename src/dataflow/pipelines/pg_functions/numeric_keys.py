"""numeric for engines without it: a key with the same order and equality, and limbs that can be summed."""

from __future__ import annotations

from decimal import ROUND_DOWN, Decimal

from dataflow.pipelines.pg_functions.numeric import EXACT, checked, rescaled, scale_of

LIMB_DIGITS = 28  # of a decimal(38): leaves room to sum 10 billion of them
_ZERO_KEY = b"\x80"
_INVERTED = bytes(255 - byte for byte in range(256))


def sort_key(value: Decimal) -> bytes:
    """Bytes in the order of the numbers; equal numbers have equal keys, whatever their scale."""
    if not value:
        return _ZERO_KEY
    _, digits, _ = value.normalize(EXACT).as_tuple()
    text = "".join(map(str, digits))
    key = (value.adjusted() + 2**23).to_bytes(3, "big") + bytes.fromhex(text + "0" * (len(text) % 2))
    if value > 0:
        return b"\x81" + key
    # The terminator sorts after every digit, so the longer of two negative numbers comes first.
    return b"\x7f" + key.translate(_INVERTED) + b"\xff"


def limbs(value: Decimal) -> tuple[int, int, int, int]:
    """Two limbs before and two after the point, each with the sign of the value."""
    if value.adjusted() >= 2 * LIMB_DIGITS or scale_of(value) > 2 * LIMB_DIGITS:
        raise ValueError(
            f"a sum cannot hold a numeric with more than {2 * LIMB_DIGITS} digits before or after the point"
        )
    whole = value.to_integral_value(ROUND_DOWN, EXACT)
    fraction = int(EXACT.scaleb(EXACT.subtract(value, whole), 2 * LIMB_DIGITS))
    return (*_halves(int(whole)), *_halves(fraction))


def from_limbs(first: int, second: int, third: int, fourth: int, scale: int) -> Decimal:
    """Compute the number from sums of limbs, with `scale` decimal digits."""
    found = Decimal(0)
    for limb, place in zip((first, second, third, fourth), (28, 0, -28, -56), strict=True):
        found = EXACT.add(found, EXACT.scaleb(Decimal(limb), place))
    return checked(rescaled(found, scale))


def _halves(number: int) -> tuple[int, int]:
    high, low = divmod(abs(number), 10**LIMB_DIGITS)
    return (-high, -low) if number < 0 else (high, low)
