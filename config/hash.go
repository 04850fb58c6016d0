package config

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// Hash returns 64 hex digits that name the settings a run was planned with. It
// covers every setting with its default, in whatever order the file had them,
// but no secret: a new key for the same model leaves it alone, and it may be
// shown.
func (c *Config) Hash() (string, error) {
	data, err := json.Marshal(c)
	if err != nil {
		return "", fmt.Errorf("hash the config: %w", err)
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:]), nil
}
