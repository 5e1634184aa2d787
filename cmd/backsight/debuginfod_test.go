package main

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
)

// TestDebuginfod: a stripped program's names come from a server, where the user asks for
// that, and once only; nothing is fetched unasked.
func TestDebuginfod(t *testing.T) {
	for _, tool := range []string{"gcc", "objcopy", "curl"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip(err)
		}
	}
	dir := t.TempDir()
	file := func(name string) string { return filepath.Join(dir, name) }
	if err := os.WriteFile(file("a.c"), []byte("int there(int n) { return n + 1; }\nint main(int c, char **v) { return there(c); }\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range [][]string{
		{"gcc", "-g", "-O0", "-no-pie", "-Wl,--build-id", "-o", file("prog"), file("a.c")},
		{"objcopy", "--only-keep-debug", file("prog"), file("debug")},
		{"objcopy", "--strip-all", file("prog"), file("stripped")},
	} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Skipf("%v: %s", err, out)
		}
	}
	place := entry(t, file("prog"))
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		if !strings.HasSuffix(r.URL.Path, "/debuginfo") {
			http.NotFound(w, r)
			return
		}
		http.ServeFile(w, r, file("debug"))
	}))
	defer s.Close()
	t.Setenv("DEBUGINFOD_URLS", s.URL)
	t.Setenv("DEBUGINFOD_CACHE_PATH", file("cache"))
	for _, tt := range []struct {
		flags []string
		named bool
		asked int32
	}{{nil, false, 0}, {[]string{"--debuginfod"}, true, 1}, {[]string{"--debuginfod"}, true, 1}, {[]string{"--debuginfod=" + s.URL}, true, 1}} {
		code, out, says := bs(t, append([]string{"explain", file("stripped"), place}, tt.flags...)...)
		if named := strings.Contains(out, "there+0x4") && strings.Contains(out, "a.c:1"); code != exitOK || named != tt.named || asked.Load() != tt.asked || says != "" {
			t.Errorf("%v: exit code %d, named %v, asked %d times; said %q\n%s", tt.flags, code, named, asked.Load(), says, out)
		}
	}
}

// entry is the address behind the first instructions of "there".
func entry(t *testing.T, path string) string {
	t.Helper()
	img, err := image.Open(path, backsight.ImageFormats(), image.Options{Archs: backsight.CPUs()})
	if err != nil {
		t.Fatal(err)
	}
	defer img.Close()
	s, ok := img.Symbols.Named("there")
	if !ok {
		t.Fatal("no symbol")
	}
	return fmt.Sprintf("%#x", s.Addr+4)
}

// TestSymbolsURL: what stands in for a binary that is not at hand comes from a symbol server, where the user asks for that, and once
// only.
func TestSymbolsURL(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip(err)
	}
	tmp := t.TempDir()
	core, dump := filepath.Join("..", "..", "testdata", "x86_64-threads"), filepath.Join(tmp, "x.dmp")
	if code, _, talk := bs(t, "export", "--minidump", "-o", dump, "--sysroot", filepath.Join(core, "modules"), filepath.Join(core, "core.gz")); code != exitOK {
		t.Fatal(talk)
	}
	var asked atomic.Int32
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		p := strings.Split(r.URL.Path, "/")
		if len(p) != 4 || !strings.HasSuffix(p[3], ".sym") || strings.HasPrefix(p[1], "l") {
			http.NotFound(w, r)
			return
		}
		asked.Add(1)
		fmt.Fprintf(w, "MODULE Linux x86_64 %s %s\nPUBLIC 0 0 served\n", p[2], p[1])
	}))
	defer s.Close()
	t.Setenv("DEBUGINFOD_CACHE_PATH", filepath.Join(tmp, "cache"))
	for _, tt := range []struct {
		flags []string
		named bool
		asked int32
	}{{nil, false, 0}, {[]string{"--symbols-url", s.URL}, true, 1}, {[]string{"--symbols-url", s.URL}, true, 1}} {
		_, out, says := bs(t, append([]string{"bt", "--sysroot", t.TempDir(), dump}, tt.flags...)...)
		if named := strings.Contains(out, "served+0x"); named != tt.named || asked.Load() != tt.asked {
			t.Errorf("%v: named %v, asked %d times; said %q\n%s", tt.flags, named, asked.Load(), says, out)
		}
	}
}
