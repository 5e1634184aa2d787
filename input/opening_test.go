//go:build darwin || linux

package input

import (
	"bytes"
	"context"
	"errors"
	"os"
	"strings"
	"testing"
)

// reading is a format that reads its bytes again and again, and never asks its context. It says when it has begun.
func reading(begun func()) *Env {
	look := func(data []byte) {
		for i := 0; ; i = (i + 1) % len(data) {
			if data[i] == 'x' {
				return
			}
			if i == 0 {
				begun()
			}
		}
	}
	return env(Format{
		Sniff: func([]byte) bool { return true },
		Open: func(ctx context.Context, c *Capture, _ *Env) (Stream, error) {
			data, err := c.Bytes(ctx)
			if err == nil {
				look(data)
			}
			return one{}, err
		},
		OpenMemory: func(_ context.Context, ram *RAM, _ *Env) (Stream, error) {
			look(ram.Regions[0].Pages.Bytes(0, ram.Regions[0].Pages.Size()))
			return one{}, nil
		},
	})
}

// openings are the ways to open bytes.
func openings(t *testing.T, data []byte) map[string]func(ctx context.Context, env *Env) (Stream, error) {
	path := place(t, t.TempDir(), "bytes", data)
	return map[string]func(ctx context.Context, env *Env) (Stream, error){
		"a file": func(ctx context.Context, env *Env) (Stream, error) { return env.Open(ctx, path) },
		"a reader": func(ctx context.Context, env *Env) (Stream, error) {
			return env.OpenReader(ctx, "upload", bytes.NewReader(data))
		},
		"memory": func(ctx context.Context, env *Env) (Stream, error) {
			env.RAM = []NamedImage{{Path: path}}
			return env.OpenMemory(ctx)
		},
	}
}

// TestOpenEndsWithItsContext: also in a reader that never asks for it.
func TestOpenEndsWithItsContext(t *testing.T) {
	for how, open := range openings(t, bytes.Repeat([]byte("-"), 1<<16)) {
		ctx, cancel := context.WithCancel(t.Context())
		s, err := open(ctx, reading(cancel))
		if s != nil || !errors.Is(err, context.Canceled) || strings.Count(err.Error(), "\n") > 0 {
			t.Errorf("%s: %v, %v", how, s, err)
		}
	}
}

// TestContextEndsAfterOpen: what was opened can be read all the same.
func TestContextEndsAfterOpen(t *testing.T) {
	path := place(t, t.TempDir(), "bytes", []byte("xyz"))
	ctx, cancel := context.WithCancel(t.Context())
	var data []byte
	s, err := env(Format{Sniff: func([]byte) bool { return true },
		Open: func(ctx context.Context, c *Capture, _ *Env) (_ Stream, err error) {
			data, err = c.Bytes(ctx)
			return one{}, err
		}}).Open(ctx, path)
	cancel()
	if err != nil || string(data) != "xyz" {
		t.Fatalf("%q, %v", data, err)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// TestFileIsCutWhileOpened: the error names the file, in one line. A capture, or the memory beside it.
func TestFileIsCutWhileOpened(t *testing.T) {
	for _, memory := range []bool{false, true} {
		path := place(t, t.TempDir(), "cut", bytes.Repeat([]byte("-"), 1<<20))
		e := reading(func() {
			if err := os.Truncate(path, 1<<12); err != nil {
				t.Fatal(err)
			}
		})
		var err error
		if memory {
			e.RAM = []NamedImage{{Path: path}}
			_, err = e.OpenMemory(t.Context())
		} else {
			_, err = e.Open(t.Context(), path)
		}
		if err == nil || !strings.HasPrefix(err.Error(), path+": ") || !strings.Contains(err.Error(), "cut short") || strings.Contains(err.Error(), "\n") {
			t.Errorf("memory %t: %v", memory, err)
		}
	}
}
