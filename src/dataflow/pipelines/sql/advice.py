"""Replacements for functions that are not supported on Spark."""

from __future__ import annotations

from dataflow.model.wording import did_you_mean
from dataflow.pipelines.sql.catalogue import list_functions

_INSTEAD = {
    "any_value": "write min(…)",
    "array_fill": "write array[…], or string_to_array(repeat(…), …)",
    "bit_xor": "compute it from the single bits",
    "clock_timestamp": "write now()",
    "crc32": "write md5(…)",
    "crosstab": "write sum(…) FILTER (WHERE …) for each column",
    "current_time": "write to_char(now(), 'HH24:MI:SS')",
    "digest": "write sha256(convert_to(…, 'UTF8')), or md5(…)",
    "hashtext": "write md5(…)",
    "json_each": "write jsonb_each(…::jsonb)",
    "json_each_text": "write jsonb_each_text(…::jsonb)",
    "json_object": "write jsonb_build_object(…)",
    "json_object_agg": "write jsonb_object_agg(…)",
    "json_populate_record": "write (x ->> 'column')::type for each column",
    "json_populate_recordset": "write (x ->> 'column')::type over jsonb_array_elements(…) AS x",
    "json_to_record": "write (x ->> 'column')::type for each column",
    "json_to_recordset": "write (x ->> 'column')::type over jsonb_array_elements(…::jsonb) AS x",
    "jsonb_object": "write jsonb_build_object(…)",
    "jsonb_populate_record": "write (x ->> 'column')::type for each column",
    "jsonb_populate_recordset": "write (x ->> 'column')::type over jsonb_array_elements(…) AS x",
    "jsonb_to_record": "write (x ->> 'column')::type for each column",
    "jsonb_to_recordset": "write (x ->> 'column')::type over jsonb_array_elements(…) AS x",
    "localtime": "write to_char(now(), 'HH24:MI:SS')",
    "quote_literal": "cast its argument to text",
    "quote_nullable": "cast its argument to text",
    "row": "list its columns instead",
    "row_to_json": "write to_jsonb(…)",
    "soundex": "compare lower(…), or regexp_replace(…)",
    "to_tsvector": "write ~* with a regular expression",
    "unaccent": "write regexp_replace(normalize(…, NFD), U&'[\\0300-\\036F]', '', 'g')",
}
_PATHS = "write ->, ->> and jsonb_array_elements instead of a path"


def instead_of(name: str) -> str:
    """What to write instead of that function or operator, after a semicolon; may be empty."""
    if name.startswith("jsonb_path_") or name in ("@?", "@@"):
        return f"; {_PATHS}"
    if name in _INSTEAD:
        return f"; {_INSTEAD[name]}"
    near = "" if name in list_functions() else did_you_mean(name, list_functions())
    return f"; {near.strip()[0].lower()}{near.strip()[1:-1]}" if near else ""
