"""Time zones by name, abbreviation or offset, and `at time zone`."""

from __future__ import annotations

import re
from functools import lru_cache
from typing import NamedTuple

from dataflow.pipelines.pg_functions.civil import check_timestamp
from dataflow.pipelines.pg_functions.datetime_fields import Malformed
from dataflow.pipelines.pg_functions.integers import cut
from dataflow.pipelines.pg_functions.intervals import SECOND
from dataflow.pipelines.pg_functions.intervals import show as show_interval
from dataflow.pipelines.pg_functions.signatures import Calls, Interval, for_each
from dataflow.pipelines.pg_functions.zone_rules import LocalTime, Zone, load_zone

# PostgreSQL's default set: minutes ahead of UTC and the abbreviations for that offset, those of a summer time
# with a star.
_FIXED = {
    -600: "hst taht",
    -570: "mart",
    -540: "akst gamt",
    -480: "akdt* pst",
    -420: "mst pdt*",
    -360: "cst galt mdt*",
    -300: "act cdt* cot est pet",
    -240: "amt ast bot edt*",
    -210: "nft nst",
    -180: "adt* bra brt clst* gft pmst pyst* uyt wgt",
    -150: "ndt*",
    -120: "brst* fnt pmdt* uyst* wgst*",
    -60: "azot egt fnst*",
    0: "azost* egst* gmt uct ut utc wet z zulu",
    60: "bst* cet met mez wat wetdst*",
    120: "bdst* cest* cetdst* eet ist mest* mesz* metdst* sast",
    180: "eat eest* eetdst* fet idt*",
    210: "irt",
    240: "msd* mut ret sct",
    270: "aft",
    300: "must* mvt pkt tft tjt uzt",
    345: "npt",
    360: "almt bdt btt kgst* pkst* uzst* xjt yekst*",
    390: "mmt",
    420: "almst* cxt ict wast",
    480: "awst bnt bort cct hkt myt pht wadt*",
    525: "acwst",
    540: "awsst* jayt jst kst pwt ulast* wdt*",
    570: "acst cast",
    600: "aest chut ddut kdt* ligt mpt pgt trut yapt",
    630: "acdt* acsst* cadt* lhst sadt*",
    660: "aedt* aesst* pont vut",
    720: "fjt gilt mht nzst nzt tvt wakt wft",
    765: "chast",
    780: "fjst* nzdt* tot",
    825: "chadt*",
}
# Abbreviations whose meaning changed over time, and the zone that defines it.
_CHANGING = {
    "America/": "art:Argentina/Buenos_Aires arst:Argentina/Buenos_Aires clt:Santiago gyt:Guyana pyt:Asuncion "
    "vet:Caracas",
    "Antarctica/": "davt:Davis mawt:Mawson",
    "Asia/": "amst:Yerevan anast:Anadyr anat:Anadyr azst:Baku azt:Baku gest:Tbilisi get:Tbilisi "
    "irkst:Irkutsk irkt:Irkutsk kgt:Bishkek krast:Krasnoyarsk krat:Krasnoyarsk lkt:Colombo magst:Magadan "
    "magt:Magadan novst:Novosibirsk novt:Novosibirsk omsst:Omsk omst:Omsk petst:Kamchatka pett:Kamchatka "
    "sgt:Singapore tmt:Ashgabat ulat:Ulaanbaatar vlast:Vladivostok vlat:Vladivostok yakst:Yakutsk "
    "yakt:Yakutsk yekt:Yekaterinburg",
    "Atlantic/": "fkst:Stanley fkt:Stanley",
    "Australia/": "lhdt:Lord_Howe",
    "Europe/": "msk:Moscow volt:Volgograd",
    "Indian/": "iot:Chagos",
    "Pacific/": "ckt:Rarotonga easst:Easter east:Easter kost:Kosrae lint:Kiritimati nut:Niue tkt:Fakaofo",
}
FIXED = {name.strip("*"): minutes * 60 for minutes, names in _FIXED.items() for name in names.split()}
# The abbreviations of summer times, after which "DST" cannot follow.
SUMMER = frozenset(name[:-1] for names in _FIXED.values() for name in names.split() if name[-1] == "*")
CHANGING = {
    pair.split(":")[0]: area + pair.split(":")[1]
    for area, pairs in _CHANGING.items()
    for pair in pairs.split()
}


class NamedTime(NamedTuple):
    """A zone restricted to one of its abbreviations, with its meaning at the time."""

    zone: Zone
    name: str

    def at(self, moment: int) -> LocalTime:
        if found := self.zone.find_name(self.name, moment):
            return found
        local = moment + self.zone.at(moment).offset
        return LocalTime(self.zone.offset_of_local(local), self.name)

    def offset_of_local(self, local: int) -> int:
        offset = self.zone.offset_of_local(local)
        found = self.zone.find_name(self.name, local - offset)
        return found.offset if found else offset


AnyZone = Zone | NamedTime


def fixed_zone(offset: int) -> Zone:
    """A zone with a fixed offset from UTC, in seconds."""
    return Zone((), (), LocalTime(offset, ""), None)


def find_abbreviation(name: str) -> AnyZone | None:
    """The zone of a lower-case abbreviation."""
    if name in FIXED:
        return fixed_zone(FIXED[name])
    if name in CHANGING and (zone := load_zone(CHANGING[name])):
        return NamedTime(zone, name.upper())
    return None


@lru_cache(maxsize=1024)
def find_zone(name: str) -> AnyZone:
    """The zone with that abbreviation, name or POSIX form."""
    found = find_abbreviation(name.lower()) or load_zone(name)
    if not found:
        raise ValueError(f'time zone "{name}" not recognized')
    return found


_OFFSET = re.compile(r"([+-])(\d*)(?::(\d*)(?::(\d*))?)?(.*)", re.DOTALL)


def read_offset(text: str) -> int:
    """Parse an offset such as `+5`, `-0530` or `+05:30:15` to seconds; IndexError above 15 hours."""
    match = _OFFSET.fullmatch(text)
    if not match:
        raise Malformed(text)
    hours, minutes, seconds = int(match[2] or 0), int(match[3] or 0), int(match[4] or 0)
    if match[3] is None and not match[5] and len(text) > 3:
        hours, minutes = divmod(hours, 100)
    if hours > 15 or minutes > 59 or seconds > 59:
        raise IndexError(text)
    if match[5]:
        raise Malformed(text)
    offset = hours * 3600 + minutes * 60 + seconds
    return -offset if match[1] == "-" else offset


def zone_for_making(name: str) -> AnyZone:
    """The zone argument of make_timestamptz: an offset with a sign, or any other zone name."""
    if name[:1].isdigit():
        raise ValueError(f'invalid input syntax for type numeric time zone: "{name}"')
    try:
        return fixed_zone(read_offset(name))
    except IndexError:
        raise ValueError(f'numeric time zone "{name}" out of range') from None
    except Malformed:
        return find_zone(name)


def to_local(zone: str | Interval, micros: int) -> int:
    """Convert a timestamptz to the local time of a zone."""
    return check_timestamp(micros + _zone_of(zone).at(micros // SECOND).offset * SECOND)


def from_local(zone: str | Interval, micros: int) -> int:
    """Convert a local time of a zone to a timestamptz."""
    return check_timestamp(micros - _zone_of(zone).offset_of_local(micros // SECOND) * SECOND)


def _zone_of(given: str | Interval) -> AnyZone:
    if isinstance(given, str):
        return find_zone(given)
    if given.months or given.days:
        shown = show_interval(given)
        raise ValueError(f'interval time zone "{shown}" must not include months or days')
    return fixed_zone(cut(given.micros, SECOND))


SIGNATURES: Calls = {
    **for_each("timezone({}, timestamptz) -> timestamp", dict.fromkeys(("text", "interval"), to_local)),
    **for_each("timezone({}, timestamp) -> timestamptz", dict.fromkeys(("text", "interval"), from_local)),
}
