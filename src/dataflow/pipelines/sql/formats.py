"""to_char, to_date and to_timestamp: PostgreSQL's formats of dates and times."""

from __future__ import annotations

import re
from datetime import datetime

from sqlglot import exp

from dataflow.pipelines.sql.casting import cast
from dataflow.pipelines.sql.types import DATE, TEXT, TIMES, TIMESTAMPTZ, SqlType
from dataflow.pipelines.sql.work import Handler, Typed, Work, text_literal

# Years before 1 are counted backwards from it; LPAD would cut those after 9999.
_YEAR = "CAST(CASE WHEN {year} < 1 THEN 1 - {year} ELSE {year} END AS STRING)"
_PADDED = f"LPAD({_YEAR}, GREATEST(4, LENGTH({_YEAR})), '0')"
_WEEKS_YEAR = "EXTRACT(YEAROFWEEK FROM {0})"

# PostgreSQL's word: what Spark writes for it, plain and after FM.
_WRITING = {
    "YYYY": (_PADDED.format(year="YEAR({0})"), _YEAR.format(year="YEAR({0})")),
    "YY": ("DATE_FORMAT({}, 'yy')",) * 2,
    "MM": ("DATE_FORMAT({}, 'MM')", "DATE_FORMAT({}, 'M')"),
    "DD": ("DATE_FORMAT({}, 'dd')", "DATE_FORMAT({}, 'd')"),
    "DDD": ("DATE_FORMAT({}, 'DDD')", "DATE_FORMAT({}, 'D')"),
    "HH24": ("DATE_FORMAT({}, 'HH')", "DATE_FORMAT({}, 'H')"),
    "HH12": ("DATE_FORMAT({}, 'hh')", "DATE_FORMAT({}, 'h')"),
    "HH": ("DATE_FORMAT({}, 'hh')", "DATE_FORMAT({}, 'h')"),
    "MI": ("DATE_FORMAT({}, 'mm')", "DATE_FORMAT({}, 'm')"),
    "SS": ("DATE_FORMAT({}, 'ss')", "DATE_FORMAT({}, 's')"),
    "MS": ("DATE_FORMAT({}, 'SSS')",),
    "US": ("DATE_FORMAT({}, 'SSSSSS')",),
    "AM": ("DATE_FORMAT({}, 'a')",) * 2,
    "PM": ("DATE_FORMAT({}, 'a')",) * 2,
    "Q": ("CAST(QUARTER({}) AS STRING)",) * 2,
    "IW": ("LPAD(CAST(WEEKOFYEAR({}) AS STRING), 2, '0')", "CAST(WEEKOFYEAR({}) AS STRING)"),
    "IYYY": (_PADDED.format(year=_WEEKS_YEAR), _YEAR.format(year=_WEEKS_YEAR)),
    "ID": ("CAST(WEEKDAY({}) + 1 AS STRING)",) * 2,
    "Mon": ("DATE_FORMAT({}, 'MMM')",) * 2,
    "MON": ("UPPER(DATE_FORMAT({}, 'MMM'))",) * 2,
    "mon": ("LOWER(DATE_FORMAT({}, 'MMM'))",) * 2,
    "Month": ("RPAD(DATE_FORMAT({}, 'MMMM'), 9)", "DATE_FORMAT({}, 'MMMM')"),
    "MONTH": ("RPAD(UPPER(DATE_FORMAT({}, 'MMMM')), 9)", "UPPER(DATE_FORMAT({}, 'MMMM'))"),
    "Dy": ("DATE_FORMAT({}, 'EEE')",) * 2,
    "Day": ("RPAD(DATE_FORMAT({}, 'EEEE'), 9)", "DATE_FORMAT({}, 'EEEE')"),
    "DAY": ("RPAD(UPPER(DATE_FORMAT({}, 'EEEE')), 9)", "UPPER(DATE_FORMAT({}, 'EEEE'))"),
}
_WORDS = "|".join(sorted(_WRITING, key=len, reverse=True))
_PIECE = re.compile(
    rf'(?P<fill>FM)?(?P<word>{_WORDS})(?!th|TH)|"(?P<text>[^"\\]*)"|(?P<mark>[^A-Za-z0-9"\\]+)'
)

# What is read for each word: a pattern, and strptime's and Spark's notation.
_READING = {"YYYY": (4, "%Y", "yyyy"), "MM": (2, "%m", "MM"), "DD": (2, "%d", "dd")}
_READING |= {"HH24": (2, "%H", "HH"), "MI": (2, "%M", "mm"), "SS": (2, "%S", "ss")}


def _to_char(work: Work, node: exp.Anonymous) -> Typed:
    value, layout = _arguments(work, node)
    if value.type.name not in TIMES:
        work.refuse(node, f"formats {value.type.postgres}; only dates and times are translated")
    time = cast(work, value, TIMESTAMPTZ, node) if value.type == DATE else value
    pieces = []
    for piece in _split(work, layout, node):
        if word := piece["word"]:
            forms = _WRITING[word]
            if piece["fill"] and len(forms) == 1:
                work.refuse(node, f"formats with FM{word}")
            pieces.append(forms[bool(piece["fill"])].format(time.sql))
        else:
            pieces.append(text_literal(piece["text"] if piece["mark"] is None else piece["mark"]))
    # PostgreSQL gives NULL for an empty format, and for NULL.
    return Typed(f"CONCAT({', '.join(pieces)})" if pieces else "CAST(NULL AS STRING)", TEXT)


def _to_date(work: Work, node: exp.Anonymous) -> Typed:
    return _read(work, node, DATE)


def _to_timestamp(work: Work, node: exp.Anonymous) -> Typed:
    if len(node.expressions) == 1:
        work.refuse(node, "turns a number into a time")
    return _read(work, node, TIMESTAMPTZ)


def _read(work: Work, node: exp.Anonymous, target: SqlType) -> Typed:
    """Text read by a format: what follows the part the format describes is ignored, as PostgreSQL does."""
    value, layout = _arguments(work, node)
    pattern, python_format, spark_format, length = _reading(work, layout, node)
    if value.type.name not in ("text", "unknown"):
        work.refuse(node, f"reads {value.type.postgres} as text; cast it to text")
    if value.constant is not None:
        return _read_constant(work, node, target, value.constant, (pattern, python_format, length))
    used = f"SUBSTRING({value.sql}, 1, {length})"
    word = "TO_DATE" if target == DATE else "TO_TIMESTAMP"
    message = text_literal(f"text that is not written like {layout}: ")
    test = f"{value.sql} IS NULL OR {value.sql} RLIKE {text_literal('^' + pattern)}"
    read = f"{word}({used}, {text_literal(spark_format)})"
    return Typed(f"CASE WHEN {test} THEN {read} ELSE RAISE_ERROR(CONCAT({message}, {value.sql})) END", target)


def _read_constant(
    work: Work, node: exp.Anonymous, target: SqlType, text: str, reading: tuple[str, str, int]
) -> Typed:
    pattern, python_format, length = reading
    try:
        if not re.match(pattern, text, re.ASCII):
            raise ValueError(text)
        time = datetime.strptime(text[:length], python_format)
    except ValueError:
        work.refuse(node, f"reads {text!r}, which is not written like its format, or no such day")
    if target == DATE:
        return Typed(f"DATE '{time:%Y-%m-%d}'", DATE)
    return Typed(f"TIMESTAMP '{time.isoformat(sep=' ')}+00:00'", TIMESTAMPTZ)


def _reading(work: Work, layout: str, node: exp.Expr) -> tuple[str, str, str, int]:
    pattern = python_format = spark_format = ""
    length = 0
    for piece in _split(work, layout, node):
        word, mark = piece["word"], piece["mark"]
        if (word and (word not in _READING or piece["fill"])) or (
            mark and not re.fullmatch(r"[-/.: ]+", mark)
        ):
            work.refuse(node, f"reads the format {layout!r}")
        if not word and mark is None:
            work.refuse(node, f"reads the format {layout!r}")
        digits, for_python, for_spark = _READING[word] if word else (0, mark, mark)
        pattern += f"[0-9]{{{digits}}}" if word else re.escape(mark)
        python_format, spark_format, length = (
            python_format + for_python,
            spark_format + for_spark,
            length + (digits or len(mark)),
        )
    if "YYYY" not in layout:
        work.refuse(node, f"reads the format {layout!r}, which has no YYYY")
    # PostgreSQL reads all digits there are for the last word, however many.
    return f"{pattern}(?![0-9])", python_format, spark_format, length


def _split(work: Work, layout: str, node: exp.Expr) -> list[re.Match[str]]:
    pieces, position = [], 0
    while position < len(layout):
        piece = _PIECE.match(layout, position)
        if piece is None:
            work.refuse(node, f"uses the format {layout!r}, of which {layout[position:]!r} is not translated")
        pieces.append(piece)
        position = piece.end()
    return pieces


def _arguments(work: Work, node: exp.Anonymous) -> tuple[Typed, str]:
    if len(node.expressions) != 2:
        work.refuse(node, "needs a value and a format")
    value, layout = (work.expression(each) for each in node.expressions)
    if layout.constant is None or layout.type.name not in ("unknown", "text"):
        work.refuse(node, "uses a format that is not written out")
    return value, layout.constant


FUNCTIONS: dict[str, Handler] = {"to_char": _to_char, "to_date": _to_date, "to_timestamp": _to_timestamp}
