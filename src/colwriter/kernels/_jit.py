"""The one decorator of all kernels, and the machine operations that NumPy has no name for.

A kernel is a function over arrays that allocates nothing and raises nothing: the caller passes the
output, the kernel returns what it wrote, or a negative status. Kernels release the GIL, are cached
on disk, and divide like NumPy (no fastmath: it would break the rules for NaN and signed zero).

Numba stamps a cached kernel with the contents of its own file, and so misses a change in a kernel that it calls
from another. ``kernel`` stamps it with the contents of this whole folder instead.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, config, event, types
from numba.extending import intrinsic, overload
from numpy.typing import NDArray

__all__ = [
    "Array",
    "Bytes",
    "Int",
    "Int64s",
    "byte_swap",
    "count_leading_zeros",
    "count_trailing_zeros",
    "hash_stripe",
    "inlined",
    "kernel",
    "load_u8",
    "load_u32",
    "load_u64",
    "make_bit_setter",
    "optimize_for_size",
    "pack_pairs",
    "popcount",
    "prefetch",
    "same_stripe",
    "store_pairs",
    "store_u32",
    "store_u64",
    "zero_words",
]

_SOURCE_STAMP = hashlib.sha256(b"".join(p.read_bytes() for p in sorted(Path(__file__).parent.glob("*.py")))).hexdigest()

Bytes = NDArray[np.uint8]
Int64s = NDArray[np.int64]
Array = NDArray[Any]
# An integer of any width: compiled code knows which.
Int = Any

# Numba counts references to each array that a loop passes on or slices, with atomic operations that take longer than
# the loop's work. Kernels allocate nothing, and who calls them holds the arrays, so that nothing needs to be counted.
_COMMON: dict[str, Any] = {"error_model": "numpy", "_nrt": False}

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile ``function`` on its first call for the types of that call; the machine code is cached on disk."""
    options: dict[str, Any] = {"nogil": True, "fastmath": False, "no_cfunc_wrapper": True, **_COMMON}
    try:
        dispatcher = numba.njit(cache=True, **options)(function)
        # Numba has no public name for this; a version that moved it must not run with stale code.
        index = dispatcher._cache._cache_file
        index._source_stamp = (index._source_stamp, _SOURCE_STAMP)
    except (RuntimeError, AttributeError) as error:  # no folder can be written (numba #4908), or see above
        warnings.warn(f"colwriter: kernels are compiled anew in each process: {error}", RuntimeWarning, stacklevel=2)
        dispatcher = numba.njit(**options)(function)
    return dispatcher  # type: ignore[no-any-return]


def inlined(function: F) -> F:
    """Compile ``function`` into each kernel that calls it, for a call passes seven values for each array.

    Python cannot call it: without the wrappers for that, it compiles in half the time.
    """
    options: dict[str, Any] = {"forceinline": True, "no_cpython_wrapper": True, "no_cfunc_wrapper": True, **_COMMON}
    return numba.njit(**options)(function)  # type: ignore[no-any-return]


class _CompilationNotice(event.Listener):
    """Says once, on stderr, that machine code is being made: it is the only slow thing that a first call does."""

    def __init__(self) -> None:
        self.said = False

    def on_start(self, event: event.Event) -> None:
        function = event.data["dispatcher"].py_func
        # What was made by ``exec`` may have no module.
        if self.said or not (function.__module__ or "").startswith("colwriter."):
            return
        self.said = True
        print(
            f"colwriter: compiling kernels for this machine, starting with {function.__name__!r}; "
            "a few seconds, once (`python -m colwriter warmup` compiles all of them)",
            file=sys.stderr,
        )

    def on_end(self, event: event.Event) -> None:
        pass


event.register("numba:compile", _CompilationNotice())  # type: ignore[no-untyped-call]


def _pointer(context: Any, builder: Any, to: Any, data_type: Any, data: Any, index: Any) -> Any:
    """Of LLVM type ``to``: of item ``index`` of an array, or of what lies ``index`` bytes after an address."""
    if isinstance(data_type, types.Integer):
        return builder.inttoptr(builder.add(data, index), to.as_pointer())
    start = context.make_array(data_type)(context, builder, data).data
    return builder.bitcast(builder.gep(start, [index]), to.as_pointer())


# All loads take an array of bytes, or an address, which has no bounds to be checked: who calls them has checked it.
def _make_load(bits: int, result: Any) -> Any:
    def load(typingctx: Any, array: Any, index: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = _pointer(context, builder, ir.IntType(bits), signature.args[0], *arguments)
            return builder.load(pointer, align=1)

        return result(array, types.intp), codegen

    return intrinsic(load)


def _make_store(bits: int, value_type: Any) -> Any:
    def store(typingctx: Any, array: Any, index: Any, value: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointer = _pointer(context, builder, ir.IntType(bits), signature.args[0], *arguments[:2])
            builder.store(arguments[2], pointer, align=1)
            return context.get_dummy_value()

        return types.void(array, types.intp, value_type), codegen

    return intrinsic(store)


def _popcount(typingctx: Any, x: Any) -> Any:
    """Number of set bits of a uint64, as int64."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctpop(arguments[0])

    return types.int64(types.uint64), codegen


popcount: Any = intrinsic(_popcount)


def _count_trailing_zeros(typingctx: Any, x: Any) -> Any:
    """Index of the lowest set bit of a uint64, as int64; 64 for zero."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.cttz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


count_trailing_zeros: Any = intrinsic(_count_trailing_zeros)


def _count_leading_zeros(typingctx: Any, x: Any) -> Any:
    """Number of zero bits above the highest set bit of a uint64, as int64; 64 for zero."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.ctlz(arguments[0], ir.Constant(ir.IntType(1), 0))

    return types.int64(types.uint64), codegen


count_leading_zeros: Any = intrinsic(_count_leading_zeros)


def _byte_swap(typingctx: Any, x: Any) -> Any:
    """The bytes of a uint64 in reverse order."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bswap(arguments[0])

    return types.uint64(types.uint64), codegen


byte_swap: Any = intrinsic(_byte_swap)


def _pack_pairs(typingctx: Any, array: Any, index: Any, count: Any, width: Any) -> Any:
    """Eight int32 from ``index`` on, those from ``count`` on taken for zero: packed in pairs.

    A pair is two values of ``width`` bits, 1 to 31. Bit k of the fifth number says whether value k equals the first.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        i32, i64 = ir.IntType(32), ir.IntType(64)
        eight, four = ir.VectorType(i32, 8), ir.VectorType(i64, 4)

        def all_lanes(value: Any, lanes: Any) -> Any:
            single = builder.insert_element(ir.Constant(lanes, ir.Undefined), value, i32(0))
            zeros = ir.Constant(ir.VectorType(i32, lanes.count), [0] * lanes.count)
            return builder.shuffle_vector(single, ir.Constant(lanes, ir.Undefined), zeros)

        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        _, _, count, width = arguments
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), eight.as_pointer())
        inside = builder.icmp_unsigned(
            "<", ir.Constant(eight, list(range(8))), all_lanes(builder.trunc(count, i32), eight)
        )
        values = builder.select(inside, builder.load(pointer, align=4), ir.Constant(eight, [0] * 8))
        first = all_lanes(builder.extract_element(values, i32(0)), eight)
        alike = builder.zext(builder.bitcast(builder.icmp_unsigned("==", values, first), ir.IntType(8)), i64)
        field = builder.sub(builder.shl(i64(1), width), i64(1))
        words = builder.bitcast(values, four)
        upper = builder.lshr(words, all_lanes(builder.sub(i64(32), width), four))
        upper = builder.and_(upper, all_lanes(builder.shl(field, width), four))
        pairs = builder.or_(builder.and_(words, all_lanes(field, four)), upper)
        parts = [builder.extract_element(pairs, i32(k)) for k in range(4)]
        return context.make_tuple(builder, signature.return_type, [*parts, alike])

    result = types.UniTuple(types.uint64, 5)  # type: ignore[no-untyped-call]
    return result(array, types.intp, types.intp, types.uint64), codegen


def _store_pairs(typingctx: Any, out: Any, to: Any, bitmap: Any, bit: Any, factor: Any, differs: Any) -> Any:
    """Store the 256 bits of ``bitmap`` from ``bit`` on as pairs of bits, from ``out[to]`` on: eight words.

    A set bit becomes the pair ``factor`` (1 or 3), one that is not 0; then all differ in the bits of ``differs``, a
    word. 36 bytes are read.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        i32, i64 = ir.IntType(32), ir.IntType(64)
        halves, words = ir.VectorType(i32, 8), ir.VectorType(i64, 8)

        def all_lanes(value: Any, lanes: Any) -> Any:
            single = builder.insert_element(ir.Constant(lanes, ir.Undefined), value, i32(0))
            return builder.shuffle_vector(single, ir.Constant(lanes, ir.Undefined), ir.Constant(halves, [0] * 8))

        def constant(number: int, lanes: Any) -> Any:
            return ir.Constant(lanes, [number] * 8)

        out, to, bitmap, bit, factor, differs = arguments
        data = context.make_array(signature.args[2])(context, builder, bitmap).data
        byte = builder.ashr(bit, i64(3))
        low, high = (
            builder.load(builder.bitcast(builder.gep(data, [place]), halves.as_pointer()), align=1)
            for place in (byte, builder.add(byte, i64(4)))
        )
        shift = all_lanes(builder.trunc(builder.and_(bit, i64(7)), i32), halves)
        high = builder.shl(builder.shl(high, constant(1, halves)), builder.sub(constant(31, halves), shift))
        pairs = builder.zext(builder.or_(builder.lshr(low, shift), high), words)
        for by in (16, 8, 4, 2, 1):
            mask = ((1 << 64) - 1) // ((1 << 2 * by) - 1) * ((1 << by) - 1)
            pairs = builder.and_(builder.or_(pairs, builder.shl(pairs, constant(by, words))), constant(mask, words))
        pairs = builder.xor(builder.mul(pairs, all_lanes(factor, words)), all_lanes(differs, words))
        target = context.make_array(signature.args[0])(context, builder, out).data
        builder.store(pairs, builder.bitcast(builder.gep(target, [to]), words.as_pointer()), align=1)
        return context.get_dummy_value()

    return types.void(out, types.intp, bitmap, types.intp, types.uint64, types.uint64), codegen


def _zero_words(typingctx: Any, data: Any, index: Any) -> Any:
    """How many words of 64 bits are zero, from byte ``index`` on, before one that is not: up to 8 are looked at."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        i64 = ir.IntType(64)
        words = ir.VectorType(i64, 8)
        array = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(array, [arguments[1]]), words.as_pointer())
        some = builder.icmp_unsigned("!=", builder.load(pointer, align=1), ir.Constant(words, [0] * 8))
        mask = builder.zext(builder.bitcast(some, ir.IntType(8)), i64)
        return builder.cttz(builder.or_(mask, i64(1 << 8)), ir.Constant(ir.IntType(1), 1))

    return types.int64(data, types.intp), codegen


# What the words of a stripe are told apart by, so that it matters in which order they come.
STRIPE_KEYS = np.arange(1, 9, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)


def _load_stripe(context: Any, builder: Any, data_type: Any, data: Any, index: Any, count: Any) -> list[Any]:
    """16 to 64 bytes as four vectors of two words, which overlap where there are fewer than 64: no other is read."""
    i64 = ir.IntType(64)
    last = builder.sub(count, i64(16))
    places = [i64(0), *(builder.select(builder.icmp_signed("<", last, i64(k)), last, i64(k)) for k in (16, 32)), last]
    pointers = [
        _pointer(context, builder, ir.VectorType(i64, 2), data_type, data, builder.add(index, place))
        for place in places
    ]
    return [builder.load(pointer, align=1) for pointer in pointers]


def _hash_stripe(typingctx: Any, data: Any, index: Any, count: Any) -> Any:
    """A hash of ``count`` bytes from ``index`` on, 16 to 64: a sum over the eight words of ``_load_stripe``.

    Each adds the product of its halves, after its key, and itself, so that nothing is lost where a half is zero.
    """

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        i32, i64 = ir.IntType(32), ir.IntType(64)
        words = ir.VectorType(i64, 8)
        a, b, c, d = _load_stripe(context, builder, signature.args[0], *arguments)
        four = ir.Constant(ir.VectorType(i32, 4), list(range(4)))
        eight = ir.Constant(ir.VectorType(i32, 8), list(range(8)))
        value = builder.shuffle_vector(builder.shuffle_vector(a, b, four), builder.shuffle_vector(c, d, four), eight)
        keyed = builder.xor(value, ir.Constant(words, STRIPE_KEYS.tolist()))
        low = builder.and_(keyed, ir.Constant(words, [0xFFFFFFFF] * 8))
        product = builder.mul(low, builder.lshr(keyed, ir.Constant(words, [32] * 8)))
        kind = ir.FunctionType(i64, [words])
        total = cgutils.get_or_insert_function(builder.module, kind, "llvm.vector.reduce.add.v8i64")  # type: ignore[no-untyped-call]
        return builder.call(total, [builder.add(product, value)])

    return types.uint64(data, types.intp, types.intp), codegen


def _same_stripe(typingctx: Any, data: Any, a: Any, b: Any, count: Any) -> Any:
    """Whether the ``count`` bytes from ``a`` and from ``b`` on, 16 to 64, are the same."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data, a, b, count = arguments
        left = _load_stripe(context, builder, signature.args[0], data, a, count)
        right = _load_stripe(context, builder, signature.args[0], data, b, count)
        parts = [builder.xor(x, y) for x, y in zip(left, right, strict=True)]
        differing = builder.or_(builder.or_(parts[0], parts[1]), builder.or_(parts[2], parts[3]))
        return builder.icmp_unsigned("==", builder.bitcast(differing, ir.IntType(128)), ir.IntType(128)(0))

    return types.boolean(data, types.intp, types.intp, types.intp), codegen


def _prefetch(typingctx: Any, array: Any, index: Any) -> Any:
    """Ask for the cache line of ``array[index]``: a hint, which may point anywhere."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        i32 = ir.IntType(32)
        pointer = _pointer(context, builder, ir.IntType(8), signature.args[0], *arguments)
        kind = ir.FunctionType(ir.VoidType(), [pointer.type, i32, i32, i32])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")  # type: ignore[no-untyped-call]
        builder.call(function, [pointer, i32(0), i32(3), i32(1)])  # to read, into all caches, data
        return context.get_dummy_value()

    return types.void(array, types.intp), codegen


prefetch: Any = intrinsic(_prefetch)


def _optimize_for_size(typingctx: Any) -> Any:
    """Say of the kernel that calls this that no loop of it is worth vectors, or to be unrolled: it compiles faster."""

    def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        builder.function.attributes.add("optsize")
        return context.get_dummy_value()

    return types.void(), codegen


optimize_for_size: Any = intrinsic(_optimize_for_size)


def _make_bit_setter(multipliers: Array) -> Any:
    block = ir.VectorType(ir.IntType(32), len(multipliers))

    def vector(numbers: list[int]) -> Any:
        return ir.Constant(block, numbers)

    def set_bits(typingctx: Any, words: Any, first: Any, key: Any) -> Any:
        def codegen(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            words, first, key = arguments
            data = context.make_array(signature.args[0])(context, builder, words).data
            pointer = builder.bitcast(builder.gep(data, [first]), block.as_pointer())
            nothing = ir.Constant(block, ir.Undefined)
            keys = builder.insert_element(nothing, key, ir.IntType(32)(0))
            keys = builder.shuffle_vector(keys, nothing, vector([0] * block.count))
            bits = builder.lshr(builder.mul(keys, vector(multipliers.tolist())), vector([27] * block.count))
            mask = builder.shl(vector([1] * block.count), bits)
            builder.store(builder.or_(builder.load(pointer, align=4), mask), pointer, align=4)
            return context.get_dummy_value()

        return types.void(words, types.uint64, types.uint32), codegen

    return intrinsic(set_bits)


def make_bit_setter(multipliers: Array) -> Any:
    """``set_bits(words, first, key)`` sets one bit in each of the ``len(multipliers)`` uint32 words from ``first`` on.

    The bit in word k is what the five highest bits of ``key * multipliers[k]`` say. LLVM makes scalar code of such a
    loop, which takes three times as long as one vector.
    """
    if not config.BOUNDSCHECK:  # type: ignore[attr-defined]
        return _make_bit_setter(multipliers)

    @numba.njit
    def set_bits(words: Any, first: int, key: int) -> None:
        for k in range(len(multipliers)):
            words[np.int64(first) + k] |= np.uint32(1) << (np.uint32(key * multipliers[k]) >> np.uint32(27))

    return set_bits


if config.BOUNDSCHECK:  # type: ignore[attr-defined]
    # Byte by byte through indexing, so that the bounds check sees each access. An address has no bounds.
    _load_u8_at_address = _make_load(8, types.uint8)

    def load_u8(data: Any, index: int) -> Any:
        raise NotImplementedError

    @overload(load_u8, strict=False)
    def _load_u8(data: Any, index: Any) -> Any:
        if isinstance(data, types.Integer):
            return lambda data, index: _load_u8_at_address(data, index)
        return lambda data, index: data[index]

    @numba.njit
    def load_u64(data: Any, index: int) -> Any:
        value = numba.uint64(0)
        for k in range(8):
            value |= numba.uint64(load_u8(data, index + k)) << numba.uint64(8 * k)
        return value

    @numba.njit
    def load_u32(data: Any, index: int) -> Any:
        value = numba.uint32(0)
        for k in range(4):
            value = numba.uint32(value | (numba.uint32(data[index + k]) << numba.uint32(8 * k)))
        return value

    @numba.njit
    def pack_pairs(data: Any, index: int, count: int, width: Any) -> Any:
        words = (numba.uint64(0), numba.uint64(0), numba.uint64(0), numba.uint64(0))
        alike = numba.uint64(0)
        for k in range(0, 8, 2):
            low = numba.uint64(data[index + k] if k < count else 0)
            high = numba.uint64(data[index + k + 1] if k + 1 < count else 0)
            first = numba.uint64(data[index])
            alike |= (numba.uint64(low == first) | (numba.uint64(high == first) << numba.uint64(1))) << numba.uint64(k)
            words = (words[1], words[2], words[3], low | (high << numba.uint64(width)))
        return words[0], words[1], words[2], words[3], alike

    @numba.njit
    def zero_words(data: Any, index: int) -> int:
        zeros = 8
        for k in range(63, -1, -1):
            if data[index + k] != 0:
                zeros = k >> 3
        return zeros

    @numba.njit
    def hash_stripe(data: Any, index: int, count: int) -> Any:
        total = numba.uint64(0)
        for k in range(8):
            word = load_u64(data, index + min(16 * (k >> 1), count - 16) + 8 * (k & 1))
            keyed = word ^ STRIPE_KEYS[k]
            total += (keyed & numba.uint64(0xFFFFFFFF)) * (keyed >> numba.uint64(32)) + word
        return total

    @numba.njit
    def same_stripe(data: Any, a: int, b: int, count: int) -> Any:
        differing = numba.uint8(0)
        for k in range(count):
            differing |= load_u8(data, a + k) ^ load_u8(data, b + k)
        return differing == 0

    @numba.njit
    def store_pairs(out: Any, to: int, bitmap: Any, bit: int, factor: Any, differs: Any) -> None:
        for k in range(64):
            pairs = (numba.uint64(differs) >> numba.uint64(8 * (k & 7))) & numba.uint64(255)
            for i in range(4):
                at = bit + 4 * k + i
                is_set = (numba.uint64(bitmap[at >> 3]) >> numba.uint64(at & 7)) & numba.uint64(1)
                pairs ^= (is_set * numba.uint64(factor)) << numba.uint64(2 * i)
            out[to + k] = numba.uint8(pairs)

    @numba.njit
    def store_u64(data: Any, index: int, value: Any) -> None:
        for k in range(8):
            data[index + k] = numba.uint8((numba.uint64(value) >> numba.uint64(8 * k)) & numba.uint64(255))

    @numba.njit
    def store_u32(data: Any, index: int, value: Any) -> None:
        for k in range(4):
            data[index + k] = numba.uint8((numba.uint64(value) >> numba.uint64(8 * k)) & numba.uint64(255))

else:
    load_u8 = _make_load(8, types.uint8)
    load_u64 = _make_load(64, types.uint64)
    load_u32 = _make_load(32, types.uint32)
    pack_pairs = intrinsic(_pack_pairs)
    store_pairs = intrinsic(_store_pairs)
    zero_words = intrinsic(_zero_words)
    hash_stripe = intrinsic(_hash_stripe)
    same_stripe = intrinsic(_same_stripe)
    store_u64 = _make_store(64, types.uint64)
    store_u32 = _make_store(32, types.uint32)
