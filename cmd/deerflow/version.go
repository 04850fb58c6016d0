package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"deerflow/internal/cli"
)

// version is set by the linker (-X main.version=...); empty in other builds, whose module version counts.
var version string

// versionInfo is what a binary knows about itself.
type versionInfo struct {
	Version  string `json:"version"`
	Commit   string `json:"commit,omitempty"`
	Time     string `json:"commit_time,omitempty"` // RFC 3339
	Modified bool   `json:"modified,omitempty"`    // built from files that were not committed
	Go       string `json:"go"`
	Platform string `json:"platform"`
}

func newVersionCommand(app App) *cobra.Command {
	format := cli.FormatText
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print version, commit and Go version",
		Args:  cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			v := readVersion(app.BuildInfo)
			if format != cli.FormatText {
				return format.WriteJSON(app.Out, v)
			}
			_, err := fmt.Fprintf(app.Out, "deerflow %s\ncommit   %s\ngo       %s\nplatform %s\n",
				v.Version, v.commitText(), v.Go, v.Platform)
			return err
		},
	}
	cmd.Flags().VarP(&format, "output", "o", "output format")
	return cmd
}

func (v versionInfo) commitText() string {
	text := firstOf(v.Commit, "unknown")
	if v.Modified {
		text += " with local changes"
	}
	if v.Time != "" {
		text += " of " + v.Time
	}
	return text
}

func readVersion(read func() (*debug.BuildInfo, bool)) versionInfo {
	v := versionInfo{Version: firstOf(version, "unknown"), Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH}
	info, ok := read()
	if !ok {
		return v
	}
	v.Version = firstOf(version, info.Main.Version, v.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Commit = s.Value
		case "vcs.time":
			v.Time = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}
