package evidence

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKey(t *testing.T) {
	t.Parallel()
	for _, same := range [][]string{
		{"https://example.org", "http://example.org/", "HTTPS://WWW.Example.org:443/#top", " https://example.org. "},
		{"https://example.org/a", "https://example.org/a/", "http://www.example.org/a?utm_source=x&gclid=1", "https://example.org/a#b", "https://example.org/%61"},
		{"https://example.org/a?x=1&y=2", "https://example.org/a?y=2&x=1&fbclid=z"},
		{"https://example.org/caf%C3%A9", "https://example.org/café"},
		{"https://xn--bcher-kva.example/", "https://Bücher.example"},
		{"http://127.0.0.1:8080/p", "http://127.0.0.1:8080/p/"},
		{"https://example.org/a?q=b%20c", "https://example.org/a?q=b+c"},
	} {
		want, ok := Key(same[0])
		require.True(t, ok, same[0])
		for _, address := range same {
			got, ok := Key(address)
			require.True(t, ok, address)
			require.Equal(t, want, got, address)
		}
	}
	seen := map[string]string{}
	for _, address := range []string{
		"https://example.org", "https://example.org/a", "https://example.org/A", "https://example.org/a?x=1", "https://example.org/a?x=2",
		"https://sub.example.org/a", "https://example.org:8443/a", "https://www.org/a",
	} {
		key, ok := Key(address)
		require.True(t, ok, address)
		require.Empty(t, seen[key], address)
		seen[key] = address
	}
	for _, none := range []string{
		"", "x", "/mnt/user-data/outputs/a.md", "report.md", "#top", "mailto:a@b.c", "ftp://example.org/x", "https://", "https:///x", "javascript:alert(1)",
		"data:text/html,x", "://x", "https://example.org/" + strings.Repeat("a", maxURL), "http://[::1", "sandbox:/mnt/user-data/outputs/a.md",
	} {
		_, ok := Key(none)
		require.False(t, ok, none)
	}
}

// forms writes citations in brief.
func forms(list []Citation) []string {
	var out []string
	for _, c := range list {
		out = append(out, strings.TrimSpace(fmt.Sprintf("%s %s %s", c.Form, c.Key, c.Title)))
	}
	return out
}

func TestCitations(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []string
	}{
		{"cited", "Deer run [citation:A *study* of deer](https://a.org/x?b=1).", []string{"citation a.org/x?b=1 A study of deer"}},
		{"cited in another case", "[Citation: T](https://a.org)", []string{"citation a.org T"}},
		{"in Chinese, against a full stop", "鹿会跑[citation:鹿的研究](https://a.org/鹿)。见 https://b.org/x。", []string{"citation a.org/%E9%B9%BF 鹿的研究", "bare b.org/x"}},
		{"brackets in both", "[citation:On [deer] (2nd)](https://a.org/x_(y))", []string{"citation a.org/x_%28y%29 On [deer] (2nd)"}},
		{"escaped", `[citation:A \[b\] &amp; c](https://a.org/\(x\)?a=1&amp;b=2)`, []string{"citation a.org/%28x%29?a=1&b=2 A [b] & c"}},
		{"link, bare, angle brackets", "[L](https://l.org) https://b.org/p. <https://c.org>", []string{"link l.org L", "bare b.org/p", "bare c.org"}},
		{"reference", "See [the page][1] and [2].\n\n[1]: https://a.org 'T'\n[2]: https://b.org\n", []string{"link a.org the page", "link b.org 2"}},
		{"unused reference", "Text.\n\n[9]: https://a.org \"Only listed\"\n", []string{"bare a.org Only listed"}},
		{"footnote", "Text[^1].\n\n[^1]: [T](https://a.org), https://b.org/x\n", []string{"link a.org T", "bare b.org/x"}},
		{"each once, the strongest form", "[citation:T](https://a.org)\n\n## Sources\n- [T](https://www.a.org/)\n- https://a.org#x", []string{"citation a.org T"}},
		{"the strongest comes last", "https://a.org [Long](https://a.org) [citation:T](https://a.org)", []string{"citation a.org T"}},
		{"table", "| a | b |\n|---|---|\n| [T](https://a.org) | [citation:U](https://b.org) |", []string{"link a.org T", "citation b.org U"}},
		{"code", "`https://a.org`\n\n```\n[x](https://b.org)\n```\n\n    https://c.org\n", nil},
		{"image", "![chart](https://a.org/c.png) ![c](/mnt/user-data/outputs/c.png)", nil},
		{"image by reference", "![a][1] ![X] [![b][2]](https://c.org)\n\n[1]: https://a.org/1.png\n[x ]: https://a.org/x.png\n[2]: https://a.org/2.png\n[3]: https://d.org", []string{"link c.org b", "bare d.org"}},
		{"image and link by one reference", "![a][1] [b][1]\n\n[1]: https://a.org", []string{"link a.org b"}},
		{"no pages", "[r](report.md) [o](/mnt/user-data/outputs/x.pdf) [a](#top) [m](mailto:a@b.org) <a@b.org>", nil},
		{"this machine", "Open [it](http://localhost:3000), http://127.0.0.1:8000/x or [n](http://10.0.0.8/) or [d](http://db.internal)", nil},
		{"this machine, cited", "[citation:T](http://127.0.0.1:8000/x)", []string{"citation 127.0.0.1:8000/x T"}},
		{"not Markdown", "[citation:T] (https://a.org", []string{"bare a.org"}},
		{"nothing", "", nil},
		{"after text without a space", "见https://a.org/a，来源：https://b.org/b。（https://c.org/c）【https://d.org/d】Source:https://e.org/e", []string{
			"bare a.org/a", "bare b.org/b", "bare c.org/c", "bare d.org/d", "bare e.org/e",
		}},
		{"in quotes", `"https://a.org" “https://b.org” 'https://c.org/x','https://d.org' 「https://e.org」 ‘https://f.org’`, []string{
			"bare a.org", "bare b.org", "bare c.org/x", "bare d.org", "bare e.org", "bare f.org",
		}},
		{"before text without a space", "见https://a.org/x的报告和https://b.org/是真的https://c.org/1、https://d.org", []string{
			"bare a.org/x", "bare b.org/%E6%98%AF%E7%9C%9F%E7%9A%84", "bare c.org/1", "bare d.org",
		}},
		{"in brackets", "(见https://a.org/x_(y)) [https://b.org/x] {https://c.org}。([https://d.org/x])", []string{
			"bare a.org/x_%28y%29", "bare b.org/x", "bare c.org", "bare d.org/x",
		}},
		{"names in other scripts", "见https://a.org/wiki/鹿_(动物) 和https://b.org/wiki/Köln，https://c.org/?q=鹿&p=1", []string{
			"bare a.org/wiki/%E9%B9%BF_%28%E5%8A%A8%E7%89%A9%29", "bare b.org/wiki/K%C3%B6ln", "bare c.org?p=1&q=%E9%B9%BF",
		}},
		{"with marks of Markdown", "见**https://a.org/x**。见https://b.org/_a_/b_c_d，~~见https://c.org/x~~，见https://d.org/a\\_b?x=1&amp;y=2，*见https://e.org/e* _见https://f.org/f_ 后", []string{
			"bare a.org/x", "bare b.org/_a_/b_c_d", "bare c.org/x", "bare d.org/a_b?x=1&y=2", "bare e.org/e", "bare f.org/f",
		}},
		{"one after the other", "https://a.org/x,https://b.org/y;https://c.org、www.d.org/x", []string{"bare a.org/x", "bare b.org/y", "bare c.org", "bare d.org/x"}},
		{"one in another", "https://a.org/web/2020/https://b.org/x https://c.org?u=www.d.org", []string{
			"bare a.org/web/2020/https://b.org/x", "bare c.org?u=www.d.org",
		}},
		{"each once, without a space", "[citation:鹿](https://a.org/x)来源：https://a.org/x。[https://a.org/x](https://a.org/x)见<https://a.org/x>", []string{"citation a.org/x 鹿"}},
		{"in code, without a space", "见`https://a.org`和`curl:https://b.org`\n\n```\n见https://c.org\n```\n", nil},
		{"in titles and images", "[见https://a.org](https://b.org)![图https://c.org](x.png)", []string{"link b.org 见https://a.org"}},
		{"no addresses", "git+https://a.org/x awww.b.org https:// http://x https://a www. 见https://，http://127.0.0.1/x", nil},
		{"in tables and lists", "|来源|\n|-|\n|见https://a.org/x|\n\n- 来源：https://b.org\n  续：https://c.org\n\n> 见https://d.org\n\n# 见https://e.org", []string{
			"bare a.org/x", "bare b.org", "bare c.org", "bare d.org", "bare e.org",
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, forms(Citations(c.text)))
		})
	}
	var long strings.Builder
	for i := range maxCitations + 5 {
		fmt.Fprintf(&long, "[t](https://a.org/%d)\n", i)
	}
	require.Len(t, Citations(long.String()), maxCitations)
	require.Empty(t, Citations(strings.Repeat("鹿", maxDocument/3)+" https://a.org"), "what is beyond the bound is not read")
}

func TestMentions(t *testing.T) {
	t.Parallel()
	needle := Needle("https://www.a.org/x/?q=1#f")
	require.Equal(t, "a.org/x/?q=1", needle)
	require.Empty(t, Needle("a.org"))
	for text, want := range map[string]bool{
		"see https://a.org/x": true, "a.org/x": true, "(http://www.a.org/x/)": true, "https://a.org/x.": true, "https://a.org/x, or": true,
		"https://a.org/x#part": true, "看https://a.org/x。": true, `{"url":"https://a.org/x"}`: true, "https://a.org/xy https://a.org/x": true,
		"https://a.org/xy": false, "https://a.org/x/y": false, "https://a.org/x?y=1": false, "https://b-a.org/x": false, "https://b.a.org/x": false,
		"me@a.org/x": false, "https://a.org": false, "": false, "https://a.org/x-y": false,
	} {
		require.Equal(t, want, Mentions(text, Needle("https://a.org/x")), text)
	}
	require.False(t, Mentions("anything", ""))
}

func TestJudge(t *testing.T) {
	t.Parallel()
	grades := map[string]Grade{"a.org": Fetched, "b.org": Found, "c.org": Given}
	list := Citations("[citation:A](https://a.org) [B](https://b.org) https://c.org [D](https://d.org/x)")
	check := Judge("/mnt/user-data/outputs/r.md", list, func(c Citation) Grade { return grades[c.Key] })
	require.Equal(t, Check{
		Place: "/mnt/user-data/outputs/r.md", Citations: 4, Fetched: 1, Given: 1, Found: 1, Unknown: 1,
		Keys: []string{"a.org", "b.org", "c.org", "d.org/x"},
		Flags: []Flag{
			{URL: "https://b.org", Title: "B", Form: FormLink, Grade: Found}, {URL: "https://d.org/x", Title: "D", Form: FormLink, Grade: Unknown},
		},
	}, check)
	note := check.Note()
	require.Contains(t, note, "2 of its 4 citations")
	require.Contains(t, note, "take it out together with what rests on it alone:\n- https://d.org/x\nThis one was found but not read")
	require.Contains(t, note, "- https://b.org")
	require.NotContains(t, note, "a.org")

	clean := Judge(PlaceAnswer, list[:1], func(Citation) Grade { return Fetched })
	require.Empty(t, clean.Note())
	one := Judge(PlaceAnswer, list[:1], func(Citation) Grade { return Found })
	require.Equal(t, "Note on answer: its only citation points at a page that was not fetched in this thread.\nThis one was found but not read; fetch it before you rely on it:\n- https://a.org", one.Note())
	one = Judge(PlaceAnswer, list[:2], func(c Citation) Grade { return grades[c.Key] })
	require.Contains(t, one.Note(), ": 1 of its 2 citations points at a page that was not fetched")
	two := Judge(PlaceAnswer, list[:2], func(Citation) Grade { return Unknown })
	require.Contains(t, two.Note(), "these addresses; fetch them, or take them out together with what rests on them alone:\n- https://a.org\n- https://b.org")
	var many []Citation
	for i := range 50 {
		many = append(many, Citation{URL: fmt.Sprintf("https://a.org/%d", i)})
	}
	check = Judge(PlaceAnswer, many, func(Citation) Grade { return "" })
	require.Contains(t, check.Note(), "and 30 more")
	require.Equal(t, maxNoted+1, strings.Count(check.Note(), "\n- "))
}

func FuzzCitations(f *testing.F) {
	for _, seed := range []string{"[citation:T](https://a.org)", "[^1]: https://b.org", "<https://c.org>", "[a]: <x", "https://\xff", "见https://a.org/_x_/鹿(y)。", "www.a.org"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, document string) {
		for _, c := range Citations(document) {
			key, ok := Key(c.URL)
			require.True(t, ok)
			require.Equal(t, c.Key, key)
			Mentions(document, Needle(c.URL))
		}
	})
}
