"""The columns of the service's tables, in words that SQLite and PostgreSQL both take."""

from __future__ import annotations

FORMAT = 1
"""Counts up when a column changes its meaning; a newer version moves the rows of an older one."""

TABLES = (
    "CREATE TABLE IF NOT EXISTS setting (name TEXT PRIMARY KEY, value TEXT NOT NULL)",
    """CREATE TABLE IF NOT EXISTS person (
        id TEXT PRIMARY KEY, name TEXT NOT NULL UNIQUE, password TEXT, issuer TEXT, subject TEXT,
        founder BIGINT NOT NULL, disabled BIGINT NOT NULL, UNIQUE (issuer, subject))""",
    """CREATE TABLE IF NOT EXISTS dataset (
        name TEXT PRIMARY KEY, schema_yaml TEXT NOT NULL, ledger TEXT NOT NULL, largest_rows BIGINT NOT NULL,
        shares_answers BIGINT NOT NULL, two_curators BIGINT NOT NULL, condition TEXT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS member (
        person TEXT NOT NULL, dataset TEXT NOT NULL, role TEXT NOT NULL, source TEXT NOT NULL,
        PRIMARY KEY (person, dataset))""",
    """CREATE TABLE IF NOT EXISTS token (
        id TEXT PRIMARY KEY, hash TEXT NOT NULL UNIQUE, person TEXT NOT NULL, label TEXT NOT NULL,
        scopes TEXT NOT NULL, expires DOUBLE PRECISION NOT NULL, revoked BIGINT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS sign_in (
        hash TEXT PRIMARY KEY, person TEXT NOT NULL, csrf TEXT NOT NULL, expires DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS known_browser (
        hash TEXT PRIMARY KEY, person TEXT NOT NULL, expires DOUBLE PRECISION NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS failure (
        id TEXT PRIMARY KEY, place TEXT NOT NULL, at DOUBLE PRECISION NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS failure_place ON failure (place, at)",
    """CREATE TABLE IF NOT EXISTS job (
        id TEXT PRIMARY KEY, dataset TEXT NOT NULL, person TEXT NOT NULL, spender TEXT, kind TEXT NOT NULL,
        route TEXT NOT NULL, key TEXT NOT NULL, body_hash TEXT NOT NULL, body TEXT NOT NULL, stands TEXT NOT NULL,
        request TEXT NOT NULL, price TEXT NOT NULL, state TEXT NOT NULL, submitted DOUBLE PRECISION NOT NULL,
        slot DOUBLE PRECISION NOT NULL, seconds DOUBLE PRECISION NOT NULL, factor DOUBLE PRECISION NOT NULL,
        worker TEXT, heartbeat DOUBLE PRECISION, attempts BIGINT NOT NULL, late BIGINT NOT NULL, made TEXT,
        status BIGINT, result TEXT, charged TEXT NOT NULL, entries BIGINT NOT NULL, progress TEXT,
        UNIQUE (person, dataset, route, key))""",
    "CREATE INDEX IF NOT EXISTS job_state ON job (state, slot, person)",
    "CREATE INDEX IF NOT EXISTS job_slot ON job (slot, state, person)",
    "CREATE INDEX IF NOT EXISTS job_price ON job (dataset, state, attempts, price, charged, slot, entries)",
    "CREATE INDEX IF NOT EXISTS job_person ON job (person, dataset, id)",
    "CREATE INDEX IF NOT EXISTS job_request ON job (dataset, request)",
    """CREATE TABLE IF NOT EXISTS slot_length (
        kind TEXT PRIMARY KEY, factor DOUBLE PRECISION NOT NULL, overruns BIGINT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS kept_release (
        id TEXT PRIMARY KEY, dataset TEXT NOT NULL, person TEXT NOT NULL, job TEXT NOT NULL UNIQUE,
        kind TEXT NOT NULL, digest TEXT NOT NULL, slot DOUBLE PRECISION NOT NULL, published DOUBLE PRECISION)""",
    "CREATE INDEX IF NOT EXISTS kept_release_dataset ON kept_release (dataset, id)",
    """CREATE TABLE IF NOT EXISTS upload (
        id TEXT PRIMARY KEY, dataset TEXT NOT NULL, person TEXT NOT NULL, digest TEXT NOT NULL,
        bytes BIGINT NOT NULL)""",
    """CREATE TABLE IF NOT EXISTS proposal (
        id TEXT PRIMARY KEY, dataset TEXT NOT NULL, person TEXT NOT NULL, action TEXT NOT NULL, body TEXT NOT NULL,
        state TEXT NOT NULL, decided_by TEXT)""",
    """CREATE TABLE IF NOT EXISTS deed (
        id TEXT PRIMARY KEY, at DOUBLE PRECISION NOT NULL, person TEXT, dataset TEXT, action TEXT NOT NULL,
        outcome TEXT NOT NULL)""",
    "CREATE INDEX IF NOT EXISTS deed_dataset ON deed (dataset, id)",
    """CREATE TABLE IF NOT EXISTS live_worker (
        id TEXT PRIMARY KEY, heartbeat DOUBLE PRECISION NOT NULL, version TEXT NOT NULL)""",
)
"""Times are seconds since 1970.  Of a job ``charged`` is what the ledger had charged and held for it when it was done,
and had so many ``entries``.  ``deed`` says who did what, never with which values."""
