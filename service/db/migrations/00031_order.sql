-- What searches ask for, the last captures first: SQLite's indices end with a row's number anyway, PostgreSQL's do where they say so.
-- Each statement is a transaction, so that who writes meanwhile waits for one index at a time.

-- +goose NO TRANSACTION
-- +goose Up
SELECT 1;
-- PostgreSQL: CREATE INDEX IF NOT EXISTS results_signal_last ON results (signal, capture_id);
-- PostgreSQL: DROP INDEX IF EXISTS results_signal;
-- PostgreSQL: CREATE INDEX IF NOT EXISTS results_address_last ON results (address, capture_id);
-- PostgreSQL: DROP INDEX IF EXISTS results_address;
-- PostgreSQL: CREATE INDEX IF NOT EXISTS captures_version_last ON captures (project_id, version, id);
-- PostgreSQL: DROP INDEX IF EXISTS captures_version;
-- PostgreSQL: CREATE INDEX IF NOT EXISTS captures_last ON captures (project_id, id);

-- +goose Down
SELECT 1;
