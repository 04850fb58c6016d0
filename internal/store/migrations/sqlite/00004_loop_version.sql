-- +goose Up
-- The version of the turn loop that a run began with; 0 while it is pending.
ALTER TABLE runs ADD COLUMN loop_version BIGINT NOT NULL DEFAULT 0;
