-- What has come of captures that are sent in parts: where several processes share a database (PostgreSQL), each part may come to another.

-- +goose Up
CREATE TABLE parts (
  name  TEXT NOT NULL,    -- of the upload: a hash of its key and what its sender calls it
  start INTEGER NOT NULL, -- where the part belongs
  body  BLOB NOT NULL,
  came  INTEGER NOT NULL,
  PRIMARY KEY (name, start)
);
CREATE INDEX parts_came ON parts (came);

-- +goose Down
DROP TABLE parts;
