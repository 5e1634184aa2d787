-- Times are milliseconds since 1970, days are days since 1970 (UTC), keys and hashes of bodies are bytes.

-- +goose Up
CREATE TABLE projects (
  id          INTEGER PRIMARY KEY,
  name        TEXT NOT NULL UNIQUE,
  created     INTEGER NOT NULL,
  keep_days   INTEGER NOT NULL DEFAULT 90, -- bodies and reports older than that go
  keep_bytes  INTEGER NOT NULL DEFAULT 0,  -- 0: no bound but the disk
  keep_first  INTEGER NOT NULL DEFAULT 20, -- bodies of a group that are always kept
  keep_sample INTEGER NOT NULL DEFAULT 30  -- and those that a reservoir keeps of all further ones
);

CREATE TABLE keys (
  key           TEXT PRIMARY KEY,
  project_id    INTEGER NOT NULL REFERENCES projects (id),
  note          TEXT NOT NULL DEFAULT '',
  created       INTEGER NOT NULL,
  revoked       INTEGER NOT NULL DEFAULT 0, -- 0: it is valid
  day_captures  INTEGER NOT NULL DEFAULT 0, -- quotas; 0: none
  day_bytes     INTEGER NOT NULL DEFAULT 0,
  device_day    INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE usage (
  key      TEXT NOT NULL,
  device   TEXT NOT NULL, -- '' counts all devices
  day      INTEGER NOT NULL,
  captures INTEGER NOT NULL DEFAULT 0,
  bytes    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (key, device, day)
);

-- A body as the store has it. It goes when no capture keeps it.
CREATE TABLE blobs (
  sha256  BLOB PRIMARY KEY, -- of the body without its compression
  ref     TEXT NOT NULL,    -- where the store has it
  size    INTEGER NOT NULL, -- without compression
  stored  INTEGER NOT NULL,
  packing TEXT NOT NULL,    -- '', gzip, zstd: as it came
  created INTEGER NOT NULL
);

CREATE INDEX blobs_ref ON blobs (ref);

CREATE TABLE captures (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT NOT NULL UNIQUE, -- the report's id that a device is told
  uniq        BLOB NOT NULL UNIQUE, -- project, device, body and the sender's own id: what is sent again is one capture
  project_id  INTEGER NOT NULL REFERENCES projects (id),
  sha256      BLOB NOT NULL,
  size        INTEGER NOT NULL,
  kind        TEXT NOT NULL, -- upload, minidump, envelope, chunks, log, report, folder
  file        TEXT NOT NULL DEFAULT '',
  device      TEXT NOT NULL DEFAULT '',
  product     TEXT NOT NULL DEFAULT '',
  version     TEXT NOT NULL DEFAULT '',
  received    INTEGER NOT NULL,
  annotations TEXT NOT NULL DEFAULT '{}', -- a JSON object of texts
  status      TEXT NOT NULL,              -- queued, done, failed (no backtrace: see reason), aside (three deaths)
  reason      TEXT NOT NULL DEFAULT '',
  deaths      INTEGER NOT NULL DEFAULT 0, -- of the child that backtraces
  log         TEXT NOT NULL DEFAULT '',   -- the end of the log that came with it
  kept        INTEGER NOT NULL DEFAULT 1  -- whether the body is still there
);
CREATE INDEX captures_received ON captures (project_id, received);
CREATE INDEX captures_body ON captures (sha256);
CREATE INDEX captures_device ON captures (project_id, device, received);
CREATE INDEX captures_status ON captures (status) WHERE status <> 'done';

CREATE TABLE groups (
  id            INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id    INTEGER NOT NULL REFERENCES projects (id),
  signature     TEXT NOT NULL, -- the key that made it: kind, ':' and key (stable:…, exact:…, none:…)
  title         TEXT NOT NULL,
  signal        TEXT NOT NULL DEFAULT '',
  count         INTEGER NOT NULL DEFAULT 0,
  devices       INTEGER NOT NULL DEFAULT 0,
  kept          INTEGER NOT NULL DEFAULT 0, -- bodies
  first_seen    INTEGER NOT NULL,
  last_seen     INTEGER NOT NULL,
  first_version TEXT NOT NULL DEFAULT '',
  last_version  TEXT NOT NULL DEFAULT '',
  state         TEXT NOT NULL DEFAULT 'open', -- open, resolved, regressed, ignored
  resolved_in   TEXT NOT NULL DEFAULT '',     -- the version
  assignee      INTEGER NOT NULL DEFAULT 0,   -- a user; 0: nobody
  notes         TEXT NOT NULL DEFAULT '',
  links         TEXT NOT NULL DEFAULT '[]',
  merged_into   INTEGER NOT NULL DEFAULT 0,   -- the group that has its captures now; 0: itself
  rules_version INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX groups_count ON groups (project_id, count);
CREATE INDEX groups_last ON groups (project_id, last_seen);
CREATE INDEX groups_first ON groups (project_id, first_seen);

-- Which group a key leads to: of offers and of results.
CREATE TABLE group_signatures (
  project_id INTEGER NOT NULL,
  signature  TEXT NOT NULL, -- exact:…, stable:…, none:…
  group_id   INTEGER NOT NULL REFERENCES groups (id),
  PRIMARY KEY (project_id, signature)
);
CREATE INDEX group_signatures_group ON group_signatures (group_id);

CREATE TABLE group_counts (
  group_id INTEGER NOT NULL,
  day      INTEGER NOT NULL,
  product  TEXT NOT NULL,
  version  TEXT NOT NULL,
  count    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (group_id, day, product, version)
);

CREATE TABLE group_devices (
  group_id   INTEGER NOT NULL,
  device     TEXT NOT NULL,
  count      INTEGER NOT NULL DEFAULT 0,
  first_seen INTEGER NOT NULL,
  last_seen  INTEGER NOT NULL,
  PRIMARY KEY (group_id, device)
);

-- One row a capture: what makes a result happen once.
CREATE TABLE results (
  capture_id INTEGER PRIMARY KEY REFERENCES captures (id),
  group_id   INTEGER NOT NULL REFERENCES groups (id),
  engine     TEXT NOT NULL, -- the version that made it
  created    INTEGER NOT NULL,
  status     TEXT NOT NULL,            -- of the report: OK, or what is wrong
  exact      TEXT NOT NULL DEFAULT '',
  stable     TEXT NOT NULL DEFAULT '',
  title      TEXT NOT NULL DEFAULT '',
  signal     TEXT NOT NULL DEFAULT '',
  address    TEXT NOT NULL DEFAULT '', -- of the crash
  frames     TEXT NOT NULL DEFAULT '[]', -- texts: the innermost frames
  report     BLOB,                       -- what bt -f json writes, in zstd; NULL: it was only counted, or retention took it
  page       BLOB                        -- what bt -f html writes, in zstd; NULL: as above, or it was too long
);
CREATE INDEX results_group ON results (group_id, capture_id);
CREATE INDEX results_exact ON results (exact);

-- Rows have the number of a capture.
CREATE VIRTUAL TABLE search USING fts5 (
  functions, modules, builds, annotations, log,
  content = '', contentless_delete = 1, tokenize = "unicode61 tokenchars '_:.$@'"
);

CREATE TABLE binaries (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  build_id TEXT NOT NULL, -- hexadecimal, lower case
  kind     TEXT NOT NULL, -- executable, debug, symbols
  name     TEXT NOT NULL,
  path     TEXT NOT NULL, -- below the folder of binaries
  size     INTEGER NOT NULL,
  received INTEGER NOT NULL,
  UNIQUE (build_id, kind)
);

-- Binaries that a capture named and that were not at hand.
CREATE TABLE missing (
  build_id   TEXT NOT NULL, -- '' is never one
  capture_id INTEGER NOT NULL REFERENCES captures (id),
  name       TEXT NOT NULL,
  PRIMARY KEY (build_id, capture_id)
);
CREATE INDEX missing_capture ON missing (capture_id);

-- +goose Down
DROP TABLE missing;
DROP TABLE binaries;
DROP TABLE search;
DROP TABLE results;
DROP TABLE group_devices;
DROP TABLE group_counts;
DROP TABLE group_signatures;
DROP TABLE groups;
DROP TABLE captures;
DROP TABLE blobs;
DROP TABLE usage;
DROP TABLE keys;
DROP TABLE projects;
