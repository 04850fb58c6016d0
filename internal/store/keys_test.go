package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"deerflow/internal/thread"
)

func TestKeysLiveFromCreateToRevoke(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		expires := time.Date(2030, 1, 2, 3, 4, 5, 0, time.UTC)
		key, text, err := f.CreateKey(f.ctx, NewKey{User: "ann", Label: "Ann's laptop – é", Role: RoleAdmin, ExpiresAt: expires})
		require.NoError(f.t, err)
		require.Regexp(f.t, `^df_[a-z2-7]{16}_[a-z2-7]{52}$`, text)
		require.Equal(f.t, "ann", key.User)
		require.Equal(f.t, RoleAdmin, key.Role)
		require.Equal(f.t, expires, key.ExpiresAt)
		require.True(f.t, key.LastUsedAt.IsZero())
		require.False(f.t, key.Revoked())
		id, ok := KeyID(text)
		require.True(f.t, ok)
		require.Equal(f.t, key.ID, id)
		got, err := f.GetKey(f.ctx, id)
		require.NoError(f.t, err)
		require.Equal(f.t, key, got)
		require.True(f.t, got.Matches(text))

		other, otherText, err := f.CreateKey(f.ctx, NewKey{User: "ann", Role: RoleUser})
		require.NoError(f.t, err)
		require.False(f.t, got.Matches(otherText))
		require.False(f.t, other.Expired(expires.AddDate(100, 0, 0)))
		list, err := f.ListKeys(f.ctx)
		require.NoError(f.t, err)
		require.Equal(f.t, []Key{key, other}, list)

		revoked, err := f.RevokeKey(f.ctx, id)
		require.NoError(f.t, err)
		require.True(f.t, revoked.Revoked())
		again, err := f.RevokeKey(f.ctx, id)
		require.NoError(f.t, err)
		require.Equal(f.t, revoked, again, "once is for good")
		_, err = f.RevokeKey(f.ctx, "nobody")
		require.ErrorIs(f.t, err, ErrNotFound)
		_, err = f.GetKey(f.ctx, "nobody")
		require.ErrorIs(f.t, err, ErrNotFound)
	})
}

func TestKeysAreStoredAsHashesOnly(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		key, text, err := f.CreateKey(f.ctx, NewKey{User: "ann", Role: RoleUser})
		require.NoError(f.t, err)
		_, secret, _ := strings.Cut(strings.TrimPrefix(text, "df_"), "_")
		var row string
		require.NoError(f.t, f.read(f.ctx, func(ctx context.Context, q querier) error {
			return get(f.ctx, q, `SELECT id || hash || user_id || label || role FROM api_keys`, nil, &row)
		}))
		require.NotContains(f.t, row, secret)
		shown, err := json.Marshal(key)
		require.NoError(f.t, err)
		for _, s := range []string{string(shown), fmt.Sprintf("%+v", f.rec)} {
			require.NotContains(f.t, s, secret)
		}
		require.NotContains(f.t, string(shown), "ash", "neither the key nor its hash is passed on")
	})
}

func TestUseOfAKeyIsNotedOnceAMinute(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		key, _, err := f.CreateKey(f.ctx, NewKey{User: "ann", Role: RoleUser})
		require.NoError(f.t, err)
		used := func(at time.Time) time.Time {
			require.NoError(f.t, f.TouchKey(f.ctx, key.ID, at))
			now, err := f.GetKey(f.ctx, key.ID)
			require.NoError(f.t, err)
			return now.LastUsedAt
		}
		require.Equal(f.t, at, used(at))
		require.Equal(f.t, at, used(at.Add(59*time.Second)))
		require.Equal(f.t, at, used(at.Add(-time.Hour)), "it never goes back")
		require.Equal(f.t, at.Add(time.Minute), used(at.Add(time.Minute)))
		require.NoError(f.t, f.TouchKey(f.ctx, "nobody", at))
	})
}

func TestKeyExpiry(t *testing.T) {
	t.Parallel()
	k := Key{ExpiresAt: at}
	require.False(t, k.Expired(at.Add(-1)))
	require.True(t, k.Expired(at))
	require.False(t, (&Key{}).Expired(at))
}

func TestKeysThatCannotBeMade(t *testing.T) {
	t.Parallel()
	f := openFixture(t, sqliteOptions(t))
	for name, n := range map[string]NewKey{
		"no user":         {Role: RoleUser},
		"a path":          {User: "../ann", Role: RoleUser},
		"no role":         {User: "ann"},
		"unknown role":    {User: "ann", Role: "root"},
		"long label":      {User: "ann", Role: RoleUser, Label: strings.Repeat("x", 101)},
		"terminal escape": {User: "ann", Role: RoleUser, Label: "\x1b[2J"},
		"two lines":       {User: "ann", Role: RoleUser, Label: "a\nb"},
		"no text":         {User: "ann", Role: RoleUser, Label: "\xff"},
	} {
		_, _, err := f.CreateKey(f.ctx, n)
		require.ErrorIs(t, err, ErrInvalid, name)
	}
	require.Zero(t, f.count("api_keys"))
}

func TestWhatIsNoKey(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "df_", "df__", "df_a", "df_a_", "df__secret", "DF_a_b", "sk-123", "df_a b_c", "df_" + strings.Repeat("a", 65) + "_x",
		"df_a_" + strings.Repeat("x", 200), " df_a_b",
	} {
		_, ok := KeyID(text)
		require.False(t, ok, text)
	}
	id, ok := KeyID("df_a_b_c")
	require.True(t, ok)
	require.Equal(t, "a", id)
}

func TestUserIDs(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"ann":             "ann",
		"Ann_9-x":         "Ann_9-x",
		"ann@example.com": "ann-example-com-",
		"..":              "---",
		"季度":              "---",
	} {
		id, err := UserID(name)
		require.NoError(t, err)
		require.True(t, strings.HasPrefix(id, want), "%s: %s", name, id)
	}
	for _, bad := range []string{"", "  ", "a\nb", "\xff", strings.Repeat("x", 256)} {
		_, err := UserID(bad)
		require.ErrorIs(t, err, ErrInvalid, "%q", bad)
	}
	rapid.Check(t, func(t *rapid.T) {
		a, b := rapid.String().Draw(t, "a"), rapid.String().Draw(t, "b")
		idA, errA := UserID(a)
		idB, errB := UserID(b)
		if errA != nil || errB != nil {
			return
		}
		require.True(t, thread.ValidID(idA), "%q", idA)
		require.Equal(t, a == b, idA == idB)
	})
}

func TestThreadOwner(t *testing.T) {
	t.Parallel()
	each(t, func(f *fixture) {
		user, err := f.ThreadOwner(f.ctx, f.newThread("t1"))
		require.NoError(f.t, err)
		require.Equal(f.t, "ann", user)
		_, err = f.ThreadOwner(f.ctx, "t2")
		require.ErrorIs(f.t, err, ErrNotFound)
	})
}
