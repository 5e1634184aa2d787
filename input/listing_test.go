package input

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// listed lists a directory an hour from now, and tells how many files and directories the search came to.
func listed(t *testing.T, dir, cache string) (files []string, searched int) {
	t.Helper()
	opt := FileOptions{CacheDir: cache, Context: t.Context(), Searching: func() { searched++ }}
	tree := newTree(dir, &opt)
	tree.walk(time.Now().Add(time.Hour))
	return slices.Collect(tree.list.files()), searched
}

// TestKeptListing: directories that have not changed are not read again, and what changed is seen. What is kept is the
// user's only, and where it is damaged or tells of names that lead elsewhere, everything is read again.
func TestKeptListing(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("directories have no stamps here")
	}
	dir, cache := t.TempDir(), t.TempDir()
	for i := range minListing / 16 {
		place(t, dir, fmt.Sprintf("many/a name of its own, %d", i), nil)
	}
	place(t, dir, "many.so/x/y", nil)
	place(t, dir, "z", nil)
	same := func(what string, directories, most int) {
		t.Helper()
		want, _ := listed(t, dir, "")
		got, searched := listed(t, dir, cache)
		if !slices.Equal(got, want) || searched < directories || searched > most {
			t.Errorf("%s: %d files of %d, after a search through %d files and directories", what, len(got), len(want), searched)
		}
	}
	const all = minListing/16 + 8
	same("for the first time", all, all+4)
	same("nothing changed", 4, 4)
	kept, _ := filepath.Glob(filepath.Join(cache, "*.files"))
	if len(kept) != 1 {
		t.Fatal(kept)
	}
	if st, err := os.Stat(kept[0]); err != nil || st.Mode() != 0o600 {
		t.Error(st.Mode(), err)
	}
	text, err := os.ReadFile(kept[0])
	if err != nil {
		t.Fatal(err)
	}
	place(t, dir, "many.so/x/new", nil)
	same("a file more", 6, 6)
	if err := os.Rename(filepath.Join(dir, "many.so"), filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	same("a directory of another name", 9, 12)
	if err := os.RemoveAll(filepath.Join(dir, "a")); err != nil {
		t.Fatal(err)
	}
	same("a directory less", 2, 6)
	same("the rest", 2, 2)
	for _, damaged := range []string{"", "x", treesMagic, treesMagic + "\x00", string(text[:len(text)/2]), strings.ReplaceAll(string(text), "name of", ".. /.."),
		strings.ReplaceAll(string(text), "\x00", "/")} {
		if err := os.WriteFile(kept[0], []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		same(fmt.Sprintf("%.40q", damaged), 2, all)
	}
}

// TestUnsettled: a directory that changed a moment ago may change again without a trace: it is read again.
func TestUnsettled(t *testing.T) {
	dir, cache := t.TempDir(), t.TempDir()
	for i := range minListing / 16 {
		place(t, dir, fmt.Sprintf("a name of its own, %d", i), nil)
	}
	for range 2 {
		searched := 0
		opt := FileOptions{CacheDir: cache, Context: t.Context(), Searching: func() { searched++ }}
		newTree(dir, &opt).listed()
		if searched < minListing/16 {
			t.Errorf("a search through %d files", searched)
		}
	}
}

// TestNames: what a listing finds files by.
func TestNames(t *testing.T) {
	var l listing
	for _, block := range [][]string{{"", "vmlinuz-1", "bin//"}, {"bin", "LS", "ls", "Ls", "libc-2.31.so", "libc.so.6/", "vmlinuz//"}} {
		l.text = append(appendRecord(l.text, "/"+block[0], isLink), unknownStamp...)
		for _, name := range block[1:] {
			l.text = appendRecord(l.text, name, isFile)
		}
	}
	for _, c := range []struct{ got, want []string }{
		{l.named("ls"), []string{"bin/ls"}},
		{l.named("lS"), []string{"bin/ls", "bin/LS", "bin/Ls"}},
		{l.named("bin"), nil},
		{l.alike("libc"), []string{"bin/libc-2.31.so", "bin/libc.so.6"}},
		{slices.Collect(l.beginning("vmlinuz")), []string{"vmlinuz-1"}},
		{slices.Collect(l.files()), []string{"vmlinuz-1", "bin/LS", "bin/ls", "bin/Ls", "bin/libc-2.31.so"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%q, want %q", c.got, c.want)
		}
	}
}

// FuzzListing: whatever is kept leads to files below the directory only, and each is found by its name.
func FuzzListing(f *testing.F) {
	const stamp = "0123456789abcdef"
	f.Add([]byte("\x00//" + stamp + "\x00ls\x00bin//\x00/bin/" + stamp + "\x00libc.so.6/" + listingEnd))
	f.Add([]byte("\x00//" + stamp + "\x00..\x00a/b\x00/\x00" + listingEnd))
	f.Add([]byte("\x00/a/b/" + stamp + "\x00"))
	f.Fuzz(func(t *testing.T, data []byte) {
		old := newOldListing(strings.NewReader(string(data)))
		var l listing
		for _, dir := range []string{"", "a", "a/b", "bin"} {
			l.text = old.appendBlock(l.text, dir, stamp)
		}
		if len(l.text) > len(data) {
			t.Errorf("%q out of %q", l.text, data)
		}
		n := 0
		for path := range l.files() {
			if n++; !filepath.IsLocal(path) || n <= 8 && !slices.Contains(l.named(filepath.Base(path)), path) {
				t.Errorf("%q", path)
			}
			l.alike(stem(filepath.Base(path)))
		}
	})
}
