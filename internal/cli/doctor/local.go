package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"deerflow/config"
	"deerflow/internal/store"
)

func (e *exam) machine(context.Context) []Check {
	return []Check{{Name: "program", Status: OK, Detail: fmt.Sprintf("deerflow %s, %s, %s/%s, %d processors",
		e.o.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU())}}
}

// configuration reads the config: every mistake is one failed check.
func (e *exam) configuration(context.Context) []Check {
	const name = "config"
	cfg, warnings, err := config.Load(config.Options{Path: e.o.ConfigPath, Getenv: e.o.Getenv})
	var checks []Check
	if err != nil {
		for line := range strings.SplitSeq(err.Error(), "\n") {
			checks = append(checks, Check{name, Fail, line, "put it right; a server that runs goes on with what it read before. 'deerflow config check' looks again, docs/configuration.md has the keys"})
		}
		return checks
	}
	e.config = cfg
	models := make([]string, 0, len(cfg.Models))
	for i := range cfg.Models {
		models = append(models, cfg.Models[i].Name)
	}
	where := cfg.Path
	if where == "" {
		where = "no file"
	}
	checks = append(checks, Check{Name: name, Status: OK, Detail: fmt.Sprintf("%s; models: %s (the first is the default)", where, strings.Join(models, ", "))})
	for _, w := range warnings {
		if cfg.Path == "" { // that there is no file is how a first start looks
			checks[0].Detail = w.String()
			continue
		}
		checks = append(checks, Check{Name: name, Status: Warn, Detail: w.String()})
	}
	return checks
}

// lowSpace is how much free space is little for databases that grow.
const lowSpace = 1 << 30

// dataDir looks whether a file can be written there, and at the free space.
func (e *exam) dataDir(context.Context) []Check {
	c := Check{Name: "data directory", Status: OK}
	dir, err := filepath.Abs(e.o.DataDir)
	if err != nil {
		return []Check{{c.Name, Fail, err.Error(), "name another one with --data-dir"}}
	}
	c.Detail = dir
	place := dir
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		c.Detail += " is made at the first start"
		for errors.Is(err, fs.ErrNotExist) && filepath.Dir(place) != place {
			place = filepath.Dir(place)
			_, err = os.Stat(place)
		}
	}
	if err := writable(place); err != nil {
		return []Check{{c.Name, Fail, err.Error(), "give the user who runs the server the right to write there, or name another one with --data-dir"}}
	}
	free, err := freeSpace(place)
	switch {
	case err != nil:
		c.Detail += "; its free space is not known"
	case free < lowSpace:
		c.Status, c.Detail, c.Fix = Warn, fmt.Sprintf("%s; only %d MB are free", c.Detail, free>>20), "make room: databases that cannot grow stop all work"
	default:
		c.Detail += fmt.Sprintf("; %.1f GB free", float64(free)/(1<<30))
	}
	return []Check{c}
}

// writable makes a file and takes it away.
func writable(dir string) error {
	f, err := os.CreateTemp(dir, ".deerflow-doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// storeFile is the product database in the data directory.
const storeFile = "deerflow.db"

// maxSkew is how far clocks may be apart.
const maxSkew = 5 * time.Second

// clock compares the time with that of the files: a clock that was set back makes timers late.
func (e *exam) clock(context.Context) []Check {
	c := Check{Name: "clock", Status: OK, Detail: e.o.Now().Format(time.RFC3339)}
	info, err := os.Stat(filepath.Join(e.o.DataDir, storeFile))
	if err != nil {
		return []Check{c}
	}
	if ahead := info.ModTime().Sub(e.o.Now()); ahead > maxSkew {
		c.Status = Warn
		c.Detail = fmt.Sprintf("%s, but the database was written %s later than that", c.Detail, ahead.Round(time.Second))
		c.Fix = "set the clock, or wait: timers that are running end late"
	}
	return []Check{c}
}

// databaseVariable has the address of a Postgres database.
const databaseVariable = "DEERFLOW_DATABASE_URL"

func (e *exam) database(ctx context.Context) []Check {
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	c := Check{Name: "database", Status: OK}
	o := store.Options{URL: strings.TrimSpace(e.getenv(databaseVariable))}
	if o.URL == "" {
		o.Path = filepath.Join(e.o.DataDir, storeFile)
	}
	schema, err := store.Inspect(ctx, o)
	switch {
	case errors.Is(err, store.ErrNewer):
		c.Status, c.Detail, c.Fix = Fail, err.Error(), "use the newer deerflow that wrote it"
	case err != nil:
		c.Status, c.Detail, c.Fix = Fail, err.Error(), "see whether the file, or the server of "+databaseVariable+", can be reached"
	case schema.Found == 0:
		c.Status, c.Detail = Skip, schema.Name+" is made at the first start"
	case schema.Found < schema.Known:
		c.Detail = fmt.Sprintf("%s, version %d: the next start brings it to version %d", schema.Name, schema.Found, schema.Known)
	default:
		c.Detail = fmt.Sprintf("%s, version %d", schema.Name, schema.Found)
	}
	return []Check{c}
}
