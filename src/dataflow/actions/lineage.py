"""Lineage: what was made from what, as a graph of datasets and jobs, or of chunks and runs.

Chunks and runs are those that the runs have pinned, whatever the jobs read by now.
"""

from __future__ import annotations

from dataflow.actions.names import get_dataset
from dataflow.errors import UnknownName
from dataflow.model.dataid import canonical_dataid
from dataflow.model.grain import Grain
from dataflow.model.mapping import SAME
from dataflow.model.record import record

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from dataflow.store.lineage_reads import JobFeed, LineageChunk
    from dataflow.store.store import Store

DATASET, JOB, CHUNK, RUN = "dataset", "job", "chunk", "run"

UP, DOWN = "up", "down"
BOTH = (UP, DOWN)


@record
class Node:
    """A dataset, job, chunk or run. `facts` says more about it, such as a chunk's version."""

    id: str
    kind: str
    name: str
    facts: tuple[tuple[str, object], ...] = ()

    @property
    def label(self) -> str:
        """The node as people read it."""
        facts = dict(self.facts)
        if self.kind == RUN:
            at_work = ", at work" if facts["at_work"] else ""
            return f"run {facts['run_id']} of {facts['job']}/{facts['dataid']}{at_work}"
        if self.kind == CHUNK:
            found = (
                [] if facts["version"] == facts["current_version"] else [f"now {facts['current_version']}"]
            )
            found += [str(facts["status"])] if facts["status"] not in ("", "READY") else []
            return f"{self.name} version {facts['version']}" + (f" ({', '.join(found)})" if found else "")
        return f"job {self.name}" if self.kind == JOB else self.name


@record
class Edge:
    """What goes from one node into another; `note`: a mapping other than `same`, or an older version."""

    source: str
    target: str
    note: str = ""


@record
class Lineage:
    """A graph around some nodes; edges go in the direction of the data."""

    roots: tuple[str, ...]
    nodes: dict[str, Node]
    edges: tuple[Edge, ...]

    def leading(self, direction: str) -> dict[str, list[Edge]]:
        """Return the edges that lead away from each node, up or down."""
        found: dict[str, list[Edge]] = {}
        for edge in self.edges:
            found.setdefault(edge.target if direction == UP else edge.source, []).append(edge)
        return found


def trace_dataset(store: Store, dataset: str, directions: Sequence[str], depth: int = 0) -> Lineage:
    """Return the datasets and jobs that a dataset is made from, or that use it, as they are registered.

    At most `depth` jobs away; 0 for all.
    """
    get_dataset(store, dataset)
    root = f"{DATASET}:{dataset}"
    whole = trace_all(store)
    nodes = {root: Node(root, DATASET, dataset)} | whole.nodes
    return nearest(Lineage((root,), nodes, whole.edges), directions, 2 * depth)  # a job, and its datasets


def trace_all(store: Store) -> Lineage:
    """Return all jobs with the datasets that they read and produce, as they are registered."""
    edges = [_edge(feed) for feed in store.read.list_job_feeds()]
    nodes = {}
    for edge in edges:
        for name in (edge.source, edge.target):
            kind, _, thing = name.partition(":")
            nodes[name] = Node(name, kind, thing)
    return Lineage((), nodes, tuple(edges))


def _edge(feed: JobFeed) -> Edge:
    dataset, job = f"{DATASET}:{feed.dataset}", f"{JOB}:{feed.job}"
    if feed.is_input:
        return Edge(dataset, job, "" if feed.mapping == SAME else feed.mapping)
    return Edge(job, dataset)


def trace_chunk(
    store: Store, dataset_name: str, dataid: str, directions: Sequence[str], depth: int = 0
) -> Lineage:
    """Return the chunks and runs that a chunk was made from, or that were made from it, by the runs' pins."""
    dataset_id, dataset = get_dataset(store, dataset_name)
    dataid = canonical_dataid(dataid, Grain(dataset.grain), dataset.timezone)
    found = store.read.find_chunk(dataset_id, dataid)
    if found is None or not found.version:
        raise UnknownName(f"{dataset_name}/{dataid} was never published. See: dataflow chunks {dataset_name}")
    graph = _ChunkGraph(store, (found.chunk_id, found.version))
    if UP in directions and found.run_id:
        graph.add_up(found.run_id)
    if DOWN in directions:
        graph.add_down(found.chunk_id)
    return nearest(graph.finish(), directions, 2 * depth)  # a run, and what is behind it


def nearest(lineage: Lineage, directions: Sequence[str], steps: int = 0) -> Lineage:
    """Return the part of a graph that can be reached from its roots in `steps` steps; 0 for any number."""
    kept: dict[Edge, None] = {}
    for direction in directions:
        leading = lineage.leading(direction)
        found, known, left = list(lineage.roots), set(lineage.roots), steps or len(lineage.nodes)
        while found and left:
            taken = [edge for node in found for edge in leading.get(node, ())]
            kept |= dict.fromkeys(taken)
            others = [edge.source if direction == UP else edge.target for edge in taken]
            found = [node for node in dict.fromkeys(others) if node not in known]
            known |= set(found)
            left -= 1
    names = dict.fromkeys([*lineage.roots, *(name for edge in kept for name in (edge.source, edge.target))])
    return Lineage(lineage.roots, {name: lineage.nodes[name] for name in names}, tuple(kept))


class _ChunkGraph:
    """Collects versions of chunks, and the runs between them."""

    def __init__(self, store: Store, root: tuple[int, int]) -> None:
        self._store = store
        self._root = root
        self._versions: dict[tuple[int, int], int | None] = {root: None}  # with the run that made each
        self._runs: dict[int, Node] = {}
        self._edges: dict[tuple[tuple[int, int] | int, tuple[int, int] | int], str] = {}  # with a note

    def add_up(self, run_id: int) -> None:
        """Add what a run has read, and the runs that made it."""
        self._edges[run_id, self._root] = ""
        self._versions[self._root] = run_id
        for row in self._store.read.list_read_by([run_id]):
            read = (row.input_id, row.input_version)
            self._add_run(row.run_id, row.job, row.dataid)
            self._edges[read, row.run_id] = ""
            self._versions[read] = row.made_by
            if row.made_by:
                self._edges[row.made_by, read] = ""
        self._describe_others()

    def add_down(self, chunk_id: int) -> None:
        """Add what was made from a chunk in any of its versions, and the runs that read it so far."""
        made = self._store.read.list_made_from([chunk_id])
        current = dict([self._root]) | {row.chunk_id: row.version for row in made}
        for row in made:
            self._add_run(row.run_id, row.job, row.dataid)
            self._add_read(row.run_id, row.input_id, row.input_version, current)
            self._edges[row.run_id, (row.chunk_id, row.version)] = ""
            self._versions[row.chunk_id, row.version] = row.run_id
        for reader in self._store.read.list_readers(sorted(current)):
            self._add_run(reader.run_id, reader.job, reader.dataid, reader.is_at_work)
            self._add_read(reader.run_id, reader.input_id, reader.input_version, current)

    def finish(self) -> Lineage:
        """Return the graph, with what is published of each chunk now."""
        ids = sorted({chunk_id for chunk_id, _ in self._versions})
        now = {chunk.chunk_id: chunk for chunk in self._store.read.list_lineage_chunks(ids)}
        names = {key: f"{now[key[0]].dataset}/{now[key[0]].dataid}@{key[1]}" for key in self._versions}
        nodes = {
            name: _chunk_node(name, now[key[0]], key[1], self._versions[key]) for key, name in names.items()
        }
        nodes |= {node.id: node for node in self._runs.values()}
        edges = []
        for (source, target), note in self._edges.items():
            first, second = (f"run:{end}" if isinstance(end, int) else names[end] for end in (source, target))
            edges.append(Edge(first, second, note))
        return Lineage((names[self._root],), nodes, tuple(edges))

    def _add_read(self, run_id: int, chunk_id: int, version: int, current: dict[int, int]) -> None:
        """Add what a run read, as an edge from the current version: an older one has none of its own here."""
        note = "" if version == current[chunk_id] else f"version {version}"
        self._edges[(chunk_id, current[chunk_id]), run_id] = note

    def _add_run(self, run_id: int, job: str, dataid: str, at_work: bool = False) -> None:
        facts = (("run_id", run_id), ("job", job), ("dataid", dataid), ("at_work", at_work))
        self._runs[run_id] = Node(f"run:{run_id}", RUN, f"{job}/{dataid}", facts)

    def _describe_others(self) -> None:
        """Add the runs that read nothing, and so are in no answer; purged ones are left out."""
        made_by = {run_id for run_id in self._versions.values() if run_id} - self._runs.keys()
        for run_id in sorted(made_by):
            run = self._store.read.find_run(run_id)
            if run is not None:
                self._add_run(run.run_id, run.job, run.dataid)
                continue
            self._edges = {edge: note for edge, note in self._edges.items() if run_id not in edge}


def _chunk_node(name: str, chunk: LineageChunk, version: int, run_id: int | None) -> Node:
    status = ""
    if version == chunk.version:
        status = "withdrawn" if chunk.withdrawn else "STALE" if chunk.stale else "READY"
        run_id = run_id or chunk.run_id
    facts = (
        ("dataset", chunk.dataset),
        ("dataid", chunk.dataid),
        ("version", version),
        ("current_version", chunk.version),
        ("run_id", run_id),
        ("status", status),
    )
    return Node(name, CHUNK, f"{chunk.dataset}/{chunk.dataid}", facts)
