-- +goose Up

-- One row a conversation. state and interrupts are those of the newest
-- checkpoint; state_seq names the checkpoint that holds the same state.
CREATE TABLE threads (
  id               TEXT PRIMARY KEY,
  user_id          TEXT NOT NULL,
  status           TEXT NOT NULL,
  pinned           BIGINT NOT NULL DEFAULT 0,
  metadata         TEXT NOT NULL,
  state            TEXT NOT NULL DEFAULT '{}',
  state_seq        BIGINT NOT NULL DEFAULT 0,
  interrupts       TEXT NOT NULL DEFAULT '',
  error            TEXT NOT NULL DEFAULT '',
  last_seq         BIGINT NOT NULL DEFAULT 0,
  pruned_seq       BIGINT NOT NULL DEFAULT 0,
  checkpoint_id    TEXT NOT NULL DEFAULT '',
  created_at       BIGINT NOT NULL,
  updated_at       BIGINT NOT NULL,
  state_updated_at BIGINT NOT NULL
);
CREATE INDEX threads_by_update ON threads (user_id, updated_at DESC, id DESC);
CREATE INDEX threads_by_pin ON threads (user_id, pinned DESC, updated_at DESC, id DESC);
CREATE INDEX threads_active ON threads (id) WHERE status IN ('busy', 'interrupted');

-- first_pos and row_count say which messages the run brought, once it started.
CREATE TABLE runs (
  thread_id    TEXT NOT NULL,
  id           TEXT NOT NULL,
  user_id      TEXT NOT NULL,
  assistant_id TEXT NOT NULL,
  status       TEXT NOT NULL,
  stop_reason  TEXT NOT NULL DEFAULT '',
  error        TEXT NOT NULL DEFAULT '',
  multitask    TEXT NOT NULL DEFAULT '',
  options      TEXT NOT NULL DEFAULT '{}',
  submit       TEXT NOT NULL DEFAULT '',
  kwargs       TEXT NOT NULL DEFAULT '',
  metadata     TEXT NOT NULL DEFAULT '',
  key          TEXT NOT NULL DEFAULT '',
  usage        TEXT NOT NULL DEFAULT '',
  model_calls  BIGINT NOT NULL DEFAULT 0,
  started      BIGINT NOT NULL DEFAULT 0,
  first_seq    BIGINT NOT NULL DEFAULT 0,
  first_pos    BIGINT NOT NULL DEFAULT 0,
  row_count    BIGINT NOT NULL DEFAULT 0,
  created_at   BIGINT NOT NULL,
  updated_at   BIGINT NOT NULL,
  PRIMARY KEY (thread_id, id)
);
CREATE INDEX runs_by_time ON runs (thread_id, created_at, id);
CREATE INDEX runs_live ON runs (status, created_at) WHERE status IN ('pending', 'running');
CREATE UNIQUE INDEX runs_by_key ON runs (thread_id, key) WHERE key <> '';

-- Append-only: a message that changes gets a new revision. pos and seq are
-- given when the message enters the transcript; until then ord keeps the order
-- of the submission.
CREATE TABLE messages (
  thread_id  TEXT NOT NULL,
  id         TEXT NOT NULL,
  rev        BIGINT NOT NULL,
  pos        BIGINT,
  seq        BIGINT NOT NULL DEFAULT 0,
  ord        BIGINT NOT NULL DEFAULT 0,
  run_id     TEXT NOT NULL,
  step       BIGINT NOT NULL DEFAULT 0,
  body       TEXT NOT NULL,
  digest     TEXT NOT NULL DEFAULT '',
  created_at BIGINT NOT NULL,
  PRIMARY KEY (thread_id, id, rev)
);
CREATE INDEX messages_by_pos ON messages (thread_id, pos, seq);
CREATE INDEX messages_pending ON messages (thread_id, run_id, ord) WHERE pos IS NULL;

-- Who may write a message. Deltas of the newest claim have a seq above
-- from_seq, those of all claims above first_seq. closed_at is set while there
-- may be deltas to prune.
CREATE TABLE claims (
  thread_id  TEXT NOT NULL,
  message_id TEXT NOT NULL,
  claim      BIGINT NOT NULL,
  run_id     TEXT NOT NULL,
  step       BIGINT NOT NULL,
  first_seq  BIGINT NOT NULL,
  from_seq   BIGINT NOT NULL,
  closed     BIGINT NOT NULL DEFAULT 0,
  closed_seq BIGINT NOT NULL DEFAULT 0,
  closed_at  BIGINT,
  PRIMARY KEY (thread_id, message_id)
) WITHOUT ROWID;
CREATE INDEX claims_closed ON claims (closed_at) WHERE closed_at IS NOT NULL;

CREATE TABLE events (
  thread_id TEXT NOT NULL,
  seq       BIGINT NOT NULL,
  run_id    TEXT NOT NULL,
  step      BIGINT NOT NULL,
  claim     BIGINT NOT NULL,
  type      TEXT NOT NULL,
  data      TEXT NOT NULL,
  at        BIGINT NOT NULL,
  PRIMARY KEY (thread_id, seq)
) WITHOUT ROWID;

-- state is '' when it is the same as that of the checkpoint at state_seq.
CREATE TABLE checkpoints (
  thread_id  TEXT NOT NULL,
  seq        BIGINT NOT NULL,
  id         TEXT NOT NULL,
  run_id     TEXT NOT NULL,
  step       BIGINT NOT NULL,
  parent     TEXT NOT NULL,
  at         BIGINT NOT NULL,
  data       TEXT NOT NULL,
  segments   TEXT NOT NULL,
  next_pos   BIGINT NOT NULL,
  state      TEXT NOT NULL,
  state_seq  BIGINT NOT NULL,
  status     TEXT NOT NULL,
  interrupts TEXT NOT NULL,
  next       TEXT NOT NULL,
  PRIMARY KEY (thread_id, seq)
);
CREATE UNIQUE INDEX checkpoints_by_step ON checkpoints (thread_id, run_id, step);
CREATE UNIQUE INDEX checkpoints_by_id ON checkpoints (thread_id, id);

CREATE TABLE plans (
  hash       TEXT PRIMARY KEY,
  body       TEXT NOT NULL,
  created_at BIGINT NOT NULL
);
