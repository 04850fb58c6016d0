package cases

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	. "deerflow/internal/testkit"
)

func TestI14GrepNamesWhatItLeftOut(t *testing.T) {
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	id := newThread(t, p.API())
	write(t, filepath.Join(userDir(p, id), "uploads", "many.txt"), strings.Repeat("match here\n", 300000))
	res := toolResults(t, m, p, id, "I14b", tool("grep", "path", "/mnt/user-data/uploads", "pattern", "match"))
	require.Contains(t, res[0], "many.txt", "a file that was left out of the search is named")
}
