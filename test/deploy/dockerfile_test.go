package deploy

import (
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestDockerfile(t *testing.T) {
	t.Parallel()
	file := read(t, "Dockerfile")
	stages := regexp.MustCompile(`(?m)^FROM `).Split(file, -1)
	require.Len(t, stages, 3, "a stage that builds and one that runs")
	build, run := stages[1], stages[2]
	version := regexp.MustCompile(`(?m)^go (\S+)$`).FindStringSubmatch(read(t, "go.mod"))
	require.NotNil(t, version)
	require.True(t, strings.HasPrefix(build, "golang:"+version[1]+"-"), "the Go of go.mod builds it")
	require.Contains(t, run, `ENTRYPOINT ["deerflow"]`)
	require.Regexp(t, `(?m)^USER [1-9]\d*:[1-9]\d*$`, run, "not as root")
	require.NotContains(t, run, "USER root")
	require.Contains(t, run, "/usr/local/bin/deerflow")
	require.Contains(t, run, "curl", "the health check of the api service")
	require.NotContains(t, file, ":latest")
}
