package deploy

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/cli"
	"github.com/compose-spec/compose-go/v2/types"
	"github.com/stretchr/testify/require"

	"deerflow/internal/testkit"
)

const root = "../.."

// load parses the file as Docker Compose does, with some variables set.
func load(t *testing.T, env ...string) *types.Project {
	t.Helper()
	options, err := cli.NewProjectOptions([]string{filepath.Join(root, "docker-compose.yaml")},
		cli.WithWorkingDirectory(root), cli.WithEnv(env), cli.WithInterpolation(true), cli.WithConsistency(true))
	require.NoError(t, err)
	project, err := options.LoadProject(t.Context())
	require.NoError(t, err)
	return project
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	require.NoError(t, err)
	return string(data)
}

// versionOf is the version of a module in go.mod, without the v.
func versionOf(t *testing.T, module string) string {
	t.Helper()
	m := regexp.MustCompile(`(?m)^\s*` + regexp.QuoteMeta(module) + ` v(\S+)`).FindStringSubmatch(read(t, "go.mod"))
	require.NotNil(t, m, module)
	return m[1]
}

func TestServicesStartInOrder(t *testing.T) {
	t.Parallel()
	p := load(t)
	require.ElementsMatch(t, []string{"postgres", "temporal-schema", "temporal", "temporal-namespace", "temporal-ui", "api", "worker"}, p.ServiceNames())
	waits := map[string]map[string]string{
		"temporal-schema":    {"postgres": types.ServiceConditionHealthy},
		"temporal":           {"temporal-schema": types.ServiceConditionCompletedSuccessfully},
		"temporal-namespace": {"temporal": types.ServiceConditionHealthy},
		"temporal-ui":        {"temporal": types.ServiceConditionHealthy},
		"api":                {"postgres": types.ServiceConditionHealthy, "temporal-namespace": types.ServiceConditionCompletedSuccessfully},
		"worker":             {"postgres": types.ServiceConditionHealthy, "temporal-namespace": types.ServiceConditionCompletedSuccessfully},
	}
	for name, service := range p.Services {
		got := map[string]string{}
		for other, d := range service.DependsOn {
			got[other] = d.Condition
			if d.Condition == types.ServiceConditionHealthy {
				require.NotEmpty(t, p.Services[other].HealthCheck.Test, "%s waits for the health of %s", name, other)
			}
		}
		require.Len(t, got, len(waits[name]), name)
		for other, condition := range waits[name] {
			require.Equal(t, condition, got[other], "%s waits for %s", name, other)
		}
	}
}

func TestImagesHaveTheVersionsOfTheEmbeddedServer(t *testing.T) {
	t.Parallel()
	p := load(t)
	server, ui := versionOf(t, "go.temporal.io/server"), versionOf(t, "github.com/temporalio/ui-server/v2")
	require.Equal(t, "temporalio/server:"+server, p.Services["temporal"].Image)
	require.Equal(t, "temporalio/admin-tools:"+server, p.Services["temporal-schema"].Image)
	require.Equal(t, "temporalio/admin-tools:"+server, p.Services["temporal-namespace"].Image)
	require.Equal(t, "temporalio/ui:"+ui, p.Services["temporal-ui"].Image)
	require.Equal(t, "postgres:16", p.Services["postgres"].Image)
}

func TestOnlyLoopbackPortsAreOpen(t *testing.T) {
	t.Parallel()
	for _, p := range []*types.Project{load(t), load(t, "API_PORT=3000-3003", "TEMPORAL_PORT=7000", "TEMPORAL_UI_PORT=8000")} {
		open := 0
		for name, service := range p.Services {
			for _, port := range service.Ports {
				require.Equal(t, "127.0.0.1", port.HostIP, "%s publishes %s", name, port.Published)
				open++
			}
			require.Empty(t, service.NetworkMode, name)
			require.False(t, service.Privileged, name)
		}
		require.Equal(t, 3, open)
	}
	require.Equal(t, "3000-3003", load(t, "API_PORT=3000-3003").Services["api"].Ports[0].Published, "several APIs share a range")
}

func TestAPIAndWorkerShareWhatTheyMust(t *testing.T) {
	t.Parallel()
	p := load(t, "POSTGRES_PASSWORD=s3cret/%", "TEMPORAL_ADDRESS=cloud:7233", "TEMPORAL_NAMESPACE=ns")
	api, worker := p.Services["api"], p.Services["worker"]
	require.Equal(t, api.Environment, worker.Environment)
	require.Equal(t, api.Volumes, worker.Volumes)
	require.Equal(t, api.Image, worker.Image)
	for _, service := range []types.ServiceConfig{api, worker} {
		require.True(t, *service.Init, "children of commands are reaped")
		require.Empty(t, service.User, "the image's own user")
		require.Empty(t, service.ContainerName, "it scales")
		require.Equal(t, []string{"ALL"}, service.CapDrop)
		value := func(name string) string { return *service.Environment[name] }
		require.NotContains(t, value("DEERFLOW_DATABASE_URL"), "s3cret", "a password needs no escaping in PGPASSWORD")
		require.Equal(t, "s3cret/%", value("PGPASSWORD"))
		require.Equal(t, "cloud:7233", value("TEMPORAL_ADDRESS"))
		require.Equal(t, "ns", value("TEMPORAL_NAMESPACE"))
		var files, config bool
		for _, v := range service.Volumes {
			files = files || v.Type == types.VolumeTypeVolume && v.Target == value("DEERFLOW_DATA_DIR")
			config = config || v.Type == types.VolumeTypeBind && v.Target == value("DEERFLOW_CONFIG") && v.ReadOnly
		}
		require.True(t, files, "the files of threads are on a shared volume")
		require.True(t, config)
	}
}

func TestMountedFilesExist(t *testing.T) {
	t.Parallel()
	for name, service := range load(t).Services {
		for _, v := range service.Volumes {
			if v.Type != types.VolumeTypeBind {
				continue
			}
			info, err := os.Stat(v.Source)
			require.NoError(t, err, name)
			require.False(t, info.IsDir(), "%s mounts %s", name, v.Source)
			if strings.HasSuffix(v.Source, ".sh") {
				require.Equal(t, types.ShellCommand{v.Target}, service.Command, "%s runs what it mounts", name)
			}
		}
	}
}

// The commands are run with the configuration of the services, up to where they
// would connect.
func TestBinaryKnowsTheCommands(t *testing.T) {
	t.Parallel()
	p := load(t)
	for _, name := range []string{"api", "worker"} {
		command := p.Services[name].Command
		require.NotEmpty(t, command)
		stdout, stderr, code := testkit.RunCLI(t, append(command[:len(command):len(command)], "--help"), testkit.CLIOptions{})
		require.Equal(t, 0, code, stderr)
		require.Contains(t, stdout, " "+name+" [flags]", "it is the command of this name")
		_, stderr, code = testkit.RunCLI(t, command, testkit.CLIOptions{Env: []string{
			"DEERFLOW_CONFIG=" + filepath.Join(mustAbs(t, root), "deploy", "config.yaml"), "DEERFLOW_DATA_DIR=" + t.TempDir(),
		}})
		require.Equal(t, 2, code, "%s: %s", name, stderr)
		require.Contains(t, stderr, "DEERFLOW_DATABASE_URL is not set", "all else is right")
	}
	_, stderr, code := testkit.RunCLI(t, []string{"keys", "create", "--help"}, testkit.CLIOptions{})
	require.Equal(t, 0, code, stderr)
}

func mustAbs(t *testing.T, path string) string {
	t.Helper()
	abs, err := filepath.Abs(path)
	require.NoError(t, err)
	return abs
}
