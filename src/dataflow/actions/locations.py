"""Where chunks are: location templates, and what exists there."""

from __future__ import annotations

import os

from dataflow.model.location import MANIFEST
from dataflow.model.url_text import percent_encode

FIELDS = ("dataid", "encoded_dataid", "run_id", "dataset", "job", "environment")
"""Fields of a location template; encoded_dataid is percent-encoded, as in Hive's folders."""

MAX_FILES = 10_000
"""A folder with more files than this is not measured."""


def resolve_location(template: str, project_dir: str, **fields: object) -> str:
    """Return the location a template names; a path without a scheme is relative to the project folder."""
    place = template
    if "{encoded_dataid}" in template:
        fields["encoded_dataid"] = percent_encode(str(fields.get("dataid", "")))
    for name in FIELDS:
        place = place.replace("{" + name + "}", str(fields.get(name, "")))
    if place.startswith("file://"):
        place = place[7:]
    return absolute_place(place, project_dir)


def absolute_place(place: str, project_dir: str) -> str:
    """Return a location as a command can use it: a relative path starts at the project folder."""
    return os.path.join(project_dir, place) if place and is_local(place) else place


def published_place(place: str, template: str, project_dir: str) -> str:
    """Return a location as it is published: a relative template stays relative to the project folder."""
    return place if template.startswith("/") else place.removeprefix(os.path.join(project_dir, ""))


def is_local(place: str) -> bool:
    """True for a path on this machine, False for anything with a scheme (`s3://…`, `jdbc:…`)."""
    scheme, found, _ = place.partition("://")
    return not (found and "/" not in scheme) and not place.startswith("jdbc:")


def why_not_writable(folder: str) -> str:
    """Return why a folder cannot be created or written to, or an empty string; changes nothing."""
    while not os.path.lexists(folder) and folder != os.path.dirname(folder):
        folder = os.path.dirname(folder)
    if not os.path.isdir(folder):
        return f"{folder} is not a folder"
    return "" if os.access(folder, os.W_OK | os.X_OK) else f"{folder} is not writable by this user"


def measure(place: str) -> int | None:
    """Return the size of a file, of all files in a folder, or of those a manifest lists.

    None if it does not exist or has too many files.
    """
    try:
        if os.path.basename(place) == MANIFEST:
            listed = list_files(place)  # one that is missing counts 0
            return sum([os.stat(path).st_size for path in listed if os.path.exists(path)])
        if not os.path.isdir(place):
            return os.stat(place).st_size
        total = files = 0
        for folder, _, names in os.walk(place):
            for name in names:
                total += os.lstat(os.path.join(folder, name)).st_size
                files += 1
            if files > MAX_FILES:
                return None
        return total
    except OSError:
        return None


def list_files(manifest: str) -> list[str]:
    """Return the paths of the files that a manifest lists."""
    import json  # start-up: only chunks of the lake have manifests

    with open(manifest, encoding="utf-8") as file:
        return [os.path.join(os.path.dirname(manifest), item["path"]) for item in json.load(file)["files"]]
