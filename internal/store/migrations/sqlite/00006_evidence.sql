-- +goose Up

-- Texts by the SHA-256 of their content: pages that tools have read, and files as
-- they were when a run began. A text is kept once, whoever refers to it.
CREATE TABLE texts (
  hash       TEXT PRIMARY KEY,
  body       TEXT NOT NULL,
  created_at BIGINT NOT NULL
);

-- Which threads a text is kept for. kind is page or file.
CREATE TABLE text_refs (
  thread_id TEXT NOT NULL,
  kind      TEXT NOT NULL,
  hash      TEXT NOT NULL,
  PRIMARY KEY (thread_id, kind, hash)
) WITHOUT ROWID;
CREATE INDEX text_refs_by_hash ON text_refs (hash);

-- What tools have fetched and found, in the order of one result. url_key and
-- final_key are the addresses as they are compared. hash is that of the text, ''
-- when none came, body_hash that of the page as it came.
CREATE TABLE sources (
  thread_id  TEXT NOT NULL,
  message_id TEXT NOT NULL,
  ord        BIGINT NOT NULL,
  run_id     TEXT NOT NULL,
  call_id    TEXT NOT NULL,
  tool       TEXT NOT NULL,
  kind       TEXT NOT NULL,
  url        TEXT NOT NULL,
  url_key    TEXT NOT NULL,
  final_url  TEXT NOT NULL,
  final_key  TEXT NOT NULL,
  title      TEXT NOT NULL,
  hash       TEXT NOT NULL,
  body_hash  TEXT NOT NULL,
  size       BIGINT NOT NULL,
  truncated  BIGINT NOT NULL,
  at         BIGINT NOT NULL,
  PRIMARY KEY (thread_id, message_id, ord)
);
CREATE INDEX sources_by_url ON sources (thread_id, url_key);
CREATE INDEX sources_by_final ON sources (thread_id, final_key);

-- What became of the citations of a run's answer and of its files.
CREATE TABLE citations (
  thread_id TEXT NOT NULL,
  run_id    TEXT NOT NULL,
  place     TEXT NOT NULL,
  body      TEXT NOT NULL,
  at        BIGINT NOT NULL,
  PRIMARY KEY (thread_id, run_id, place)
);

-- The files of a thread when its newest run began.
CREATE TABLE baselines (
  thread_id TEXT PRIMARY KEY,
  run_id    TEXT NOT NULL,
  files     TEXT NOT NULL
);

-- What a run has changed of them; '' while nothing is.
CREATE TABLE file_changes (
  thread_id TEXT NOT NULL,
  run_id    TEXT NOT NULL,
  body      TEXT NOT NULL,
  at        BIGINT NOT NULL,
  PRIMARY KEY (thread_id, run_id)
);
