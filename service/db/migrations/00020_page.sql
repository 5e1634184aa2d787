-- +goose Up
CREATE TABLE merges (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id),
  group_id   INTEGER NOT NULL REFERENCES groups (id),
  into_id    INTEGER NOT NULL REFERENCES groups (id),
  why        TEXT NOT NULL, -- a sentence
  score      REAL NOT NULL,
  state      TEXT NOT NULL DEFAULT 'proposed', -- proposed, taken, refused
  created    INTEGER NOT NULL,
  decided    INTEGER NOT NULL DEFAULT 0,
  user_id    INTEGER NOT NULL DEFAULT 0,
  UNIQUE (group_id, into_id)
);
CREATE INDEX merges_state ON merges (project_id, state);

CREATE TABLE rules (
  project_id INTEGER NOT NULL REFERENCES projects (id),
  version    INTEGER NOT NULL, -- 1, 2, …; the largest that is active holds
  text       TEXT NOT NULL,
  active     INTEGER NOT NULL DEFAULT 0,
  created    INTEGER NOT NULL,
  user_id    INTEGER NOT NULL DEFAULT 0,
  PRIMARY KEY (project_id, version)
);

CREATE TABLE webhooks (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  project_id INTEGER NOT NULL REFERENCES projects (id),
  url        TEXT NOT NULL, -- https://…, http://… or mailto:…
  secret     TEXT NOT NULL,
  events     TEXT NOT NULL DEFAULT 'new,regressed,spike',
  day_budget INTEGER NOT NULL DEFAULT 100,
  active     INTEGER NOT NULL DEFAULT 1,
  created    INTEGER NOT NULL
);

CREATE TABLE deliveries (
  id         INTEGER PRIMARY KEY AUTOINCREMENT,
  webhook_id INTEGER NOT NULL REFERENCES webhooks (id),
  group_id   INTEGER NOT NULL,
  event      TEXT NOT NULL,
  body       TEXT NOT NULL,
  state      TEXT NOT NULL DEFAULT 'waiting', -- waiting, sent, failed, over (the budget)
  attempts   INTEGER NOT NULL DEFAULT 0,
  due        INTEGER NOT NULL,
  created    INTEGER NOT NULL,
  answer     TEXT NOT NULL DEFAULT ''
);
CREATE INDEX deliveries_due ON deliveries (state, due);

CREATE TABLE users (
  id       INTEGER PRIMARY KEY AUTOINCREMENT,
  name     TEXT NOT NULL UNIQUE,
  email    TEXT NOT NULL DEFAULT '',
  role     TEXT NOT NULL, -- viewer, triager, admin
  password TEXT NOT NULL DEFAULT '', -- a hash; '': none
  subject  TEXT NOT NULL DEFAULT '', -- of the OIDC provider; '': a local user
  disabled INTEGER NOT NULL DEFAULT 0,
  created  INTEGER NOT NULL
);
CREATE UNIQUE INDEX users_subject ON users (subject) WHERE subject <> '';

-- Links that make a user: the first admin's, and those that an admin gives.
CREATE TABLE invitations (
  token   BLOB PRIMARY KEY, -- SHA-256 of what the link has
  role    TEXT NOT NULL,
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL,
  used    INTEGER NOT NULL DEFAULT 0
);

CREATE TABLE sessions (
  token   BLOB PRIMARY KEY, -- SHA-256 of the cookie
  user_id INTEGER NOT NULL REFERENCES users (id),
  created INTEGER NOT NULL,
  expires INTEGER NOT NULL
);
CREATE INDEX sessions_expires ON sessions (expires);

CREATE TABLE audit (
  id      INTEGER PRIMARY KEY AUTOINCREMENT,
  time    INTEGER NOT NULL,
  user_id INTEGER NOT NULL DEFAULT 0,
  action  TEXT NOT NULL,
  object  TEXT NOT NULL DEFAULT '',
  detail  TEXT NOT NULL DEFAULT ''
);
CREATE INDEX audit_time ON audit (time);

-- +goose Down
DROP TABLE audit;
DROP TABLE sessions;
DROP TABLE invitations;
DROP TABLE users;
DROP TABLE deliveries;
DROP TABLE webhooks;
DROP TABLE rules;
DROP TABLE merges;
