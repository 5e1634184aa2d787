-- Who works on the queue: where several processes share a database (PostgreSQL).

-- +goose Up
CREATE TABLE nodes (
  id   TEXT PRIMARY KEY,
  seen INTEGER NOT NULL -- by the database's clock
);

-- +goose Down
DROP TABLE nodes;
