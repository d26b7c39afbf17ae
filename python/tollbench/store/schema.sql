-- One run is one SQLite file. Times are nanoseconds, sizes bytes, instants UTC in ISO 8601.
-- application_id marks the file as ours ("toll"), user_version is the schema's version.
PRAGMA application_id = 0x746F6C6C;
PRAGMA user_version = 7;

CREATE TABLE run (
    id           INTEGER PRIMARY KEY CHECK (id = 1),
    name         TEXT NOT NULL,
    uuid         TEXT NOT NULL,
    toll_version TEXT NOT NULL,
    command_line TEXT NOT NULL,
    profile      TEXT NOT NULL,
    seed         INTEGER NOT NULL,
    level        REAL NOT NULL,              -- confidence level of every interval, e.g. 0.95
    precision    REAL NOT NULL,              -- asked half-width of a ratio's interval, e.g. 0.01
    budget_s     REAL NOT NULL,              -- 0 where there is none
    plan         TEXT NOT NULL,              -- JSON: what --resume needs beyond the case table
    machine      TEXT NOT NULL,              -- JSON: CPU, topology, kernel, memory, compilers
    conditions   TEXT NOT NULL,              -- JSON: governor, load, steal, pressure, noise found
    started_utc  TEXT NOT NULL,
    finished_utc TEXT,                       -- NULL: interrupted, --resume goes on
    stopped_by   TEXT                        -- 'precision', 'budget', 'interrupt', 'launches'
) STRICT;

CREATE TABLE environment (
    id   INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    compiler TEXT NOT NULL, compiler_version TEXT NOT NULL, standard_library TEXT NOT NULL,
    flags TEXT NOT NULL, allocator TEXT NOT NULL
) STRICT;

CREATE TABLE workload (
    id        INTEGER PRIMARY KEY,
    name      TEXT NOT NULL UNIQUE,
    question  TEXT NOT NULL,
    kind      TEXT NOT NULL,
    unit      TEXT NOT NULL,
    per       TEXT NOT NULL,
    published TEXT NOT NULL                  -- JSON array: published.toml as it stood when measured
) STRICT;

CREATE TABLE "case" (
    id              INTEGER PRIMARY KEY,
    workload_id     INTEGER NOT NULL REFERENCES workload(id),
    environment_id  INTEGER NOT NULL REFERENCES environment(id),
    contender       TEXT NOT NULL,
    parameters      TEXT NOT NULL,           -- canonical JSON
    language        TEXT NOT NULL,
    library         TEXT NOT NULL,
    library_version TEXT NOT NULL,
    footing         TEXT NOT NULL,           -- JSON, as declared
    answer          TEXT NOT NULL,           -- decimal, modulo 2**64
    iterations      INTEGER NOT NULL DEFAULT 0, -- per batch (or samples per request); 0: pilot not run yet
    status          TEXT NOT NULL,
    reason          TEXT NOT NULL DEFAULT '',
    UNIQUE (workload_id, environment_id, contender, parameters)
) STRICT;

CREATE TABLE launch (
    id            INTEGER PRIMARY KEY,
    case_id       INTEGER REFERENCES "case"(id),  -- NULL: the canary
    purpose       TEXT NOT NULL,
    round         INTEGER NOT NULL,
    position      INTEGER NOT NULL,          -- order within the round
    seed          INTEGER NOT NULL,          -- of the layout variation
    status        TEXT NOT NULL,
    reason        TEXT NOT NULL DEFAULT '',
    started_utc   TEXT NOT NULL,
    started_ns    INTEGER NOT NULL,          -- monotonic clock, orders launches of one boot
    wall_ns       INTEGER NOT NULL,          -- from exec to exit
    setup_ns      INTEGER,                   -- the contender's own set-up
    overhead_ns   INTEGER,                   -- launch cost besides set-up and batches
    steal_ns      INTEGER,                   -- of the whole machine, while it ran; NULL: unknown
    pressure_ns   INTEGER,                   -- CPU pressure stall, while it ran; NULL: unknown
    clock         TEXT NOT NULL DEFAULT '{}', -- JSON: source, resolution_ns, overhead_ns, frequency_hz
    footing       TEXT NOT NULL DEFAULT '{}'  -- JSON, as observed by the program
) STRICT;

CREATE TABLE batch (
    id        INTEGER PRIMARY KEY,
    launch_id INTEGER NOT NULL REFERENCES launch(id),
    ordinal   INTEGER NOT NULL,
    warmup    INTEGER NOT NULL,
    iterations INTEGER NOT NULL,
    units     INTEGER NOT NULL,
    wall_ns   REAL NOT NULL,
    cpu_ns    REAL NOT NULL,
    voluntary_switches INTEGER NOT NULL, involuntary_switches INTEGER NOT NULL,
    minor_faults INTEGER NOT NULL, major_faults INTEGER NOT NULL,
    peak_bytes INTEGER NOT NULL,
    counters  TEXT NOT NULL DEFAULT '{}'
) STRICT;

CREATE TABLE sample (
    batch_id INTEGER PRIMARY KEY REFERENCES batch(id),
    count    INTEGER NOT NULL,
    dtype    TEXT NOT NULL CHECK (dtype IN ('<f4')), -- nanoseconds, clock overhead removed
    data     BLOB NOT NULL
) STRICT;

CREATE TABLE allocation (
    launch_id  INTEGER PRIMARY KEY REFERENCES launch(id),
    iterations INTEGER NOT NULL,
    units      INTEGER NOT NULL,
    calls      INTEGER NOT NULL,
    bytes      INTEGER NOT NULL,
    peak_bytes INTEGER NOT NULL
) STRICT;

CREATE INDEX launch_by_case ON launch(case_id, purpose, round);
CREATE INDEX batch_by_launch ON batch(launch_id, ordinal);

-- From here on: what later versions added. Older files are read as if these tables were empty. Version 2:
CREATE TABLE detail (                        -- numbers beside time that a workload's suite.toml declares
    workload_id INTEGER NOT NULL REFERENCES workload(id),
    name        TEXT NOT NULL,
    title       TEXT NOT NULL,
    unit        TEXT NOT NULL,
    meaning     TEXT NOT NULL,
    PRIMARY KEY (workload_id, name)
) STRICT;

CREATE TABLE batch_detail (
    batch_id INTEGER NOT NULL REFERENCES batch(id),
    name     TEXT NOT NULL,
    value    REAL NOT NULL,
    PRIMARY KEY (batch_id, name)
) STRICT;

CREATE TABLE cells (
    batch_id INTEGER PRIMARY KEY REFERENCES batch(id),
    cells    TEXT NOT NULL                   -- JSON: [[key, count], ...], consecutive samples of the batch
) STRICT;

-- Version 3:
CREATE TABLE company (                       -- launches that were alive together and took turns
    launch_id INTEGER PRIMARY KEY REFERENCES launch(id),
    first_id  INTEGER NOT NULL REFERENCES launch(id) -- the first of them that is stored: the same for all
) STRICT;

-- Version 4. Files of versions 1 to 3 keep samples in table `sample`, in the order in which they were taken:
CREATE TABLE sample_block (                  -- samples of consecutive batches, each value with its count
    launch_id INTEGER NOT NULL REFERENCES launch(id),
    ordinal   INTEGER NOT NULL,              -- of the first of these batches
    encoding  TEXT NOT NULL CHECK (encoding IN ('zstd', 'plain')),
    data      BLOB NOT NULL,                 -- docs/runfile.md, "Samples"
    PRIMARY KEY (launch_id, ordinal)
) STRICT;

-- Version 5:
CREATE TABLE gauge (                         -- of batches whose program told it
    batch_id INTEGER PRIMARY KEY REFERENCES batch(id),
    ns       REAL NOT NULL                   -- what a fixed piece of arithmetic took around the batch
) STRICT;

-- Version 6:
CREATE TABLE look (                          -- each time that the run was gone on with: it could be read before
    id       INTEGER PRIMARY KEY,
    at_utc   TEXT NOT NULL,
    launches INTEGER NOT NULL UNIQUE         -- measured until then; where none came since, nothing new was read
) STRICT;

-- Version 7:
CREATE TABLE census (                        -- of batches around which one was taken
    batch_id INTEGER PRIMARY KEY REFERENCES batch(id),
    others   INTEGER NOT NULL                -- tasks of others in its way, right before or right after it
) STRICT;
