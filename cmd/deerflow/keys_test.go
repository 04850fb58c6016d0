package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"deerflow/internal/store"
)

func TestKeysAreMadeListedAndRevoked(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	require.Equal(t, 0, s.do("keys", "list"), s.errOut.String())
	require.Empty(t, s.out.String())
	require.Contains(t, s.errOut.String(), "deerflow keys create")
	entries, err := os.ReadDir(s.env["DEERFLOW_DATA_DIR"])
	require.NoError(t, err)
	require.Empty(t, entries, "a list makes nothing")

	require.Equal(t, 0, s.do("keys", "create", "--user", "ann", "--name", "Ann's laptop", "--expires", "90d"), s.errOut.String())
	key := strings.TrimSpace(s.out.String())
	require.Equal(t, key+"\n", s.out.String(), "the key alone, for scripts")
	id, ok := store.KeyID(key)
	require.True(t, ok)
	require.Contains(t, s.errOut.String(), id)
	require.NotContains(t, s.errOut.String(), key)

	require.Equal(t, 0, s.do("keys", "create", "--admin", "-o", "json"), s.errOut.String())
	var made keyShape
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &made))
	require.Equal(t, "default", made.User, "what was made without keys is still there with one")
	require.Equal(t, store.RoleAdmin, made.Role)
	require.Nil(t, made.ExpiresAt)
	require.Empty(t, s.errOut.String())

	require.Equal(t, 0, s.do("keys", "list"))
	text := s.out.String()
	for _, piece := range []string{id, "Ann's laptop", "ann", made.ID, "admin", "active", "never"} {
		require.Contains(t, text, piece)
	}
	for _, secret := range []string{key, made.Key} {
		require.NotContains(t, text, secret[len(secret)-20:])
	}
	require.Equal(t, 0, s.do("keys", "revoke", key), "a whole key will do, too: %s", &s.errOut)
	require.Contains(t, s.errOut.String(), id)
	require.NotContains(t, s.errOut.String(), key)
	require.Equal(t, 0, s.do("keys", "revoke", id), "again")
	require.Equal(t, 0, s.do("keys", "list", "-o", "json"))
	var list []keyShape
	require.NoError(t, json.Unmarshal(s.out.Bytes(), &list))
	require.Len(t, list, 2)
	require.Equal(t, "revoked", list[0].Status)
	require.NotNil(t, list[0].RevokedAt)
	require.WithinDuration(t, time.Now().Add(90*24*time.Hour), *list[0].ExpiresAt, time.Minute)
	require.Equal(t, "active", list[1].Status)
	require.Empty(t, list[1].Key)
	require.Equal(t, 0, s.do("keys", "list", "-o", "jsonl"))
	require.Equal(t, 2, strings.Count(s.out.String(), "\n"))

	require.Equal(t, 11, s.do("keys", "revoke", "nobody"))
	require.Contains(t, s.errOut.String(), `no key "nobody"`)
}

func TestKeysOfNamesThatAreNoPaths(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	require.Equal(t, 0, s.do("keys", "create", "--user", "ann@example.com", "-o", "json"), s.errOut.String())
	require.Contains(t, s.out.String(), `"user": "ann-example-com-`)
}

func TestKeysRefuseWhatIsWrong(t *testing.T) {
	t.Parallel()
	s := newShell(t)
	bad := filepath.Join(t.TempDir(), "config.yaml")
	require.NoError(t, os.WriteFile(bad, []byte("sandbox: ["), 0o600))
	for _, c := range []struct {
		code int
		want string
		args []string
	}{
		{2, "--user", []string{"create", "--user", ""}},
		{2, "--expires", []string{"create", "--expires", "soon"}},
		{2, "--expires", []string{"create", "--expires", "-1h"}},
		{2, "--expires", []string{"create", "--expires", "0d"}},
		{2, "--expires", []string{"create", "--expires", "99999999999999d"}},
		{2, "--expires", []string{"create", "--expires", "-99999999999999d"}},
		{2, "label", []string{"create", "--name", "a\nb"}},
		{2, "config.yaml", []string{"list", "--config", bad}},
		{11, "no key", []string{"revoke", "k"}},
		{2, "accepts 1 arg", []string{"revoke"}},
		{2, "unknown command", []string{"drop"}},
	} {
		require.Equal(t, c.code, s.do(append([]string{"keys"}, c.args...)...), "%v: %s", c.args, &s.errOut)
		require.Contains(t, s.errOut.String(), c.want, "%v", c.args)
		require.Empty(t, s.out.String(), "%v", c.args)
	}
	s.env["DEERFLOW_DATABASE_URL"] = "mysql://me:hunter2@localhost/x"
	require.NotEqual(t, 0, s.do("keys", "list"))
	require.NotContains(t, s.errOut.String(), "hunter2")
	s.env["DEERFLOW_DATABASE_URL"] = "postgres://me:hunter2@127.0.0.1:1/x"
	require.Equal(t, 1, s.do("keys", "list"))
	require.NotContains(t, s.errOut.String(), "hunter2")
}
