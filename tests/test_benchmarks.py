"""The benchmarks measure what they say: data, settings, files of the peers, and paired timing on a clock of our own."""

from __future__ import annotations

import gc
import importlib
import inspect
import io
import json
import re
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import colwriter

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))  # the benchmarks are not part of the package

MODULES: dict[str, ModuleType] = {
    path.stem: importlib.import_module(f"benchmarks.{path.stem}")
    for path in sorted((ROOT / "benchmarks").glob("*.py"))
    if path.stem != "__init__"
}
common, peers, size_statistics = MODULES["common"], MODULES["peers"], MODULES["size_statistics"]
histogram, bulk = MODULES["histogram"], MODULES["bulk"]
arenas, footer, plots = MODULES["arenas"], MODULES["footer"], MODULES["plots"]

SIZE = 20_000
BENCHMARK = re.compile("(time|timeraw|track|peakmem)_")


# What asv finds


def _benchmarks(module: ModuleType) -> Iterator[tuple[Any, Callable[..., Any]]]:
    """Pairs of a class's instance, or None, and a benchmark."""
    for item in list(vars(module).values()):
        if inspect.isclass(item) and item.__module__ == module.__name__:
            instance = item if any(BENCHMARK.match(name) for name in vars(item)) else None
            for name in vars(item) if instance else ():
                if BENCHMARK.match(name):
                    yield item(), getattr(item(), name)
        elif inspect.isfunction(item) and BENCHMARK.match(item.__name__):
            yield None, item


@pytest.mark.parametrize("name", [name for name in MODULES if name not in ("common", "plots")])
def test_every_module_has_benchmarks_that_take_their_parameters(name: str) -> None:
    found = list(_benchmarks(MODULES[name]))
    assert found
    for instance, benchmark in found:
        params = getattr(instance, "params", ())
        names = getattr(instance, "param_names", ())
        assert len(params) == len(names), benchmark
        assert all(isinstance(value, str) for values in params for value in values), benchmark
        arguments = [values[0] for values in params]
        if hasattr(instance, "setup_cache"):
            arguments.insert(0, "what setup_cache returned")
        inspect.signature(benchmark).bind(*arguments)
        if hasattr(instance, "setup"):
            inspect.signature(instance.setup).bind(*arguments)


def test_ratios_and_spreads_come_in_pairs() -> None:
    names = {f"{m}.{b.__qualname__}" for m, module in MODULES.items() for _, b in _benchmarks(module)}
    spreads = {name for name in names if name.endswith("_iqr")}
    assert len(spreads) == 14
    assert {name.removesuffix("_iqr") for name in spreads} < names


def test_quick_runs_take_the_first_and_the_last_value(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(common, "QUICK", False)
    assert common.axis("a", "b", "c") == ["a", "b", "c"]
    monkeypatch.setattr(common, "QUICK", True)
    assert common.axis("a", "b", "c") == ["a", "c"]
    assert common.axis("a") == ["a"]


def test_asv_installs_what_the_wheel_needs() -> None:
    """Wheels are built and installed without their dependencies."""
    text = (ROOT / "asv.conf.json").read_text()
    configuration = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    assert "--no-deps" in configuration["install_command"][0]
    installed = set(configuration["matrix"]["req"])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    needed = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    names = {re.match(r"[\w-]+", requirement)[0] for requirement in needed}  # type: ignore[index]
    assert names - {"numpy"} <= installed  # numba brings numpy
    assert (ROOT / configuration["benchmark_dir"] / "__init__.py").exists()


# Data


def _build(type_name: str, workload: str, size: int = SIZE) -> pa.Array:
    return common.build_table.__wrapped__(type_name, workload, size)["column"].chunk(0)


def _null_share(array: pa.Array) -> float:
    return array.null_count / len(array)


@pytest.mark.parametrize("workload", list(common.WORKLOADS))
@pytest.mark.parametrize("type_name", common.TYPES)
def test_types_shares_and_distinct_values(type_name: str, workload: str) -> None:
    array = _build(type_name, workload)
    array.validate(full=True)
    # Arrow names the type of lists after their field: list<item: int64>.
    assert str(array.type).replace("item: ", "") == type_name
    settings = common.WORKLOADS[workload]
    expected = SIZE
    levels = [array]
    while pa.types.is_list(levels[-1].type):
        levels.append(levels[-1].values)
    for level in reversed(levels):
        assert len(level) == expected
        if expected >= 2000:
            assert _null_share(level) == pytest.approx(settings.null_share, abs=0.02)
        expected //= settings.list_length
    leaf = levels[-1].drop_null()
    distinct = {"seed": None, "dense-10": 10, "dense-1000": 1000, "dense-half": SIZE // 2}[workload]
    if distinct is not None:
        assert len(leaf.unique()) == distinct
    elif type_name.endswith("int64"):
        assert len(leaf.unique()) == len(leaf)


def test_data_are_the_same_each_time() -> None:
    for type_name in common.TYPES:
        assert _build(type_name, "seed").equals(_build(type_name, "seed"))


def test_full_size_is_that_of_the_workload_after_which_it_is_named() -> None:
    assert (1 << 16 if common.QUICK else 1_048_576) == common.SIZE
    assert common.WORKLOADS["dense-half"].num_distinct(1_048_576) == 524_288


def test_seed_int64_has_the_full_range_and_data_in_the_slots_of_nulls() -> None:
    array = _build("int64", "seed")
    values = np.frombuffer(array.buffers()[1], np.int64)
    null = np.asarray(array.is_null())
    for part in (values[null], values[~null]):
        assert part.min() < -(1 << 62) < 1 << 62 < part.max()
        assert len(np.unique(part)) == len(part)


def test_seed_strings_have_0_to_20_letters_and_none_in_nulls() -> None:
    array = _build("string", "seed", 100_000)
    lengths = np.diff(np.frombuffer(array.buffers()[1], np.int32))
    null = np.asarray(array.is_null())
    assert not lengths[null].any()
    assert set(lengths[~null]) == set(range(21))
    counts = np.bincount(lengths[~null], minlength=21)
    assert counts.min() > 0.6 * counts.mean()
    data = np.frombuffer(array.buffers()[2], np.uint8)
    assert len(data) == lengths.sum()
    assert set(data) == set(range(ord("A"), ord("z") + 1))


@pytest.mark.parametrize("workload", list(common.WORKLOADS))
def test_valid_lists_share_all_elements(workload: str) -> None:
    array = _build("list<int64>", workload)
    offsets = np.asarray(array.offsets)
    spans = np.diff(offsets)
    null = np.asarray(array.is_null())
    assert offsets[0] == 0
    assert offsets[-1] == len(array.values) == SIZE
    assert spans.min() == 0
    assert not spans[null].any()
    assert spans[~null].sum() == SIZE
    assert not null[0]  # the first offset is a valid one
    assert spans.mean() == pytest.approx(common.WORKLOADS[workload].list_length, rel=0.001)


# Size statistics


def _written(type_name: str, workload: str, pages: str, level: str) -> pa.Buffer:
    table = common.build_table(type_name, workload, SIZE)
    return common.write_table(table, **size_statistics.options(workload, pages, level)).getvalue()


@pytest.mark.parametrize("workload", size_statistics.WORKLOADS)
@pytest.mark.parametrize("type_name", ["list<int64>", "list<string>"])
def test_histograms_of_lists_are_counted_from_their_arrays(type_name: str, workload: str) -> None:
    array = _build(type_name, workload)
    elements = array.values
    empty = int((np.diff(np.asarray(array.offsets)) == 0).sum()) - array.null_count
    chunk = colwriter.read_metadata(_written(type_name, workload, "one page", "ColumnChunk")).row_groups[0].columns[0]
    statistics = chunk.meta_data.size_statistics
    null, valid = elements.null_count, len(elements) - elements.null_count
    assert statistics.definition_level_histogram == (array.null_count, empty, null, valid)
    filled = len(array) - array.null_count - empty
    assert statistics.repetition_level_histogram == (len(array), SIZE - filled)
    assert chunk.meta_data.num_values == SIZE + array.null_count + empty


@pytest.mark.parametrize("workload", size_statistics.WORKLOADS)
@pytest.mark.parametrize("pages", list(size_statistics.PAGES))
@pytest.mark.parametrize("type_name", common.TYPES)
def test_levels_differ_in_size_statistics_alone(type_name: str, pages: str, workload: str) -> None:
    for level in size_statistics.LEVELS:
        file = _written(type_name, workload, pages, level)
        chunk = colwriter.read_metadata(file).row_groups[0].columns[0].meta_data
        column_index, offset_index = colwriter.read_page_index(file)
        assert column_index is not None
        assert offset_index is not None
        assert chunk.statistics is not None
        assert (chunk.size_statistics is not None) == (level != "None")
        assert (column_index.definition_level_histograms is not None) == (level == "PageAndColumnChunk")
        assert ("RLE_DICTIONARY" in {encoding.name for encoding in chunk.encodings}) == (workload != "seed")


def test_pages_are_cut_as_said() -> None:
    table = common.build_table("int64", "seed", 50_000)
    for pages, expected in {"one page": 1, "20000 rows": 3}.items():
        options = size_statistics.options("seed", pages, "None") | {"row_group_size": 50_000}
        _, offset_index = colwriter.read_page_index(common.write_table(table, **options).getvalue())
        assert len(offset_index.page_locations) == expected


def test_a_cost_has_the_bytes_of_the_files(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(size_statistics, "build_table", lambda t, w: common.build_table(t, w, SIZE))
    cost = size_statistics.measure("string", "seed", "20000 rows", rounds=1)
    sizes = [len(_written("string", "seed", "20000 rows", level)) for level in size_statistics.LEVELS]
    assert cost.file_bytes == sizes[2]
    assert cost.size_statistics_bytes == sizes[2] - sizes[0] > sizes[1] - sizes[0] > 0


# Histograms


@pytest.mark.parametrize("max_level", [1, 2, 3, 8])
@pytest.mark.parametrize("pattern", histogram.PATTERNS)
def test_all_counters_count_the_same(pattern: str, max_level: int) -> None:
    levels = histogram.build_levels(pattern, max_level, 45_001)
    assert set(levels) == set(range(max_level + 1))
    pages = [levels[start : start + histogram.PAGE_LEVELS] for start in range(0, 45_001, histogram.PAGE_LEVELS)]
    expected = [np.bincount(page, minlength=max_level + 1) for page in pages]
    for name in histogram.COUNTERS:
        count = histogram.make_counter(name, levels, max_level)
        count()[:] = -1  # neither the result nor scratch memory of a call is that of the next
        np.testing.assert_array_equal(count(), expected)


def test_patterns_of_levels() -> None:
    skewed, random, ordered = (histogram.build_levels(pattern, 3, SIZE) for pattern in histogram.PATTERNS)
    assert np.bincount(skewed)[2] / SIZE == pytest.approx(histogram.SKEW + (1 - histogram.SKEW) / 4, abs=0.01)
    assert np.bincount(random).min() / SIZE == pytest.approx(1 / 4, abs=0.02)
    assert (np.diff(ordered.astype(int)) >= 0).all()


# Bulk


@pytest.mark.parametrize("length", [1, 3, 64])
@pytest.mark.parametrize("type_name", bulk.TYPES)
def test_all_ways_to_copy_store_the_same(type_name: str, length: int) -> None:
    case = bulk.build(type_name, length, size=192)
    stored = []
    end = len(case.out) - bulk.PADDING if type_name == bulk.STRING else len(case.out)
    for copy in case.ways.values():
        case.out[:] = 0
        copy()
        stored.append(case.out[:end].tobytes())
    assert set(stored) == {stored[0]}
    assert any(stored[0])


# Arenas


@pytest.mark.parametrize("type_name", list(arenas.TYPES))
def test_fresh_and_reused_memory_make_the_same_file(type_name: str) -> None:
    steps = arenas.make_steps(type_name, "3000")
    expected = steps.target.to_pybytes()
    assert pq.read_table(io.BytesIO(expected)).num_rows == 3000
    target = np.frombuffer(steps.target, np.uint8)
    for step in (arenas.SERIALISE, "both"):
        for write in arenas.make_functions(steps, step)[:2]:
            steps.target = pa.py_buffer(bytearray(len(target)))
            write()
            assert steps.target.to_pybytes() == expected


def test_fresh_memory_is_counted_and_kept_memory_is_not() -> None:
    fresh, reused, _ = arenas.make_functions(arenas.make_steps("int64", "100000"), arenas.BUILD)
    assert arenas.allocated(fresh) > 800_000 > 40_000 > arenas.allocated(reused)


# Footers


@pytest.mark.parametrize("shape", ["3 x 2", "70 x 1"])
def test_all_ways_to_encode_metadata_make_the_same_bytes(shape: str) -> None:
    for kind in footer.KINDS:
        ways = footer.make_ways(kind, shape)
        del ways[footer.FLOOR]
        written = {name: bytes(write()) for name, write in ways.items()}
        if kind == footer.FOOTER:
            # A file of metadata alone, and Thrift's own way to encode.
            file = written.pop(footer.PYARROW)
            assert pq.read_metadata(io.BytesIO(file)).num_columns == int(shape.split()[0])
        elif kind == footer.HEADERS:
            first = written.pop(footer.WRITER)
            assert written[footer.STREAM].startswith(first)
        assert len(set(written.values())) == 1


# Plots


def test_plots_have_a_line_for_each_value_measured(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name = "arenas.Ratios.track_reused"
    (tmp_path / "machine").mkdir()
    params = [["'int64'", "'string'"], ["'10000'", "'1000000'"], ["'build'", "'both'"]]
    columns = ["result", "params"]
    for date, values in ((1, [9.0] * 8), (2, [0.5, 0.5, 0.25, 0.5, 0.5, 0.5, None, None])):
        content = {"date": date, "result_columns": columns, "results": {name: [values, params]}}
        (tmp_path / "machine" / f"{date}.json").write_text(json.dumps(content))
    (tmp_path / "benchmarks.json").write_text(json.dumps({name: {"param_names": ["type", "rows", "step"]}}))
    (plot,) = (plot for plot in plots.PLOTS if plot.benchmark == name)
    along, lines = plots.series(plot, plots.latest(tmp_path, name), plots.parameter_names(tmp_path, name))
    assert along == ["build", "both"]
    assert lines == {"int64": [0.25, 0.5]}
    monkeypatch.setattr(sys, "argv", ["plots", "--results", str(tmp_path), "--to", str(tmp_path / "plots")])
    plots.main()
    (chart,) = (tmp_path / "plots").iterdir()
    root = ElementTree.fromstring(chart.read_text())
    assert len(root.findall("{*}circle")) == 2
    assert len(root.findall("{*}polyline")) == 1


# Peers


def _require(writer: str) -> None:
    if not peers.WRITERS[writer].installed:
        pytest.skip(f"{writer} is not installed")


def test_cases() -> None:
    assert list(peers.CASES)[:5] == ["seed", "seed one page", "dense-10", "dense-10 snappy", "dense-10 zstd"]
    assert len(peers.CASES) == 11


@pytest.mark.parametrize("case", ["seed", "dense-1000", "dense-10 snappy", "dense-10 zstd"])
@pytest.mark.parametrize("type_name", peers.TYPES)
@pytest.mark.parametrize("writer", list(peers.WRITERS))
def test_every_writer_writes_the_same_rows(writer: str, type_name: str, case: str) -> None:
    _require(writer)
    table = common.build_table(type_name, peers.CASES[case].workload, SIZE)
    write = peers.WRITERS[writer].prepare(table, peers.CASES[case])
    files = [peers.contents(write()) for _ in range(2)]
    assert len(files[0]) == len(files[1])
    assert pq.read_table(io.BytesIO(files[1]))["column"].to_pylist() == table["column"].to_pylist()
    metadata = pq.read_metadata(io.BytesIO(files[1]))
    chunk = metadata.row_group(0).column(0)
    assert metadata.num_row_groups == 1
    assert chunk.compression == {"none": "UNCOMPRESSED"}.get(peers.CASES[case].codec, peers.CASES[case].codec.upper())
    if writer != "polars":  # which makes its own choice
        assert any("DICTIONARY" in encoding for encoding in chunk.encodings) == (case != "seed")


def test_the_file_of_duckdb_goes_when_its_writer_does() -> None:
    _require("duckdb")
    write = peers.WRITERS["duckdb"].prepare(common.build_table("int64", "dense-10", SIZE), peers.CASES["dense-10"])
    path = write()
    assert path.exists()
    del write
    gc.collect()
    assert not path.parent.exists()


def test_a_comparison_has_all_writers_and_the_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "build_table", lambda t, w: common.build_table(t, w, SIZE))
    names = [name for name, writer in peers.WRITERS.items() if writer.installed]
    comparison = peers.measure("string", peers.CASES["seed"], rounds=1)
    assert list(comparison.seconds) == list(comparison.ratios) == [*names, peers.FLOOR]
    assert list(comparison.file_bytes) == names
    for name, ratio in comparison.ratios.items():  # of one round
        assert ratio.median == pytest.approx(comparison.seconds[peers.OURS] / comparison.seconds[name])


def test_a_peer_that_is_not_installed_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    missing = peers.Writer("no_such_package.module", peers.WRITERS["pyarrow"].prepare)
    assert not missing.installed
    monkeypatch.setitem(peers.WRITERS, "polars", missing)
    monkeypatch.setattr(peers, "build_table", lambda t, w: common.build_table(t, w, SIZE))
    comparison = peers.measure("int64", peers.CASES["seed"], rounds=1, peers=("pyarrow", "polars"))
    assert list(comparison.seconds) == [peers.OURS, "pyarrow", peers.FLOOR]
    with pytest.raises(NotImplementedError, match="polars"):
        peers.Ratios().setup({}, "polars", "int64", "seed")


def test_the_floor_copies_input_and_file(monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[bytes] = []
    copy = peers.make_floor(common.build_table("string", "seed", SIZE), b"a file")
    monkeypatch.setattr(np, "copyto", lambda target, source: copied.append(source.tobytes()))
    copy()
    buffers = common.build_table("string", "seed", SIZE)["column"].chunk(0).buffers()
    assert copied == [*(buffer.to_pybytes() for buffer in buffers), b"a file"]


def test_one_thread_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    counts: list[int] = []
    monkeypatch.setattr(pa, "set_cpu_count", counts.append)
    monkeypatch.setenv("POLARS_MAX_THREADS", "4")
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(thread_pool_size=lambda: 1))
    common.use_one_thread()
    assert counts == [1]
    monkeypatch.setitem(sys.modules, "polars", SimpleNamespace(thread_pool_size=lambda: 2))
    with pytest.raises(RuntimeError, match="more than one thread"):
        common.use_one_thread()


# Other modules


def test_row_groups_have_the_memory_they_say() -> None:
    first, second = (MODULES["peak_memory"].row_group(number, 16) for number in range(2))
    assert first.nbytes == pytest.approx((16 << 20) / MODULES["peak_memory"].SCALE, rel=0.001)
    assert not first.equals(second)
    first.validate(full=True)


def test_small_tables() -> None:
    for name, shape in MODULES["overhead"].SHAPES.items():
        table = MODULES["overhead"].build(shape.columns)
        assert table.shape == (10, int(name.split()[0]))
        for write in MODULES["overhead"].make_writers(table).values():
            write()


# Paired timing


class Clock:
    """Time passes only when a task runs; the machine may slow down from round to round."""

    def __init__(self) -> None:
        self.now = 100.0
        self.speed = 1.0
        self.calls: list[str] = []

    def __call__(self) -> float:
        return self.now

    def task(self, name: str, *seconds: float) -> Callable[[], None]:
        """A task that takes these times in turn, over and over."""
        count = 0

        def run() -> None:
            nonlocal count
            self.calls.append(name)
            self.now += self.speed * seconds[count % len(seconds)]
            count += 1

        return run


def test_each_order_is_met_once_in_a_cycle() -> None:
    clock = Clock()
    tasks = [clock.task(name, 1.0) for name in "ABC"]
    common.paired_medians(tasks, 6, warmups=0, clock=clock)
    orders = ["".join(clock.calls[i : i + 3]) for i in range(0, 18, 3)]
    assert orders == ["ABC", "BCA", "CAB", "CBA", "ACB", "BAC"]


def test_medians_and_paired_ratios() -> None:
    clock = Clock()
    times = common.paired_medians(
        [clock.task("A", 1.0, 2.0, 4.0, 8.0, 16.0), clock.task("B", 2.0, 2.0, 12.0, 8.0, 64.0)],
        5,
        warmups=0,
        clock=clock,
    )
    assert times.medians == [4.0, 8.0]
    ratio = times.ratio(1)  # of 2, 1, 3, 1, 4
    assert ratio.median == 2.0
    assert ratio.iqr == 2.0
    assert times.ratio(0, base=1).median == 0.5
    assert times.ratio(0) == common.Ratio(1.0, 0.0)


def test_a_machine_that_slows_down_changes_times_and_no_ratio() -> None:
    clock = Clock()
    first = clock.task("A", 1.0)

    def slower() -> None:
        clock.speed = 1.0 + len(clock.calls) // 2
        first()

    times = common.paired_medians([slower, clock.task("B", 3.0)], 1, warmups=0, clock=clock)
    later = common.paired_medians([slower, clock.task("B", 3.0)], 1, warmups=0, clock=clock)
    assert later.medians == [2 * seconds for seconds in times.medians]
    assert times.ratio(1) == later.ratio(1) == common.Ratio(3.0, 0.0)


def test_warm_ups_are_not_timed_and_a_time_is_that_of_one_call() -> None:
    clock = Clock()
    times = common.paired_medians([clock.task("A", 50.0, 1.0, 3.0, 1.0, 3.0)], 2, number=2, warmups=1, clock=clock)
    assert clock.calls == ["A"] * 5
    assert times.times.tolist() == [[2.0], [2.0]]


def test_garbage_is_not_collected_meanwhile() -> None:
    states: list[bool] = []
    assert gc.isenabled()
    common.paired_medians([lambda: states.append(gc.isenabled())], 2, warmups=0)
    assert states == [False, False]
    assert gc.isenabled()

    def fail() -> None:
        raise ValueError("meanwhile")

    with pytest.raises(ValueError, match="meanwhile"):
        common.paired_medians([fail], 1, warmups=0)
    assert gc.isenabled()
    gc.disable()
    try:
        common.paired_medians([lambda: None], 1)
        assert not gc.isenabled()
    finally:
        gc.enable()
