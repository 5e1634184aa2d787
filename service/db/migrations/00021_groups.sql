-- Counts are kept by the crash's own key ('exact:…', 'none:…') as well, so that a key can go to another group with all that was
-- counted, sent or only offered.

-- +goose Up
ALTER TABLE group_signatures ADD COLUMN chain TEXT NOT NULL DEFAULT ''; -- of exact:…, the signature in JSON
CREATE INDEX group_signatures_chain ON group_signatures (group_id) WHERE chain <> '';

DROP TABLE group_counts;
CREATE TABLE group_counts (
  group_id  INTEGER NOT NULL,
  day       INTEGER NOT NULL,
  product   TEXT NOT NULL,
  version   TEXT NOT NULL,
  signature TEXT NOT NULL,
  count     INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (group_id, day, product, version, signature)
) WITHOUT ROWID;
CREATE INDEX group_counts_day ON group_counts (day, group_id);
CREATE INDEX group_counts_version ON group_counts (version, group_id);

DROP TABLE group_devices;
CREATE TABLE group_devices (
  group_id   INTEGER NOT NULL,
  device     TEXT NOT NULL,
  signature  TEXT NOT NULL,
  count      INTEGER NOT NULL DEFAULT 0,
  first_seen INTEGER NOT NULL,
  last_seen  INTEGER NOT NULL,
  PRIMARY KEY (group_id, device, signature)
) WITHOUT ROWID;
CREATE INDEX group_devices_device ON group_devices (device, group_id);

-- What became of a group: new, regressed, spike; merged, state, assigned, note by a person.
CREATE TABLE group_events (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL,
  group_id   INTEGER NOT NULL REFERENCES groups (id),
  kind       TEXT NOT NULL,
  detail     TEXT NOT NULL DEFAULT '', -- a version, a count, a sentence
  day        INTEGER NOT NULL,
  time       INTEGER NOT NULL,
  user_id    INTEGER NOT NULL DEFAULT 0 -- 0: the service itself
);
CREATE INDEX group_events_group ON group_events (group_id, id);
CREATE INDEX group_events_day ON group_events (day, kind);

-- What searches ask for.
CREATE INDEX results_signal ON results (signal);
CREATE INDEX results_address ON results (address);
CREATE INDEX captures_version ON captures (project_id, version);

-- By what the functions of a group may be known in another build.
CREATE TABLE group_clues (
  project_id INTEGER NOT NULL,
  clue       TEXT NOT NULL,
  group_id   INTEGER NOT NULL REFERENCES groups (id),
  PRIMARY KEY (project_id, clue, group_id)
) WITHOUT ROWID;
CREATE INDEX group_clues_group ON group_clues (group_id);

-- +goose Down
DROP INDEX captures_version;
DROP INDEX results_address;
DROP INDEX results_signal;
DROP TABLE group_clues;
DROP TABLE group_events;
DROP INDEX group_signatures_chain;
