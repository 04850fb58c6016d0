package sandbox

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// Vectors of the path guard (spec 2.3 and 10.3, J03): what a command may name.
func TestCheckCommand(t *testing.T) {
	t.Parallel()
	mounted := t.TempDir()
	l := newBox(t, func(o *LocalOptions) {
		o.Mounts = []Mount{{Virtual: "/mnt/data", Host: mounted, ReadOnly: true}}
		o.CommandPaths = []string{"/srv/mcp"}
	})
	const (
		ok        = ""
		traversal = "path traversal"
		workdir   = "Unsafe working directory"
		unsafe    = "Unsafe absolute paths"
	)
	for _, c := range []struct{ command, want string }{
		// 10.3-4
		{"cat /etc/hosts", unsafe},
		{"git clone https://github.com/x/y", ok},
		{"curl http://h/a/../b -o /mnt/user-data/workspace/f", ok},
		// 10.3-5
		{"cat ../uploads/s", traversal},
		{"cat a/../../s", traversal},
		{"prog --in=../s", traversal},
		{"echo x > ../outputs/f", traversal},
		{"ls ..", traversal},
		{`python3 -c "open('../x')"`, traversal},
		{"git log main..dev", ok},
		{"seq 1 10 | head -n ..5", ok},
		{"for i in {1..5}; do echo $i; done", ok},
		{"go test ./...", ok},
		// 10.3-6
		{"cd / && ls", workdir},
		{"command cd /", workdir},
		{"builtin cd $HOME", workdir},
		{"if cd $HOME; then ls; fi", workdir},
		{"{ cd /; }", workdir},
		{`x="$(cd $HOME && pwd)"`, workdir},
		{"ls\ncd $HOME", workdir},
		{"cd", workdir},
		{"cd -", workdir},
		{"cd ~", workdir},
		{"cd `pwd`", workdir},
		{"pushd /usr/bin", workdir},
		{"cd /mnt/user-data-old", workdir},
		{"bash -c 'cd / && ls'", workdir},
		{"eval 'cd /'", workdir},
		{"cd /mnt/user-data/outputs && ls", ok},
		{"cd /mnt/data", ok},
		{"cd src && make", ok},
		{"cd -P src", ok},
		// 10.3-7
		{"cd .. && ls", traversal},
		{"cd '..'", traversal},
		{"echo cd /", ok},
		{"printf 'pushd /'", ok},
		{"command -v cd", ok},
		// 10.3-8
		{"ls /", unsafe},
		{"ln -s / r && cat r/etc/x", unsafe},
		{"command ls /", unsafe},
		{"ls /.", unsafe},
		{"ls /*", unsafe},
		{"tr / _ < f", ok},
		{"cut -d/ -f1 f", ok},
		{`python3 -c "print(4 / 2, 4 // 2)"`, ok},
		// 10.3-9
		{`python3 -c "print(f'/端口{p}')"`, ok},
		{"echo '/端口 ok'", ok},
		{`python3 -c "print('/devices/{id}/port')"`, ok},
		// 10.3-10
		{"cat /etc/{passwd,shadow}", unsafe},
		{"cat /etc/passwd{,.bak}", unsafe},
		{"cat /{etc,var}/x", unsafe},
		{"cat {/etc,/var}/x", unsafe},
		{"cat /home/${USER}/k", unsafe},
		{"cat /$X/k", unsafe},
		// 10.3-11
		{`python3 -c "open('/etc/passwd')"`, unsafe},
		{"python3 <<'EOF'\nopen('/etc/passwd')\nEOF", unsafe},
		{"bash <<EOF\ncat /etc/passwd\nEOF", unsafe},
		{"cat > notes.md <<'EOF'\nsee /etc/hosts and ../x\nEOF", ok},
		// 10.3-12
		{"cat FILE:///etc/x", unsafe},
		{"curl file:///etc/passwd", unsafe},
		// 10.3-17
		{`type ..\..\secret`, traversal},
		{`cat "C:\Users\x"`, unsafe},
		// roots
		{"cat /mnt/user-data/workspace/a /mnt/user-data/uploads/*.csv", ok},
		{"cat /mnt/user-data-backup/x", unsafe},
		{"cat /mnt/user-data$X/x", unsafe},
		{"cat /mnt/data/x", ok},
		{"ls /srv/mcp/files", ok},
		{"gcc -I/mnt/user-data/workspace/include a.c", ok},
		{"gcc -I/etc/include a.c", unsafe},
		{"/usr/bin/env python3 x.py > /dev/null 2>&1", ok},
		{"PATH=/usr/local/bin:$PATH make", ok},
		{"cat ~root/.netrc", unsafe},
		{"cat ~/.netrc", ok}, // the home directory is the workspace
		{"cat < /etc/passwd", unsafe},
		{"echo x > /etc/cron.d/x", unsafe},
		{"diff <(cat /etc/passwd) a", unsafe},
		{`cat \/etc\/passwd`, unsafe},
		{`cat "/et"c/passwd`, unsafe},
		{"X=/etc/passwd; cat $X", unsafe},
		// text that is only shown or searched for
		{`echo "GET /api/v1/users" >> api.md`, ok},
		{"echo /etc/passwd | xargs cat", unsafe},
		{"grep -rn '/api/v1' .", ok},
		{"grep -A 3 '/api/v1' f", ok},
		{"grep x /etc/passwd", unsafe},
		{"sed -i 's#/usr/lib#/opt#g' f", ok},
		{"sed -n '/begin/,/end/p' f", ok},
		{"sed 'r /etc/passwd' f", unsafe},
		{"awk '/x/ {print $1}' f", ok},
		{`echo '</div>' > x.html`, ok},
		{`code=$(curl -s -o /dev/null -w '%{http_code}' http://x)`, ok},
		{"# see /etc/hosts\nls", ok},
		// no valid shell
		{"cat 'unclosed /etc/passwd", unsafe},
		{"cd / && 'unclosed", workdir},
		{"", "empty"},
		{" \n", "empty"},
		{"a\x00b", "NUL"},
		{strings.Repeat("x", maxCommand+1), "longer than"},
	} {
		err := l.checkCommand(c.command)
		if c.want == ok {
			require.NoError(t, err, "%q", c.command)
			continue
		}
		var refusal *CommandError
		require.ErrorAs(t, err, &refusal, "%q", c.command)
		require.Contains(t, refusal.Reason, c.want, "%q", c.command)
	}
}

func FuzzCheckCommand(f *testing.F) {
	for _, seed := range []string{"ls", "cat <<E\nx\nE", "$(", "((", "${x", "a\\", "{a,b}/..", "/{", "-I/"} {
		f.Add(seed)
	}
	p, err := NewLocal(LocalOptions{Root: f.TempDir()})
	if err != nil {
		f.Fatal(err)
	}
	l, err := p.box("u", "t")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, command string) {
		if l.checkCommand(command) == nil && strings.Contains(strings.ToLower(command), "file://") {
			t.Fatalf("%q was let through", command)
		}
	})
}
