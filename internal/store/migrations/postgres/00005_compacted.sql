-- +goose Up

-- What a compaction left out of the model's view; '' when there was none.
ALTER TABLE checkpoints ADD COLUMN compacted TEXT NOT NULL DEFAULT '';
