package cases

import (
	"bytes"
	"fmt"
	"io"
	"mime/multipart"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/text/unicode/norm"

	. "deerflow/internal/testkit"
)

// tool runs calls through the model and gives the results.
func toolResults(t *testing.T, m *Model, p *Process, id, mark string, calls ...Call) []string {
	t.Helper()
	for i := range calls {
		calls[i].ID = fmt.Sprintf("%s%d", mark, i)
	}
	m.On(LastUser(mark)).Respond(ByTurn(ToolCalls(calls...), Text("fine")))
	r := run(t, p.API(), id, mark)
	require.Equal(t, "success", r.Status)
	var out []string
	for _, x := range messages(t, p.API(), id) {
		if x.Type == "tool" && strings.HasPrefix(x.ToolCallID, mark) {
			out = append(out, x.Text())
			s := x.Text()
			if len(s) > 300 {
				s = s[:300] + fmt.Sprintf("...(%d)", len(x.Text()))
			}
			t.Logf("%s: %q", x.Name, s)
		}
	}
	require.Len(t, out, len(calls))
	return out
}

func sh(cmd string) Call {
	return call("", "bash", map[string]any{"description": "d", "command": cmd})
}

func rd(path string, more ...any) Call {
	args := map[string]any{"description": "d", "path": path}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return call("", "read_file", args)
}

func tool(name string, more ...any) Call {
	args := map[string]any{"description": "d"}
	for i := 0; i < len(more); i += 2 {
		args[more[i].(string)] = more[i+1]
	}
	return call("", name, args)
}

func TestIFiles(t *testing.T) {
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: ConfigFor(m), Env: []string{"SECRET_TOKEN=hunter2", "OPENAI_API_KEY=sk-hunter2"}})
	api := p.API()
	id := newThread(t, api)
	_, err := api.Upload(patient(t), id, UploadFile{Name: "a.txt", Content: []byte("one\ntwo\nthree\n")})
	require.NoError(t, err)
	dir := userDir(p, id)
	write(t, filepath.Join(filepath.Dir(dir), "user-data-old", "x.txt"), "SIBLING")
	write(t, filepath.Join(filepath.Dir(dir), "x.txt"), "ABOVE")
	write(t, dir+"-old/x.txt", "SIBLING")
	write(t, filepath.Join(dir, "workspace-old", "x.txt"), "SIBLING2")
	U := "/mnt/user-data/uploads/"
	t.Run("I01", func(t *testing.T) {
		for _, r := range toolResults(t, m, p, id, "I01", rd("/mnt/user-data-old/x.txt"), rd("/mnt/user-data/../user-data-old/x.txt"), rd("/mnt/user-data/workspace/../../x.txt"),
			rd(dir+"-old/x.txt"), rd("/mnt/user-data/workspace-old/x.txt"), rd("/etc/passwd"), rd("../../../x.txt"), sh("cat /mnt/user-data-old/x.txt"), sh("echo /mnt/user-data-old/x /mnt/user-data/workspace")) {
			require.NotContains(t, r, "SIBLING\n")
			require.NotContains(t, r, "ABOVE")
			require.NotContains(t, r, "root:")
			require.NotContains(t, strings.ReplaceAll(r, dir+"-old/x.txt is outside", ""), p.DataDir)
		}
	})
	t.Run("I02", func(t *testing.T) {
		w := filepath.Join(dir, "workspace")
		require.NoError(t, os.Symlink("/", filepath.Join(w, "rootlink")))
		require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(w, "pw")))
		require.NoError(t, os.Symlink("/tmp/deerflow-no-nope", filepath.Join(w, "dangling")))
		require.NoError(t, os.Symlink("../uploads/a.txt", filepath.Join(w, "inside")))
		require.NoError(t, os.Symlink("/tmp/deerflow-no-nope-dir", filepath.Join(dir, "outputs", "sub")))
		res := toolResults(t, m, p, id, "I02", rd("/mnt/user-data/workspace/rootlink/etc/passwd"), rd("/mnt/user-data/workspace/pw"),
			tool("write_file", "path", "/mnt/user-data/workspace/dangling", "content", "x"),
			tool("write_file", "path", "/mnt/user-data/workspace/rootlink/tmp/deerflow-no-nope", "content", "x"),
			tool("write_file", "path", "/mnt/user-data/outputs/sub/f", "content", "x"),
			tool("grep", "path", "/mnt/user-data/workspace", "pattern", "root:"),
			tool("glob", "path", "/mnt/user-data/workspace", "pattern", "**/passwd"),
			tool("str_replace", "path", "/mnt/user-data/workspace/pw", "old_str", "root", "new_str", "toor"),
			tool("present_files", "filepaths", []string{"/mnt/user-data/workspace/pw"}),
			rd("/mnt/user-data/workspace/inside"))
		for i, r := range res[:9] {
			require.NotContains(t, r, "root:x", "%d", i)
			require.NotContains(t, r, "/etc/passwd\n")
		}
		require.Contains(t, res[9], "two")
		_, err := os.Stat("/tmp/deerflow-no-nope")
		require.ErrorIs(t, err, os.ErrNotExist)
		for _, path := range []string{"workspace/pw", "workspace/rootlink/etc/passwd"} {
			res, err := http.Get(p.URL + "/api/threads/" + id + "/artifacts/mnt/user-data/" + path)
			require.NoError(t, err)
			body, _ := io.ReadAll(res.Body)
			res.Body.Close()
			require.NotContains(t, string(body), "root:")
			require.Equal(t, 4, res.StatusCode/100, "%d %s", res.StatusCode, body)
		}
	})
	t.Run("I10", func(t *testing.T) {
		write(t, filepath.Join(dir, "uploads", "empty.txt"), "")
		write(t, filepath.Join(dir, "uploads", "nonl.txt"), "a\nb")
		f, err := os.Create(filepath.Join(dir, "uploads", "huge.txt"))
		require.NoError(t, err)
		require.NoError(t, f.Truncate(1<<30))
		f.Close()
		res := toolResults(t, m, p, id, "I10", rd(U+"a.txt", "start_line", 2), rd(U+"a.txt", "end_line", 2), rd(U+"a.txt", "start_line", 0), rd(U+"a.txt", "start_line", -1), rd(U+"a.txt", "start_line", 3, "end_line", 1),
			rd(U+"a.txt", "start_line", 99), rd(U+"empty.txt"), rd(U+"huge.txt"), rd(U+"a.txt", "end_line", 0), rd(U+"a.txt", "start_line", "2"), rd(U+"a.txt", "start_line", 2.0), rd(U+"a.txt", "start_line", nil, "end_line", nil), rd(U), rd(U+"nonl.txt", "start_line", 2, "end_line", 9))
		require.Equal(t, "two\nthree", res[0])
		require.Less(t, len(res[7]), 70000)
	})
	t.Run("I11", func(t *testing.T) {
		write(t, filepath.Join(dir, "uploads", "b.png"), "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x01\x02")
		write(t, filepath.Join(dir, "uploads", "b.xlsx"), "PK\x03\x04\x14\x00\x06\x00\x08\x00")
		write(t, filepath.Join(dir, "uploads", "utf16.md"), "\xff\xfeh\x00i\x00\n\x00")
		write(t, filepath.Join(dir, "uploads", "gbk.txt"), "\xc4\xe3\xba\xc3\xca\xc0\xbd\xe7\n")
		write(t, filepath.Join(dir, "uploads", "lone.txt"), "good text\xff and more good text\n")
		res := toolResults(t, m, p, id, "I11", rd(U+"b.png"), rd(U+"b.xlsx"), rd(U+"utf16.md"), rd(U+"gbk.txt"), rd(U+"lone.txt"), sh("printf 'a\\377b\\000c'"), tool("grep", "path", U, "pattern", "good"), tool("str_replace", "path", U+"gbk.txt", "old_str", "x", "new_str", "y"))
		require.Contains(t, res[2], "hi")
		require.Contains(t, res[3], "你好")
		require.Contains(t, res[4], "good text")
	})
	t.Run("I13", func(t *testing.T) {
		res := toolResults(t, m, p, id, "I13", tool("write_file", "path", "/mnt/user-data/outputs/big.md", "content", strings.Repeat("字", 100000)))
		require.Contains(t, res[0], "append")
		tools := m.Requests()[0].Tools
		for _, x := range tools {
			if x.Name == "write_file" {
				require.Contains(t, string(x.Parameters), "append")
			}
		}
	})
	t.Run("I14", func(t *testing.T) {
		write(t, filepath.Join(dir, "uploads", "many.txt"), strings.Repeat("match -x here\n", 300000))
		res := toolResults(t, m, p, id, "I14", tool("grep", "path", U+"a.txt", "pattern", "tw"), tool("grep", "path", U+"a.txt", "pattern", "t(w"), tool("grep", "path", U+"many.txt", "pattern", "-x"), tool("grep", "path", U, "pattern", "match"),
			tool("glob", "path", "/mnt/user-data", "pattern", "../../*"), tool("glob", "path", "/etc", "pattern", "*"), tool("glob", "path", U, "pattern", "/etc/*"), tool("glob", "path", U, "pattern", "[a"), tool("grep", "path", U, "pattern", "--help"), tool("grep", "path", U+"a.txt", "pattern", ""), tool("grep", "path", U+"a.txt", "pattern", "(a+)+$"), tool("ls", "path", U))
		require.Contains(t, res[0], "two")
		require.Less(t, len(res[3]), 60000)
	})
	t.Run("J05", func(t *testing.T) {
		res := toolResults(t, m, p, id, "J05", sh("env"), sh("cat /proc/1/environ | tr '\\0' '\\n'"), sh("cat ~/.netrc"), sh("cat /proc/$PPID/environ | tr '\\0' '\\n'"), sh("cat /proc/self/environ"), sh("X=/proc/$PPID; cat $X/environ"))
		for _, r := range res {
			require.NotContains(t, r, "hunter2")
			require.NotContains(t, r, "kit-key")
		}
	})
	t.Run("J02", func(t *testing.T) {
		begin := time.Now()
		res := toolResults(t, m, p, id, "J02", sh("sleep 9; echo done"), sh("sleep 1000 & echo bg"), sh("exit 3"), sh("kill -9 $$"), sh("yes | head -c 50000000"), sh("cat"), sh("(sleep 400; echo x) & disown; echo detached"))
		require.Contains(t, res[0], "done")
		require.Less(t, time.Since(begin), 30*time.Second)
	})
}

func post(t *testing.T, p *Process, path, ctype string, body io.Reader, h map[string]string) (int, string) {
	t.Helper()
	req, err := http.NewRequest("POST", p.URL+path, body)
	require.NoError(t, err)
	req.Header.Set("Content-Type", ctype)
	for k, v := range h {
		if k == "Host" {
			req.Host = v
			continue
		}
		req.Header.Set(k, v)
	}
	res, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b)
}

func get(t *testing.T, p *Process, path string, h map[string]string) (int, string, http.Header) {
	t.Helper()
	req, err := http.NewRequest("GET", p.URL+path, nil)
	require.NoError(t, err)
	for k, v := range h {
		if k == "Host" {
			req.Host = v
			continue
		}
		req.Header.Set(k, v)
	}
	res, err := http.DefaultTransport.RoundTrip(req)
	require.NoError(t, err)
	defer res.Body.Close()
	b, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(b), res.Header
}

func TestIUploads(t *testing.T) {
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	api := p.API()
	id := newThread(t, api)
	up := func(id string, parts ...[2]string) (int, string) {
		var b bytes.Buffer
		w := multipart.NewWriter(&b)
		for _, x := range parts {
			h := textproto.MIMEHeader{}
			h.Set("Content-Disposition", `form-data; name="files"; `+x[0])
			pw, err := w.CreatePart(h)
			require.NoError(t, err)
			_, _ = pw.Write([]byte(x[1]))
		}
		w.Close()
		return post(t, p, "/api/threads/"+id+"/uploads", w.FormDataContentType(), &b, nil)
	}
	nfd, nfc := norm.NFD.String("résumé.pdf"), "résumé.pdf"
	code, body := up(id, [2]string{`filename="` + nfd + `"`, "nfd"}, [2]string{`filename="` + nfc + `"`, "nfc"})
	t.Logf("I04 %d %s", code, body)
	require.Equal(t, 200, code)
	for _, n := range []string{nfd, nfc} {
		c, b, _ := get(t, p, "/api/threads/"+id+"/artifacts/mnt/user-data/uploads/"+url.PathEscape(n), nil)
		t.Logf("I04 %d %q", c, b)
		require.Equal(t, 200, c)
	}
	id2 := newThread(t, api)
	up(id2, [2]string{`filename="` + nfd + `"`, "nfd"})
	c, b, _ := get(t, p, "/api/threads/"+id2+"/artifacts/mnt/user-data/uploads/"+url.PathEscape(nfc), nil)
	require.Equal(t, 200, c, b)
	res := toolResults(t, m, p, id2, "I04", rd("/mnt/user-data/uploads/"+nfc))
	require.Contains(t, res[0], "nfd")

	long := strings.Repeat("季", 90) + ".xlsx"
	id = newThread(t, api)
	code, body = up(id, [2]string{`filename="A.TXT"`, "11"}, [2]string{`filename="x\"y;z.txt"`, "12"}, [2]string{`filename="con.txt "`, "13"})
	require.Equal(t, 200, code, body)
	code, body = up(id, [2]string{`filename="季度报告（终稿）.xlsx"`, "1"}, [2]string{`filename*=UTF-8''%E5%AD%A3%E5%BA%A6.xlsx`, "2"}, [2]string{"filename=\"å­£.xlsx\"", "3"}, [2]string{`filename="` + long + `"`, "4"},
		[2]string{`filename="../../evil.txt"`, "5"}, [2]string{`filename="..\\..\\evil.txt"`, "6"}, [2]string{`filename="a/b/c.txt"`, "7"}, [2]string{`filename=".bashrc"`, "8"}, [2]string{`filename="a.txt"`, "9"}, [2]string{`filename="a.txt"`, "10"})
	t.Logf("I05 %d %s", code, body)
	require.Equal(t, 200, code)
	require.Contains(t, body, "季度报告（终稿）.xlsx")
	entries, err := os.ReadDir(filepath.Join(userDir(p, id), "uploads"))
	require.NoError(t, err)
	require.Len(t, entries, 12, "a name with a backslash is skipped")
	for _, e := range entries {
		require.LessOrEqual(t, len(e.Name()), 255)
		c, _, h := get(t, p, "/api/threads/"+id+"/artifacts/mnt/user-data/uploads/"+url.PathEscape(e.Name())+"?download=true", nil)
		require.Equal(t, 200, c, e.Name())
		t.Logf("%s", h.Get("Content-Disposition"))
	}
	for _, bad := range []string{`filename=".."`, `filename="."`, `filename="/"`} {
		code, body = up(id, [2]string{bad, "x"})
		t.Logf("%q %d %s", bad, code, body)
		require.Equal(t, 4, code/100, bad)
	}
	for _, tid := range []string{"..", "..%2f..%2fx", "%2e%2e", "a%2fb", "a%00b", strings.Repeat("x", 300), ".", "%20", "a\\b", "ümlaut"} {
		code, body = up(tid, [2]string{`filename="x.txt"`, "x"})
		t.Logf("thread %q: %d %.150s", tid, code, body)
		require.NotEqual(t, 5, code/100)
	}
	// traversal in artifacts
	write(t, filepath.Join(p.DataDir, "users", "default", "threads", id, "secret.txt"), "TOPSECRET")
	for _, path := range []string{"../secret.txt", "mnt/user-data/../../secret.txt", "mnt/user-data/uploads/../../secret.txt", "mnt/user-data/uploads/..%2f..%2f..%2fsecret.txt", "mnt/user-data/uploads/%2e%2e/%2e%2e/secret.txt", "%2fetc%2fpasswd", "/etc/passwd", "mnt/user-data-old/x", "mnt/user-data/uploads/..%5c..%5csecret.txt", "mnt/user-data/uploads/a.txt%00.png", "mnt//user-data//uploads//a.txt", "mnt/user-data/uploads/..;/secret.txt", "mnt/user-data/uploads", "mnt/user-data/", ""} {
		c, b, _ := get(t, p, "/api/threads/"+id+"/artifacts/"+path, nil)
		t.Logf("%s: %d %.100s", path, c, b)
		require.NotContains(t, b, "TOPSECRET")
		require.NotContains(t, b, "root:")
		require.NotEqual(t, 5, c/100)
	}
	// not multipart, broken multipart, no files
	for _, x := range [][2]string{{"application/json", "{}"}, {"multipart/form-data", "x"}, {"multipart/form-data; boundary=b", "--b\r\nbroken"}, {"multipart/form-data; boundary=b", "--b--\r\n"}} {
		code, body = post(t, p, "/api/threads/"+id+"/uploads", x[0], strings.NewReader(x[1]), nil)
		t.Logf("%v: %d %s", x, code, body)
		require.Equal(t, 4, code/100)
	}
	// uploads onto a link
	require.NoError(t, os.Symlink("/tmp/deerflow-no-upload-target", filepath.Join(userDir(p, id), "uploads", "link.txt")))
	code, body = up(id, [2]string{`filename="link.txt"`, "x"})
	t.Logf("link: %d %s", code, body)
	_, err = os.Stat("/tmp/deerflow-no-upload-target")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestHostOrigin(t *testing.T) {
	m := NewModel(t)
	m.Respond(func(*Request) Reply { return Text("fine") })
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	_, port, _ := net.SplitHostPort(p.Addr())
	for _, h := range []map[string]string{
		{"Host": "evil.com"},
		{"Host": "evil.com:" + port},
		{"Host": "127.0.0.1.evil.com"},
		{"Host": "localhost.evil.com"},
		{"Host": "evil-localhost"},
		{"Origin": "http://evil.com"},
		{"Origin": "null"},
		{"Origin": "http://127.0.0.1:1"},
		{"Origin": "http://127.0.0.1:" + port + ".evil.com"},
		{"Sec-Fetch-Site": "cross-site"},
		{"Sec-Fetch-Site": "same-site", "Origin": p.URL},
		{"Origin": "file://"},
		{"Host": "0.0.0.0:" + port},
		{"X-HTTP-Method-Override": "GET", "Origin": "http://evil.com"},
	} {
		code, body := post(t, p, "/threads", "application/json", strings.NewReader(`{}`), h)
		t.Logf("%v: %d %.120s", h, code, body)
		require.Equal(t, 403, code)
	}
	for _, h := range []map[string]string{{"Host": "evil.com"}} {
		code, body, _ := get(t, p, "/threads/x", h)
		require.Equal(t, 403, code, body)
	}
	// text/plain is what a form of another page can send
	code, body := post(t, p, "/threads", "text/plain", strings.NewReader(`{}`), nil)
	t.Logf("text/plain: %d %s", code, body)
	for _, h := range []map[string]string{{}, {"Host": "localhost:" + port}, {"Host": "[::1]:" + port}, {"Origin": p.URL}, {"Sec-Fetch-Site": "same-origin"}} {
		code, body := post(t, p, "/threads", "application/json", strings.NewReader(`{}`), h)
		require.Equal(t, 200, code, "%v %s", h, body)
	}
	for _, path := range []string{"/threads/" + strings.Repeat("a", 10000), "/threads/%00", "/threads/..%2f", "/threads/x/runs/" + strings.Repeat("b", 5000), "/threads/x/runs?limit=-1", "/threads/x/runs?limit=abc", "/threads/x/state", "/nope", "/threads/%ff%fe"} {
		code, body, _ := get(t, p, path, nil)
		t.Logf("%.40s: %d %.100s", path, code, body)
		require.Equal(t, 4, code/100)
	}
	for _, body := range []string{`{"thread_id":5}`, `{"thread_id":""}`, `{"thread_id":"../x"}`, `{"thread_id":"a/b"}`, `{"thread_id":"` + strings.Repeat("z", 1000) + `"}`, `{"thread_id":"\u0000"}`, `{"metadata":[]}`, `{"metadata":{"a":` + strings.Repeat("[", 9000) + strings.Repeat("]", 9000) + `}}`, `{"if_exists":"nope"}`, `"x"`, ``, `{"thread_id":"."}`, `{"thread_id":".."}`} {
		code, out := post(t, p, "/threads", "application/json", strings.NewReader(body), nil)
		t.Logf("%.60s: %d %.160s", body, code, out)
		require.NotEqual(t, 5, code/100)
	}
	for _, body := range []string{`{"limit":-1}`, `{"limit":1e9}`, `{"offset":-1}`, `{"metadata":{"a'; drop table threads":1}}`, `{"metadata":{"a.b[0]\"":{"c":[1]}}}`, `{"status":"nope"}`, `{"ids":["` + strings.Repeat("x", 300) + `"]}`, `{"sort_by":"id; drop"}`, `{"ids":5}`} {
		code, out := post(t, p, "/threads/search", "application/json", strings.NewReader(body), nil)
		t.Logf("%.60s: %d %.160s", body, code, out)
		require.NotEqual(t, 5, code/100)
	}
}

func TestC01Loops(t *testing.T) {
	m := NewModel(t)
	m.On(AnyMessage("same!")).Respond(func(*Request) Reply { return ToolCalls(rd("/mnt/user-data/uploads/a.md")) })
	m.On(AnyMessage("pair!")).Respond(func(r *Request) Reply {
		return ToolCalls(rd("/mnt/user-data/uploads/" + []string{"a", "b"}[r.Turn()%2] + ".md"))
	})
	m.On(AnyMessage("lines!")).Respond(func(r *Request) Reply { return ToolCalls(rd("/mnt/user-data/uploads/a.md", "start_line", r.Turn()+1)) })
	m.On(AnyMessage("files!")).Respond(func(r *Request) Reply { return ToolCalls(rd(fmt.Sprintf("/mnt/user-data/uploads/%d.md", r.Turn()))) })
	m.On(AnyMessage("turncap!")).Respond(func(r *Request) Reply {
		if len(r.Tools) == 0 || !strings.Contains(string(r.Body), "last turn") {
			return ToolCalls(tool([]string{"ls", "glob"}[r.Turn()%2], "path", fmt.Sprintf("/mnt/user-data/%d", r.Turn()), "pattern", "*"))
		}
		return Text("a last word")
	})
	p := StartDev(t, DevOptions{Config: ConfigFor(m, "thread: {max_turns: 60}")})
	for name, limit := range map[string]int{"same": 5, "pair": 12, "lines": 60, "files": 60} {
		t.Run(name, func(t *testing.T) {
			id := newThread(t, p.API())
			r := run(t, p.API(), id, name+"!")
			list := messages(t, p.API(), id)
			n := len(m.RequestsTo(AnyMessage(name + "!")))
			t.Logf("%s %s %d requests %q", r.Status, r.StopReason, n, last(list).Text())
			require.LessOrEqual(t, n, limit)
			require.NotEmpty(t, last(list).Text())
			require.NotEmpty(t, r.StopReason)
		})
	}
	t.Run("turncap", func(t *testing.T) {
		id := newThread(t, p.API())
		req := SayWatched("turncap!")
		req.Config = map[string]any{"recursion_limit": 4}
		r := do(t, p.API(), id, req)
		t.Logf("%s %s %q", r.Status, r.StopReason, shape(messages(t, p.API(), id)))
		require.Equal(t, "success", r.Status)
		require.NotEmpty(t, last(messages(t, p.API(), id)).Text())
	})
}

func TestC10BadRequests(t *testing.T) {
	m := NewModel(t)
	p := StartDev(t, DevOptions{Config: ConfigFor(m)})
	for _, code := range []int{400, 401, 402, 403, 404, 422} {
		t.Run(fmt.Sprint(code), func(t *testing.T) {
			mark := fmt.Sprintf("code %d.", code)
			m.On(LastUser(mark)).Always(APIError(code, "", "the provider's own sentence"))
			m.On(LastUser("on " + fmt.Sprint(code))).Always(Text("fine"))
			id := newThread(t, p.API())
			r := run(t, p.API(), id, mark)
			list := messages(t, p.API(), id)
			t.Logf("%s %q", r.Status, last(list).Text())
			require.Equal(t, "error", r.Status)
			require.Len(t, m.RequestsTo(LastUser(mark)), 1)
			require.Contains(t, last(list).Text(), "own sentence")
			require.Equal(t, "success", run(t, p.API(), id, "on "+fmt.Sprint(code)).Status)
		})
	}
	m.On(LastUser("quota")).Always(APIError(429, "insufficient_quota", "no money"))
	id := newThread(t, p.API())
	r := run(t, p.API(), id, "quota")
	require.Equal(t, "error", r.Status)
	require.Len(t, m.RequestsTo(LastUser("quota")), 1)
}
