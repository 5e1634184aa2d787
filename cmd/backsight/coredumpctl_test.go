package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestStoredCores: of the cores that systemd-coredump keeps, the newest that matches is taken.
func TestStoredCores(t *testing.T) {
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
		if paths, err := storedCores(dir, matches); err != nil || len(paths) != 1 || !strings.Contains(paths[0], want) {
			t.Errorf("%q: %q, %v", match, paths, err)
		}
	}
	for dir, want := range map[string]string{dir: `no core of "other"`, t.TempDir(): "no core of", filepath.Join(dir, "missing"): "missing"} {
		if _, err := storedCores(dir, []string{"other"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", dir, err)
		}
	}
}
