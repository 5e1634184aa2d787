package binaries_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight/service/binaries"
	"github.com/backsight/backsight/service/child"
	"github.com/backsight/backsight/testdata"
)

// bucket is a Remote in memory.
type bucket map[string][]byte

func (b bucket) Put(_ context.Context, name, path string) (err error) {
	b[name], err = os.ReadFile(path)
	return err
}

func (b bucket) Get(_ context.Context, name string, to *os.File) error {
	text, ok := b[name]
	if !ok {
		return fs.ErrNotExist
	}
	_, err := to.Write(text)
	return err
}

// TestFill: what one node was given another one fetches once, by its build ID; what a store does not show yet is an error, what was
// lost is none.
func TestFill(t *testing.T) {
	server, err := testdata.Demo.ReadFile("x86_64-threads/modules/usr/bin/server")
	if err != nil {
		t.Fatal(err)
	}
	shared := bucket{}
	one := newFolder(t, func(string) {})
	one.Remote = shared
	ids, err := one.Add(t.Context(), "server", "", bytes.NewReader(server))
	if err != nil {
		t.Fatal(err)
	}
	other := &binaries.Folder{DB: one.DB, Dir: child.Binaries{Dir: t.TempDir()}, Remote: shared}
	for _, want := range []int{1, 0} {
		if n, err := other.Fill(t.Context(), append(ids, "00")); n != want || err != nil {
			t.Errorf("%d files fetched, want %d; %v", n, want, err)
		}
	}
	if path, ok := other.File(ids[0], "executable"); !ok {
		t.Error("it is not there")
	} else if b, err := os.ReadFile(path); err != nil || !bytes.Equal(b, server) {
		t.Errorf("%d bytes, %v", len(b), err)
	}
	clear(shared)
	if _, err := (&binaries.Folder{DB: one.DB, Dir: child.Binaries{Dir: t.TempDir()}, Remote: shared}).Fill(t.Context(), ids); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("what was given a moment ago and is not there yet: %v", err)
	}
	if _, err := one.DB.Write.Exec("UPDATE binaries SET received = 1"); err != nil {
		t.Fatal(err)
	}
	third := &binaries.Folder{DB: one.DB, Dir: child.Binaries{Dir: t.TempDir()}, Remote: shared}
	if n, err := third.Fill(t.Context(), ids); n != 0 || err != nil {
		t.Errorf("what was lost: %d, %v", n, err)
	}
}

// TestRoom: a node keeps as many bytes of what all have as it has room for. Those go that were asked for longest ago, not what was
// asked for a moment ago; what is open can be read on, and what went is fetched again.
func TestRoom(t *testing.T) {
	f := newFolder(t, func(string) {})
	f.Remote = bucket{}
	var ids, paths []string
	for i := range 4 {
		text := fmt.Sprintf("MODULE Linux arm %032X0 lib%d.so\n%s", i, i, strings.Repeat("x", 1000))
		list, err := f.Add(t.Context(), "x", "", strings.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, list...)
		paths = append(paths, f.Dir.SymbolPath(fmt.Sprintf("lib%d.so", i), fmt.Sprintf("%032X0", i), fmt.Sprintf("lib%d.so.sym", i)))
		long := time.Now().Add(-time.Hour * time.Duration(10-i))
		if err := os.Chtimes(paths[i], long, long); err != nil {
			t.Fatal(err)
		}
	}
	opened, err := os.Open(paths[1])
	if err != nil {
		t.Fatal(err)
	}
	defer opened.Close()
	if err := os.Chtimes(paths[0], time.Now(), time.Time{}); err != nil { // a job has just asked for it
		t.Fatal(err)
	}
	f.Room = 2500
	if _, err := f.Add(t.Context(), "x", "", strings.NewReader("MODULE Linux arm 4D0B0C9158B833BE5F953CC7943BF0500 new.so\n")); err != nil {
		t.Fatal(err)
	}
	for i, want := range []bool{true, false, false, true} {
		if _, err := os.Stat(paths[i]); (err == nil) != want {
			t.Errorf("file %d is there: %v, want %v", i, err == nil, want)
		}
	}
	if b, err := io.ReadAll(opened); err != nil || len(b) < 1000 {
		t.Errorf("what is open: %d bytes, %v", len(b), err)
	}
	if n, err := f.Fill(t.Context(), ids[1:2]); n != 1 || err != nil {
		t.Errorf("what went: %d files fetched, %v", n, err)
	}
}
