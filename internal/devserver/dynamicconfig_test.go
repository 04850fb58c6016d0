package devserver

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.temporal.io/server/common/dynamicconfig"
	"gopkg.in/yaml.v3"
)

// A key with a typing error, or a value of the wrong type, is ignored by a running server without a word. The loader of
// configuration files checks both.
func TestDynamicConfigIsKnownToTheServer(t *testing.T) {
	t.Parallel()
	file := map[string]any{}
	for key, value := range dynamicConfig(nil) {
		if n, ok := value.(int); ok {
			require.Positive(t, n)
		}
		file[key.String()] = []map[string]any{{"value": value}}
	}
	b, err := yaml.Marshal(file)
	require.NoError(t, err)
	loaded := dynamicconfig.LoadYamlFile(b)
	require.NoError(t, loaded.Err())
	require.Empty(t, loaded.Warnings)
	require.Len(t, loaded.Map, len(file))
}

func TestDynamicConfigCallsNobody(t *testing.T) {
	t.Parallel()
	require.Equal(t, false, dynamicConfig(nil)[dynamicconfig.EnableServerVersionCheck.Key()])
}

// The Temporal server of docker-compose.yaml has the same settings, in a file.
func TestDynamicConfigOfTheDeploymentIsTheSame(t *testing.T) {
	t.Parallel()
	b, err := os.ReadFile("../../deploy/temporal-dynamicconfig.yaml")
	require.NoError(t, err)
	loaded := dynamicconfig.LoadYamlFile(b)
	require.NoError(t, loaded.Err())
	require.Empty(t, loaded.Warnings)
	require.Len(t, loaded.Map, len(dynamicConfig(nil)))
	for key, want := range dynamicConfig(nil) {
		values := loaded.Map[key]
		require.Len(t, values, 1, key)
		if d, ok := want.(time.Duration); ok {
			text, ok := values[0].Value.(string)
			require.True(t, ok, key)
			got, err := time.ParseDuration(text)
			require.NoError(t, err)
			require.Equal(t, d, got, key)
			continue
		}
		require.Equal(t, want, values[0].Value, key)
	}
}
