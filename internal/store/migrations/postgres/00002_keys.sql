-- +goose Up

-- Keys of the HTTP API. Of a key itself only the SHA-256 is kept, in hex. Times
-- are in microseconds; 0 is never.
CREATE TABLE api_keys (
  id           TEXT COLLATE "C" PRIMARY KEY,
  hash         TEXT NOT NULL,
  user_id      TEXT COLLATE "C" NOT NULL,
  label        TEXT NOT NULL DEFAULT '',
  role         TEXT NOT NULL,
  created_at   BIGINT NOT NULL,
  expires_at   BIGINT NOT NULL DEFAULT 0,
  last_used_at BIGINT NOT NULL DEFAULT 0,
  revoked_at   BIGINT NOT NULL DEFAULT 0
);
