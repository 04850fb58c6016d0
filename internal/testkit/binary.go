package testkit

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
)

const (
	// binaryEnv names a binary to test. When the file does not exist yet, it
	// is built there, so that several test processes can share it.
	binaryEnv = "DEERFLOW_TEST_BINARY"
	// mainPackage is what the binary is built from.
	mainPackage = "deerflow/cmd/deerflow"
)

// built is the one build of this test process; it never changes once made.
var built = sync.OnceValues(func() (string, error) {
	return buildBinary(context.Background(), mainPackage, os.Getenv(binaryEnv))
})

// Binary returns the path of the deerflow binary, built at the first call in
// this test process. The environment variable DEERFLOW_TEST_BINARY names one
// that exists, or the place to build it. Otherwise it is built into the user's
// cache directory, one place for each checkout, where go build only links
// again what has changed. The cache of go test does not see what the binary is
// made of, so such tests are to be run with -count=1.
func Binary(t testing.TB) string {
	t.Helper()
	path, err := built()
	if err != nil {
		t.Fatalf("the binary under test: %v", err)
	}
	return path
}

// failpointsEnv and failpointsTag are for the binary that can be stopped at
// failpoints.
const (
	failpointsEnv = "DEERFLOW_TEST_FAILPOINTS_BINARY"
	failpointsTag = "failpoints"
)

// builtWithFailpoints is the one build of it in this test process.
var builtWithFailpoints = sync.OnceValues(func() (string, error) {
	path, err := buildBinary(context.Background(), mainPackage, os.Getenv(failpointsEnv), failpointsTag)
	if err != nil {
		return "", err
	}
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return "", fmt.Errorf("look what %s was built with: %w", path, err)
	}
	for _, setting := range info.Settings {
		if setting.Key == "-tags" && slices.Contains(strings.Split(setting.Value, ","), failpointsTag) {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s=%s was built without -tags %s: it would never stop where a test wants it to", failpointsEnv, path, failpointsTag)
})

// BinaryWithFailpoints returns the path of a deerflow binary that was built with
// the tag failpoints. As with [Binary], DEERFLOW_TEST_FAILPOINTS_BINARY names one
// that exists, or the place to build it.
func BinaryWithFailpoints(t testing.TB) string {
	t.Helper()
	path, err := builtWithFailpoints()
	if err != nil {
		t.Fatalf("the binary under test: %v", err)
	}
	return path
}

// buildBinary builds pkg with build tags at target, or in the cache directory
// when target is empty. A target that exists is taken as it is.
func buildBinary(ctx context.Context, pkg, target string, tags ...string) (string, error) {
	if target != "" {
		switch info, err := os.Stat(target); {
		case err == nil && (info.IsDir() || info.Mode().Perm()&0o111 == 0):
			return "", fmt.Errorf("the binary to test, %s, is not an executable file", target)
		case err == nil:
			return filepath.Abs(target)
		case !errors.Is(err, fs.ErrNotExist):
			return "", fmt.Errorf("look at the binary to test, %s: %w", target, err)
		}
	} else {
		var err error
		if target, err = cachedPath(ctx, strings.Join(append([]string{path.Base(pkg)}, tags...), "-")); err != nil {
			return "", err
		}
	}
	target, err := filepath.Abs(target)
	if err != nil {
		return "", fmt.Errorf("place of the binary: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(target), 0o700); err != nil {
		return "", fmt.Errorf("place of the binary: %w", err)
	}
	unlock, err := lockFile(target + ".lock")
	if err != nil {
		return "", fmt.Errorf("wait for another build of %s: %w", target, err)
	}
	defer unlock()
	// No VCS stamp: it would link again after each commit.
	if _, err := goCommand(ctx, "build", "-buildvcs=false", "-tags", strings.Join(tags, ","), "-o", target, pkg); err != nil {
		return "", err
	}
	return target, nil
}

// cachedPath is where a binary of this checkout is kept between test runs.
func cachedPath(ctx context.Context, name string) (string, error) {
	module, err := goCommand(ctx, "env", "GOMOD")
	if err != nil {
		return "", err
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("place of the binary (set %s to choose one): %w", binaryEnv, err)
	}
	sum := sha256.Sum256([]byte(module))
	return filepath.Join(cache, "deerflow-testkit", hex.EncodeToString(sum[:8]), name), nil
}

func goCommand(ctx context.Context, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, stderr.String())
	}
	return strings.TrimSpace(string(out)), nil
}
