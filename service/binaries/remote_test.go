package binaries_test

import (
	"bytes"
	"context"
	"io/fs"
	"os"
	"testing"

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

// TestFill: what one node was given another one fetches once, by its build ID; what was lost is none.
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
	other := *one
	other.Dir = child.Binaries{Dir: t.TempDir()}
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
	third := *one
	third.Dir = child.Binaries{Dir: t.TempDir()}
	if n, err := third.Fill(t.Context(), ids); n != 0 || err != nil {
		t.Errorf("what was lost: %d, %v", n, err)
	}
}
