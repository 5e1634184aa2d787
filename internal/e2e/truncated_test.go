//go:build unix

package e2e_test

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/study"
	"github.com/backsight/backsight/symbol"
)

// TestTruncatedBinary: a binary is rebuilt in place while a batch runs. Its file is cut
// to nothing below the mapping: that snapshot has an error, which names the file; the
// next one finds the new file.
func TestTruncatedBinary(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fw.bin")
	code := append(bytes.Repeat([]byte{0x90}, 1<<20), 0xc3) // nops, a return
	if err := os.WriteFile(path, code, 0o600); err != nil {
		t.Fatal(err)
	}
	raw, _ := backsight.CPUs().ByName("x86_64", "", false)
	files := backsight.NewFiles(input.FileOptions{Raw: raw, Images: []input.NamedImage{{Path: path, Bias: 0x400000, Placed: true}}})
	defer files.Close()
	line := fmt.Sprintf(`{"arch":"x86_64","regs":{"pc":"0x%x","sp":"0x7000"},"memory":[{"base":"0x7000","bytes":"%s"}]}`+"\n",
		0x400000+1<<20, strings.Repeat("AAAA", 8))
	capture, err := backsight.OpenReader(t.Context(), "batch", strings.NewReader(strings.Repeat(line, 2)), input.Env{Files: files})
	if err != nil {
		t.Fatal(err)
	}
	defer capture.Close()
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}

	snap, err := capture.Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 0); err != nil {
		t.Fatal(err)
	}
	if _, err := u.Backtraces(t.Context(), snap); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "cut short") {
		t.Errorf("error %v", err)
	}
	var names symbol.Symbolizer
	if l := names.Lookup(snap.Modules[0], 1<<20); l.Function != "" {
		t.Errorf("a file that is gone names %q", l.Function)
	}

	if err := os.WriteFile(path, code, 0o600); err != nil {
		t.Fatal(err)
	}
	if snap, err = capture.Next(t.Context()); err != nil {
		t.Fatal(err)
	}
	if traces, err := u.Backtraces(t.Context(), snap); err != nil || len(traces[0].Frames) == 0 {
		t.Errorf("the new file: %d frames, %v", len(traces[0].Frames), err)
	}
}

// TestTruncatedImage: explaining a place, and compiling, listing and checking tables, on all cores, end with an
// error that names the file where that is cut short below its mapping.
func TestTruncatedImage(t *testing.T) {
	program, err := os.ReadFile("../../testdata/x86_64-threads/modules/usr/bin/server")
	if err != nil {
		t.Fatal(err)
	}
	for name, use := range map[string]func(*backsight.Unwinder, *image.Image) error{
		"explain": func(u *backsight.Unwinder, img *image.Image) error {
			p := u.Explain(t.Context(), backsight.Question{Image: img, PC: img.Entry, Lines: 8, Names: new(symbol.Symbolizer)})
			if len(p.Issues) == 0 {
				return nil
			}
			return errors.New(p.Issues[0].Text)
		},
		"table": func(_ *backsight.Unwinder, img *image.Image) error {
			_, err := backsight.CompileTable(img)
			return err
		},
		"code": func(_ *backsight.Unwinder, img *image.Image) error {
			_, err := backsight.CompileTable(img, "code")
			return err
		},
		"rules": func(_ *backsight.Unwinder, img *image.Image) error {
			_, err := backsight.ListRules(t.Context(), img)
			return err
		},
		"check": func(_ *backsight.Unwinder, img *image.Image) error {
			_, err := study.CheckTables(t.Context(), img, nil)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "program")
			if err := os.WriteFile(path, program, 0o600); err != nil {
				t.Fatal(err)
			}
			files := backsight.NewFiles(input.FileOptions{})
			defer files.Close()
			img, err := files.Open(path)
			if err != nil {
				t.Fatal(err)
			}
			u, err := backsight.NewUnwinder(backsight.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if err := os.Truncate(path, 0); err != nil {
				t.Fatal(err)
			}
			if err := use(u, img); err == nil || !strings.Contains(err.Error(), path) || !strings.Contains(err.Error(), "cut short") {
				t.Errorf("error %v", err)
			}
		})
	}
}
