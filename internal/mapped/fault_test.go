//go:build linux

package mapped

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
)

// TestGuard: where a file is cut short after it was mapped, the access to a page that
// is gone is an error, which knows the file's bytes; those that are left can be read.
func TestGuard(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	page := os.Getpagesize()
	if err := os.WriteFile(path, bytes.Repeat([]byte{7}, 4*page), 0o600); err != nil {
		t.Fatal(err)
	}
	data, release, err := Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer release()
	if err := os.Truncate(path, int64(page)); err != nil {
		t.Fatal(err)
	}
	sum := 0
	err = Guard(func() {
		for _, b := range data {
			sum += int(b)
		}
	})
	var f *Fault
	if !errors.As(err, &f) || sum != 7*page {
		t.Fatalf("sum %d, error %v", sum, err)
	}
	if off, ok := f.In(data); !ok || off != uint64(page) {
		t.Errorf("offset %#x, %v", off, ok)
	}
	if _, ok := f.In(make([]byte, 10)); ok {
		t.Error("another file is blamed")
	}
}

// TestGuardIsForFaults: mistakes of the program stay what they are.
func TestGuardIsForFaults(t *testing.T) {
	defer func() {
		if r := recover(); r != "mistake" {
			t.Errorf("recovered %v", r)
		}
	}()
	_ = Guard(func() { panic("mistake") })
}

// TestUntil: a reader breaks off when a context ends; bytes whose reading was over before stay as they are.
func TestUntil(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("bytes"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, late := range []bool{true, false} {
		data, release, err := Open(path)
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		stop := Until(ctx, data)
		if late && stop() {
			t.Error("ended before the context did")
		}
		cancel()
		if stop() == late {
			t.Errorf("late %t: stop tells the contrary", late)
		}
		var f *Fault
		if err := Guard(func() { _ = bytes.Clone(data) }); errors.As(err, &f) == late {
			t.Errorf("late %t: %v", late, err)
		}
		if err := release(); err != nil {
			t.Error(err)
		}
	}
}
