-- +goose Up

-- A run is looked for by its id alone when a client names no thread.
CREATE INDEX runs_by_id ON runs (id);
