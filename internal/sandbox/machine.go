package sandbox

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// MachineID names the machine of a thread for runners that keep one: 16 hex
// digits, the same in every process.
func MachineID(user, threadID string) string {
	sum := sha256.Sum256([]byte(user + ":" + threadID))
	return hex.EncodeToString(sum[:8])
}

// Remade is the notice for a model whose machine is not the one that it knew (J07).
const Remade = "[Notice: the sandbox of this thread had gone and was made anew. The files under /mnt/user-data are kept. " +
	"Everything else is as on the first day: install packages again, and start again what ran in the background.]"

// machineFile is where a thread's directory notes that a runner made a machine.
const machineFile = ".machine"

// NoteMachine notes in the thread's directory that a runner made a machine for the
// job's thread, and reports whether it had made one before.
func NoteMachine(j Job, runner string) (before bool, err error) {
	root, err := os.OpenRoot(filepath.Dir(j.UserData()))
	if err != nil {
		return false, fmt.Errorf("note the sandbox: %w", cause(err))
	}
	defer func() { _ = root.Close() }()
	old, err := root.ReadFile(machineFile)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return false, fmt.Errorf("note the sandbox: %w", cause(err))
	}
	if string(old) == runner {
		return true, nil
	}
	if err := root.WriteFile(machineFile, []byte(runner), 0o600); err != nil {
		return false, fmt.Errorf("note the sandbox: %w", cause(err))
	}
	return false, nil
}

// UserData is the directory of this host that holds the thread's files.
func (j Job) UserData() string {
	for _, m := range j.Mounts {
		if m.Virtual == UserData {
			return m.Host
		}
	}
	return ""
}

// MarkVariable is set in commands to a mark of their own, by which [EndScript]
// finds what they started.
const MarkVariable = ownerVariable

// EndScript is shell text that ends all processes of a machine that have a mark in
// their environment: TERM, and KILL 100 ms later. The mark must be made of letters,
// digits and "-".
func EndScript(mark string) string {
	return strings.ReplaceAll(endScript, "MARK", MarkVariable+"="+mark)
}

// endScript does without programs that a small image may lack.
const endScript = `for s in TERM KILL; do
for e in /proc/[0-9]*/environ; do
p=${e#/proc/}; p=${p%/environ}
if [ "$p" != "$$" ] && tr '\0' '\n' <"$e" 2>/dev/null | grep -qx 'MARK'; then kill -$s "$p" 2>/dev/null; fi
done
[ $s = KILL ] || sleep 0.1
done
:`

// RewriteRoot puts another spelling of /mnt/user-data into a command, for machines
// that keep the files of several threads.
func RewriteRoot(line, root string) string {
	return replacePaths(line, []pair{{from: UserData, to: root}}, startsPath, endsShellPath)
}

// MaskRoot is the way back for the output.
func MaskRoot(text, root string) string {
	return replacePaths(text, []pair{{from: root, to: UserData}}, func(string) bool { return true }, endsPath)
}
