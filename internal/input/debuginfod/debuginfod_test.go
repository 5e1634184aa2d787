package debuginfod

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
)

// lines are files whose build ID is their first line.
var lines = []image.Format{{
	Name:  "lines",
	Sniff: func(head []byte) bool { return len(head) > 0 },
	BuildID: func(f *image.File) []byte {
		id, _, _ := strings.Cut(string(f.Data), "\n")
		return []byte(id)
	},
}}

// server answers for "good" and "huge", and lies about "liar".
// asked tells which paths were asked for since it was called last.
func server(t *testing.T) (address string, asked func() []string) {
	t.Helper()
	paths := make(chan string, 100)
	asked = func() (list []string) {
		for range len(paths) {
			list = append(list, <-paths)
		}
		return list
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		paths <- r.URL.Path
		switch r.URL.Path {
		case fmt.Sprintf("/buildid/%x/debuginfo", "good"):
			fmt.Fprint(w, "good\nnames")
		case fmt.Sprintf("/buildid/%x/executable", "liar"):
			fmt.Fprint(w, "other\ncode")
		case fmt.Sprintf("/buildid/%x/executable", "huge"):
			fmt.Fprint(w, "huge\n"+strings.Repeat(".", 2000))
		case fmt.Sprintf("/buildid/%x/executable", "slow"):
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		case fmt.Sprintf("/buildid/%x/executable", "ill"):
			http.Error(w, "ill", http.StatusInternalServerError)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(s.Close)
	return s.URL, asked
}

// client keeps its cache in dir.
func client(t *testing.T, url, dir string, said *[]string) *Client {
	t.Helper()
	if _, err := exec.LookPath(curl); err != nil {
		t.Skip(err)
	}
	env := map[string]string{"DEBUGINFOD_URLS": url + "/", "DEBUGINFOD_CACHE_PATH": dir, "DEBUGINFOD_MAXSIZE": "1000", "DEBUGINFOD_TIMEOUT": "1"}
	c, err := New("", func(k string) string { return env[k] }, lines, func(err error) { *said = append(*said, err.Error()) })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// TestFetch: what a server has is kept where elfutils keeps it; what is not there is not asked
// for again for a while; what is too large, of another build, or does not come is not used.
func TestFetch(t *testing.T) {
	url, asked := server(t)
	dir := t.TempDir()
	for _, tt := range []struct {
		id    string
		kind  input.FetchKind
		found bool
		asks  int // in two runs
		says  string
	}{
		{"good", input.FetchDebugInfo, true, 1, ""},
		{"good", input.FetchExecutable, false, 1, ""},
		{"liar", input.FetchExecutable, false, 2, fmt.Sprintf("the answer has build ID %x; not used", "other")},
		{"huge", input.FetchExecutable, false, 2, "larger than 1000 bytes; not used"},
		{"slow", input.FetchExecutable, false, 2, "Operation too slow"},
		{"ill", input.FetchExecutable, false, 2, "error: 500"},
	} {
		for range 2 {
			var said []string
			c := client(t, url, dir, &said)
			for range 2 { // the second question of a run asks nobody
				path, ok := c.Fetch(t.Context(), tt.kind, []byte(tt.id))
				want := filepath.Join(dir, fmt.Sprintf("%x", tt.id), string(tt.kind))
				if ok != tt.found || ok && path != want {
					t.Errorf("%s %s: %q, %v; want %q, %v", tt.kind, tt.id, path, ok, want, tt.found)
				}
			}
			if got := strings.Join(said, "\n"); !strings.Contains(got, tt.says) || tt.says == "" && got != "" || len(said) > 1 {
				t.Errorf("%s %s: said %q, want %q", tt.kind, tt.id, got, tt.says)
			}
		}
		if got := asked(); len(got) != tt.asks {
			t.Errorf("%s %s: asked %q, want %d questions", tt.kind, tt.id, got, tt.asks)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, "*/*.*"))
	if err != nil || left != nil {
		t.Errorf("left behind: %q, %v", left, err)
	}
}

// TestOldMiss: what no server had is asked for again some time later.
func TestOldMiss(t *testing.T) {
	url, asked := server(t)
	dir := t.TempDir()
	miss := filepath.Join(dir, fmt.Sprintf("%x", "good"), "debuginfo")
	if err := os.MkdirAll(filepath.Dir(miss), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(miss, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	var said []string
	if _, ok := client(t, url, dir, &said).Fetch(t.Context(), input.FetchDebugInfo, []byte("good")); ok || len(asked()) != 0 {
		t.Errorf("a fresh miss: %v, or was asked for", ok)
	}
	old := time.Now().Add(-time.Hour)
	if err := os.Chtimes(miss, old, old); err != nil {
		t.Fatal(err)
	}
	if _, ok := client(t, url, dir, &said).Fetch(t.Context(), input.FetchDebugInfo, []byte("good")); !ok {
		t.Errorf("an old miss was not asked for again; said %q", said)
	}
}

// TestInterrupted: the end of ctx ends a fetch at once, and is nothing to warn of.
func TestInterrupted(t *testing.T) {
	url, _ := server(t)
	var said []string
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, ok := client(t, url, t.TempDir(), &said).Fetch(ctx, input.FetchExecutable, []byte("slow")); ok || said != nil {
		t.Errorf("%v, said %q", ok, said)
	}
}

// TestSettings: the environment's words, and what is wrong with them.
func TestSettings(t *testing.T) {
	for _, tt := range []struct{ urls, env, cache, err string }{
		{"", "DEBUGINFOD_URLS=http://a https://b/ HOME=/h", "/h/.cache/debuginfod_client", ""},
		{"http://c", "XDG_CACHE_HOME=/x HOME=/h", "/x/debuginfod_client", ""},
		{"", "HOME=/h", "", "DEBUGINFOD_URLS is not set"},
		{"ftp://a", "HOME=/h", "", `"ftp://a" is no http:// or https:// address`},
		{"http://a", "", "", "no place for the cache"},
	} {
		env := map[string]string{}
		key := ""
		for _, word := range strings.Fields(tt.env) {
			if k, v, ok := strings.Cut(word, "="); ok {
				key, env[k] = k, v
			} else {
				env[key] += " " + word
			}
		}
		s, err := readSettings(tt.urls, func(k string) string { return env[k] })
		if s.cache != tt.cache && err == nil || (err == nil) != (tt.err == "") || err != nil && !strings.Contains(err.Error(), tt.err) {
			t.Errorf("%+v: %+v, %v", tt, s, err)
		}
	}
}
