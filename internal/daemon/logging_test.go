package daemon

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestErrorLoggerKeepsTheSDKSilent(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	log := ErrorLogger(&out)
	log.Warn("a warning")
	quiet(log).Error("Activity error.")
	require.Empty(t, out.String())
	log.Error("the disk is full")
	require.Contains(t, out.String(), "the disk is full")
}
