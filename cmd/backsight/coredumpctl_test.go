//go:build !small

package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStoredCores: of the cores that systemd-coredump keeps, the newest that matches is taken.
func TestStoredCores(t *testing.T) {
	t.Setenv("PATH", "") // no journal
	dir := t.TempDir()
	const boot = ".1000.0123456789abcdef0123456789abcdef."
	for _, name := range []string{
		"core.netd" + boot + "41.1700000001000000.zst", "core.netd" + boot + "42.1700000003000000.lz4", "core.netd" + boot + "43.1700000002000000.xz",
		`core.my\x20tool\x2ebin` + boot + "44.1600000000000000", "core.a-very-long-nam" + boot + "45.1500000000000000.zst", "core.1234", "notes.txt",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for match, want := range map[string]string{"": ".42.", "netd": ".42.", "/usr/bin/netd": ".42.", "43": ".43.", "my tool.bin": ".44.", "a-very-long-name-indeed": ".45."} {
		var matches []string
		if match != "" {
			matches = []string{match}
		}
		if paths, err := (&coreStore{dir: dir}).cores(t.Context(), matches); err != nil || len(paths) != 1 || !strings.Contains(paths[0], want) {
			t.Errorf("%q: %q, %v", match, paths, err)
		}
	}
	for dir, want := range map[string]string{dir: `no core of "other"`, t.TempDir(): "no core of", filepath.Join(dir, "missing"): "missing"} {
		if _, err := (&coreStore{dir: dir}).cores(t.Context(), []string{"other"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}

// TestJournal: cores that the journal names or has itself are found, the newest first; what is gone is said.
func TestJournal(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	kept := filepath.Join(dir, "core.netd.0.0123456789abcdef0123456789abcdef.41.1700000001000000")
	if err := os.WriteFile(kept, []byte("kept"), 0o600); err != nil {
		t.Fatal(err)
	}
	entry := func(cursor, pid, when, exe, path string) string {
		return "__CURSOR=" + cursor + "\nCOREDUMP_PID=" + pid + "\nCOREDUMP_TIMESTAMP=" + when + "\nCOREDUMP_COMM=" + filepath.Base(exe) +
			"\nCOREDUMP_EXE=" + exe + path + "\n\n"
	}
	list := entry("s=9", "49", "1700000009000000", "/opt/gone", "\nCOREDUMP_FILENAME=/nowhere/core") + entry("s=3", "43", "1700000003000000", "/opt/inside", "") +
		entry("s=2", "42", "1700000002000000", "/opt/b/netd", "") + entry("s=1", "41", "1700000001000000", "/opt/a/netd", "\nCOREDUMP_FILENAME="+kept)
	for name, text := range map[string]string{"list": list, "s=3": "__CURSOR=s=3\nCOREDUMP\n\x06\x00\x00\x00\x00\x00\x00\x00in\nide\n\n", "s=9": "__CURSOR=s=9\n\n",
		"s=2": "__CURSOR=s=2\nCOREDUMP\n\x09\x00\x00\x00\x00\x00\x00\x00cut"} {
		if err := os.WriteFile(filepath.Join(bin, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	script := "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = --cursor ] && at=$2; shift; done\nexec /bin/cat \"" + bin + "/${at-list}\"\n"
	if err := os.WriteFile(filepath.Join(bin, "journalctl"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", bin)
	for match, want := range map[string]string{"": "in\nide", "inside": "in\nide", "43": "in\nide", "/opt/a/netd": "kept", "netd": "kept", "/opt/b/netd": "", "gone": "", "/opt/c/netd": ""} {
		var said []string
		s := coreStore{dir: dir, warn: func(text string) { said = append(said, text) }}
		matches := []string{match}
		if match == "" {
			matches = nil
		}
		paths, err := s.cores(t.Context(), matches)
		if want == "" {
			if err == nil || match != "/opt/c/netd" && len(said) != 1 {
				t.Errorf("%q: %q, %q", match, paths, said)
			}
		} else if got, _ := os.ReadFile(strings.Join(paths, " ")); err != nil || string(got) != want {
			t.Errorf("%q: %q in %q, %v", match, got, paths, err)
		}
		s.close()
		if left, _ := filepath.Glob(filepath.Join(os.TempDir(), "backsight-*.core")); len(left) > 0 {
			t.Errorf("%q: left behind: %q", match, left)
		}
	}
}

func FuzzJournal(f *testing.F) {
	f.Add([]byte("__CURSOR=s=1\nCOREDUMP_PID=1\n\n__CURSOR=s=2\nCOREDUMP\n\x02\x00\x00\x00\x00\x00\x00\x00xy\n\n"))
	f.Add([]byte("COREDUMP\n\xff\xff\xff\xff\xff\xff\xff\xffx"))
	f.Add([]byte("=\n\n\n="))
	f.Fuzz(func(t *testing.T, data []byte) {
		list, _ := crashEntries(bytes.NewReader(data))
		for i := range list {
			if list[i].pid <= 0 || len(list[i].comm) > maxField {
				t.Errorf("%+v", list[i])
			}
		}
		if err := copyCore(bytes.NewReader(data), io.Discard); err == nil && !bytes.Contains(data, []byte("COREDUMP")) {
			t.Error("a core out of nothing")
		}
	})
}
