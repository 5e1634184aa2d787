package e2e_test

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/backsight/backsight/internal/embedded"
)

// version differs: tests have none.
var version = regexp.MustCompile(`"version": ?"[^"]*"`)

// TestEmbedded: what libraries for other languages return is what the command writes, byte for byte: of one snapshot and of
// several, of a log, of memory without a capture, and of a file that is no capture.
func TestEmbedded(t *testing.T) {
	program := command(t)
	t.Chdir("../../testdata")
	for _, tt := range []struct {
		options  string
		flags    []string
		captures []string
	}{
		{`{"sysroot": ["mips-deref/modules"]}`, []string{"--sysroot", "mips-deref/modules"}, []string{"mips-deref/core.gz"}},
		{`{"sysroot": ["x86_64-threads/modules"], "locals": true}`, []string{"--sysroot", "x86_64-threads/modules", "--locals"}, []string{"x86_64-threads/core.gz"}},
		{`{"image": ["mips-naked/modules/packer"], "max-frames": 3}`, []string{"--image", "mips-naked/modules/packer", "-n", "3"}, []string{"mips-naked/snaps.jsonl.gz"}},
		{`{"exe": "microcontroller/m3-freertos.elf"}`, []string{"-e", "microcontroller/m3-freertos.elf"}, []string{"README.md"}},
	} {
		if found, _ := filepath.Glob(tt.captures[0]); found == nil {
			t.Fatalf("no %s", tt.captures[0])
		}
		s, err := embedded.Open(tt.options)
		if err != nil {
			t.Fatal(err)
		}
		for _, format := range []string{"json", "jsonl", "text", "html"} {
			args := append(append([]string{"bt", "-f", format}, tt.flags...), tt.captures...)
			want, failed := exec.Command(program, args...).Output()
			got, err := s.Backtraces(t.Context(), format, tt.captures...)
			if version.ReplaceAllString(string(got), "") != version.ReplaceAllString(string(want), "") || (err != nil) != (failed != nil) {
				t.Errorf("%q: %d bytes, %v; want %d bytes, %v", args, len(got), err, len(want), failed)
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// TestEmbeddedOptions: a name that is not there is told at once, and so is an option that there is none of.
func TestEmbeddedOptions(t *testing.T) {
	for _, options := range []string{`{"exe": "none"}`, `{"sysroot": ["none"]}`, `{"symbols": ["none"]}`, `{"sysroots": []}`, `{"max-frames": -1}`, `[`, `{"image": "none"}`} {
		if s, err := embedded.Open(options); err == nil {
			t.Errorf("%s: no error", options)
			_ = s.Close()
		}
	}
}
