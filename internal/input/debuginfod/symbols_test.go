package debuginfod

import (
	"compress/gzip"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
)

// TestFetchSymbols: a symbol server's file is kept below the cache under the server's path, however it came; one of another build
// is not used; names that would lead elsewhere are not asked for.
func TestFetchSymbols(t *testing.T) {
	if _, err := exec.LookPath(curl); err != nil {
		t.Skip(err)
	}
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		switch r.URL.Path {
		case "/x/lib [1].so/AB0/lib [1].sym":
			w.Header().Set("Content-Encoding", "gzip")
			z := gzip.NewWriter(w)
			fmt.Fprint(z, "MODULE Linux mips AB0 lib [1].so\n")
			_ = z.Close()
		case "/x/liar.so/AB0/liar.sym":
			fmt.Fprint(w, "MODULE Linux mips CD0 liar.so\n")
		default:
			http.NotFound(w, r)
		}
	}))
	defer s.Close()
	dir := t.TempDir()
	for _, tt := range []struct {
		name, id, file string
		found          bool
		asks           int // in two runs
		says           string
	}{
		{"lib [1].so", "AB0", "lib [1].sym", true, 1, ""},
		{"none.so", "AB0", "none.sym", false, 1, ""},
		{"liar.so", "AB0", "liar.sym", false, 2, "another build's; not used"},
		{"..", "AB0", "a.sym", false, 0, ""},
		{"a/b", "AB0", "a.sym", false, 0, ""},
		{`a\b`, "AB0", "a.sym", false, 0, ""},
		{"", "AB0", "a.sym", false, 0, ""},
	} {
		asked.Store(0)
		var said []string
		for range 2 {
			c, err := NewSymbols([]string{s.URL + "/x/"}, func(k string) string { return map[string]string{"DEBUGINFOD_CACHE_PATH": dir}[k] }, nil, func(err error) { said = append(said, err.Error()) })
			if err != nil {
				t.Fatal(err)
			}
			path, ok := c.FetchSymbols(t.Context(), tt.name, tt.id, tt.file)
			if want := filepath.Join(dir, "symbols", tt.name, tt.id, tt.file); ok != tt.found || ok && path != want {
				t.Errorf("%s: %q, %v", tt.name, path, ok)
			}
		}
		if all := strings.Join(said, "\n"); int(asked.Load()) != tt.asks || (tt.says == "") != (all == "") || !strings.HasSuffix(all, tt.says) {
			t.Errorf("%s: asked %d times, said %q", tt.name, asked.Load(), said)
		}
	}
	if _, err := NewSymbols([]string{""}, func(string) string { return "/x" }, nil, nil); err == nil {
		t.Error("no server")
	}
}
