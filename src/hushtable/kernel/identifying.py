"""Which columns look as if they pointed to persons, so that a draft leaves them out.

By name, or because their values are nearly all different, or rare.  It errs on the side of leaving out: a curator can
declare any column by hand, and nobody should publish a surname because a program proposed it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from unicodedata import combining, normalize

from hushtable.kernel.first_names import FIRST_NAMES
from hushtable.kernel.sources.profile import Profile

FREQUENT = 10
"""How often a value must occur to be listed; a rarer one becomes "(other)".  With less, values of a few people are
proposed; with more, small groups of official lists are left to the curator."""
COVERED = 0.5
"""Share of the rows that frequent values must cover: below, most of a column is rare, and a list of it is of little
use."""
DIFFERENT = 0.5
"""Share of different values from which on a column of text is taken for one of names or notes."""

_LISTED = (
    # names
    """name names surname lastname firstname forename fullname middlename username nickname maidenname lname fname
    vorname nachname familienname geburtsname prenom prénom nom apellido apellidos nombre cognome nome initials
    signature contact alias """
    # places
    """address addr adresse direccion dirección indirizzo street strasse straße rue lat lon lng long latitude longitude
    coordinates geom geometry anschrift wohnadresse hausnummer straßenname strassenname """
    # ways to reach somebody
    """email mail phone telephone telefon tel mobile cell fax url website login emailadresse mailadresse
    telefonnummer handynummer mobilnummer rufnummer telefono teléfono correo """
    # numbers of somebody, and of what belongs to somebody
    """ssn nino nhs passport iban account card licence license plate vin imei ip mac uuid guid id ids identifier kennung
    tailnum ticket cabin mrn kundennummer personalnummer personennummer personnummer sozialversicherungsnummer svnr ahv
    versichertennummer steuernummer matrikelnummer ausweisnummer kontonummer codicefiscale bsn pesel dni cpf custno
    custid empno """
    # what somebody wrote
    """comment comments note notes remark remarks bemerkung bemerkungen text message"""
)
_WORDS = frozenset(_LISTED.split())
"""Words of a column's name that say whom it points to, in some languages of offices."""


_PEOPLE_LISTED = """
    individual person patient subject respondent customer client employee case doctor physician surgeon nurse
    teacher student pupil lecturer interviewer caseworker officer agent seller salesperson driver clerk manager
    supervisor author editor judge lawyer owner tenant donor member worker staff staffer colleague arzt ärztin
    pfleger lehrer lehrerin schüler mitarbeiter mitarbeiterin sachbearbeiter sachbearbeiterin kunde kundin fahrer
    médecin infirmier enseignant élève employé médico paciente profesor empleado medico paziente insegnante
    impiegato
"""
_PEOPLE = frozenset(_PEOPLE_LISTED.split())
"""Words for people: a column of that name that tells many apart is a number of theirs."""
_NUMBERS = frozenset(("id", "ids", "identifier", "kennung", "uuid", "guid", "ssn", "nino", "nhs", "passport"))
"""Words for a number of somebody."""
_COUNTED = frozenset(("no", "nr", "num", "number", "nummer", "numero", "numéro"))
"""Words that, right behind a word for people, make a number of somebody of it."""
MANY = 50
"""Different values from which on such a column is taken for a number of persons, and not for a group of them."""
NAMED = 0.3
"""Share of different texts that begin with a first name from which on a column is taken for one of people: with less,
a list of towns with a Florence and a Victoria is left out; with more, names from everywhere are drafted."""


_TITLES_LISTED = "dr prof mr mrs ms miss sir med herr frau mme mlle m sr sra don dott ing"
_TITLES = frozenset(_TITLES_LISTED.split())
"""Words before a first name."""


_REACHED = re.compile(
    r"""[^\s@]+@[^\s@]+\.\w+ | @\w+ | (https?://|www\.)\S+  # mail, accounts, links
    | \+\d[\d\ ()/.-]{6,}\d | \(?\d{3}\)?[\ .-]\d{3}[\ .-]\d{4} | \(?0\d{1,4}[\ /)-]\ ?\d{3,}([\ -]\d+)*  # telephones
    | \d{3}-\d{2}-\d{4} | [a-z]{2}\d{2}(\ ?[a-z0-9]{4}){2,7}(\ ?[a-z0-9]{1,4})?  # insurance, bank accounts
    | (0|[1-9]\d{0,2})(\.(0|[1-9]\d{0,2})){3} | [0-9a-f]{2}([:-][0-9a-f]{2}){5}  # computers
    | [0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12} | -?\d{1,3}\.\d{3,}[,;\ ]\ ?-?\d{1,3}\.\d{3,}  # uuids, places
    | .*(str\.?|straße|strasse|weg|gasse|platz|allee)\ \d+\ ?[a-z]?  # streets with a number
    | \d+[a-z]?,?\ (.*\ )?(street|st\.?|road|rd\.?|avenue|ave\.?|lane|drive)
    | \d+,?\ (bis\ )?(rue|avenue|boulevard|place)\ .+ | (via|calle|rua|piazza)\ .+\ \d+""",
    re.VERBOSE | re.IGNORECASE,
)
"""How people are reached, and numbers of them; a code such as 01.1.1.1 begins with a zero, and no computer's does."""


def points_by_name(name: str) -> bool:
    """Whether a column's name has such a word in it, or one for people with one for a number behind it.

    >>> points_by_name("PassengerId"), points_by_name("last name"), points_by_name("region"), points_by_name("width")
    (True, True, False, False)
    >>> points_by_name("IPAddress"), points_by_name("CUSTOMER_NO"), points_by_name("Kundennummer")
    (True, True, True)
    """
    parts = _parts(name)
    numbered = any(who in _PEOPLE and what in _COUNTED for who, what in pairwise(parts))
    return numbered or not _WORDS.isdisjoint(parts)


def _parts(name: str) -> list[str]:
    apart = re.sub(r"([a-z])([A-Z])|([A-Z]{2})([A-Z][a-z]{2})", r"\1\3 \2\4", normalize("NFC", name))
    return re.findall(r"[^\W\d_]+", apart.casefold())


def reach_people(texts: Collection[str]) -> bool:
    """Whether most texts look like a way to reach somebody, or a number of somebody.

    >>> reach_people(["10.0.0.7", "10.0.0.8"]), reach_people(["+49 30 1234510"]), reach_people(["Lindenweg 3"])
    (True, True, True)
    >>> reach_people(["01.1.1.1", "01.1.1.2"]), reach_people(["Ward 3"]), reach_people(["Mill Lane", "Station"])
    (False, False, False)
    """
    return sum(_REACHED.fullmatch(text.strip()) is not None for text in texts) > DIFFERENT * len(texts)


def name_people(texts: Collection[str], *, called: str = "") -> bool:
    """Whether texts look like names of people: several words, the first of them (or one after a comma) a first name.

    In a column that is ``called`` by a word for people, a first name alone is enough, and so are several words that all
    begin with a capital.

    >>> name_people(["Anna Kern", "Doe, John", "Q. Li"]), name_people(["Paris", "New York"]), name_people(["Anna"])
    (True, False, False)
    >>> name_people(["Anna", "Li"], called="nurse"), name_people(["Q. Li"], called="nurse")
    (True, True)
    """
    theirs = not _PEOPLE.isdisjoint(_parts(called))
    named = sum(_begins(_parts(_unmarked(text)), "," in text, 1 if theirs else 2) for text in texts)
    titled = sum(
        len(words := text.split()) > 1 and all(word[0].isupper() for word in words) for text in texts
    )
    return named >= max(NAMED * len(texts), 1) or (theirs and titled > DIFFERENT * len(texts))


def _begins(parts: Sequence[str], turned: bool, words: int) -> bool:
    """Whether this many words or more begin with a first name; ``turned``: it may stand further behind."""
    first = [part for part in parts if part not in _TITLES]
    here = bool(first) and (first[0] in FIRST_NAMES or (turned and not FIRST_NAMES.isdisjoint(first[1:])))
    return here and len(parts) >= words


def _unmarked(text: str) -> str:
    """Letters without their marks, as lists of names are often written."""
    return "".join(letter for letter in normalize("NFKD", text) if not combining(letter))


def tells_people_apart(name: str, different: int, rows: int) -> bool:
    """Whether a column looks as if it told people apart: by its name, and because its values are not those of groups.

    >>> tells_people_apart("person_id", 40, 80), tells_people_apart("region_id", 5, 300)
    (True, False)
    """
    parts = _parts(name)
    named = not (_NUMBERS | _PEOPLE).isdisjoint(parts)
    return named and different > 1 and (different > MANY or rows < FREQUENT * different)


def why_left_out(profile: Profile, *, listed: bool) -> str | None:
    """What speaks against a column; ``listed`` if its values would be written down one by one."""
    numbers_people = profile.different > MANY and not _PEOPLE.isdisjoint(_parts(profile.name))
    if points_by_name(profile.name) or numbers_people:
        return "its name says that it points to persons or places"
    if not listed:
        return None
    if profile.different > DIFFERENT * profile.filled:
        return "its values are nearly all different, as names and notes are"
    counts = profile.counts
    listed_texts = [text for text, rows in (counts or {}).items() if rows >= FREQUENT]
    if name_people(listed_texts, called=profile.name):
        return "its values look like names of people"
    if reach_people(listed_texts):
        return "its values look like addresses, telephones or numbers of somebody"
    if counts is None:
        return "it has too many different values; an identifier or free text?"
    if sum(rows for rows in counts.values() if rows >= FREQUENT) < COVERED * profile.filled:
        return f"most of its values are rare: each stands for fewer than {FREQUENT} rows"
    return None
