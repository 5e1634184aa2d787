-- What searches ask for, the last captures first: SQLite's indices end with a row's number anyway, PostgreSQL's do where they say so.

-- +goose Up
SELECT 1;
-- PostgreSQL: DROP INDEX results_signal;
-- PostgreSQL: CREATE INDEX results_signal ON results (signal, capture_id);
-- PostgreSQL: DROP INDEX results_address;
-- PostgreSQL: CREATE INDEX results_address ON results (address, capture_id);
-- PostgreSQL: DROP INDEX captures_version;
-- PostgreSQL: CREATE INDEX captures_version ON captures (project_id, version, id);
-- PostgreSQL: CREATE INDEX captures_project ON captures (project_id, id);

-- +goose Down
SELECT 1;
