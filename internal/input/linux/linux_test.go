package linux_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/linux"
	"github.com/backsight/backsight/internal/synth/kernels"
)

// sysroot is a directory with files.
func sysroot(t *testing.T, files map[string]string) *input.Files {
	t.Helper()
	dir := t.TempDir()
	for name, data := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	f := backsight.NewFiles(input.FileOptions{Sysroots: []string{dir}})
	t.Cleanup(func() { _ = f.Close() })
	return f
}

// unnamed is a kernel without kallsyms.
func unnamed(data []byte) string {
	return strings.Replace(string(data), "0\x001\x002\x003", "0\x001\x002\x00x", 1)
}

// TestFind: by release and name anywhere below the sysroot; a kernel of another release or
// build is not used, whatever its name.
func TestFind(t *testing.T) {
	_, data := kernels.ARM64()
	kernel := string(data)
	for _, c := range []struct {
		name  string
		files map[string]string
		k     linux.Kernel
		want  string // what the image's path ends in
		issue string
	}{
		{"by release", map[string]string{"a/vmlinuz-6.1.0-synth": kernel}, linux.Kernel{Release: "6.1.0-synth"}, "vmlinuz-6.1.0-synth", ""},
		{"embedded", map[string]string{"flash/Image": kernel}, linux.Kernel{Release: "6.1.0-synth"}, "Image", ""},
		{"another release", map[string]string{"vmlinuz-9.9": kernel}, linux.Kernel{Release: "9.9"}, "", `a kernel of release "6.1.0-synth", the capture is of "9.9"; not used`},
		{"another build", map[string]string{"vmlinux": kernel}, linux.Kernel{Banner: "Linux version 6.1.0-synth (other)"}, "", "the capture is of"},
		{"nothing", map[string]string{"vmlinuz-6.1.0-synth": "text"}, linux.Kernel{Release: "6.1.0-synth"}, "", "not used"},
	} {
		t.Run(c.name, func(t *testing.T) {
			img, issues := linux.Find(sysroot(t, c.files), c.k)
			if img == nil && c.want != "" || img != nil && (c.want == "" || !strings.HasSuffix(img.Path, c.want)) {
				t.Errorf("found %v, want %q; %v", img, c.want, issues)
			}
			if !strings.Contains(fmt.Sprint(issues), c.issue) || c.issue == "" && len(issues) > 0 {
				t.Errorf("issues %v, want %q", issues, c.issue)
			}
		})
	}
}

// TestSystemMap names a kernel that carries no names.
func TestSystemMap(t *testing.T) {
	_, data := kernels.ARM64()
	img, issues := linux.Find(sysroot(t, map[string]string{
		"boot/vmlinuz-6.1.0-synth":    unnamed(data),
		"boot/System.map-6.1.0-synth": "0000000000010000 T first\n0000000000010100 T second\n",
	}), linux.Kernel{Release: "6.1.0-synth"})
	if img == nil {
		t.Fatal(issues)
	}
	if s, ok := img.Symbols.At(0x10104); !ok || s.Name != "second" {
		t.Errorf("symbol %+v", s)
	}
}

// TestModuleNotFound: a module without a file has its name and range.
func TestModuleNotFound(t *testing.T) {
	k := linux.Kernel{Release: "6.1.0-synth"}
	m, issues := k.Module(sysroot(t, map[string]string{"lib/crashy.ko.gz": "no object"}), linux.Module{Name: "crashy", Base: 0x1000, Size: 0x2000}, nil)
	if m.Name != "crashy" || m.Lo != 0x1000 || m.Hi != 0x3000 || m.Image != nil || len(issues) != 1 {
		t.Errorf("%+v %v", m, issues)
	}
}

// TestHugeModule: a file that is larger than any module is not read into memory.
func TestHugeModule(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "crashy.ko")
	if err := os.WriteFile(path, []byte("\x7fELF"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path, 300<<20); err != nil { // a hole
		t.Fatal(err)
	}
	files := backsight.NewFiles(input.FileOptions{Sysroots: []string{dir}})
	defer files.Close()
	k := linux.Kernel{}
	m, issues := k.Module(files, linux.Module{Name: "crashy", Base: 0x1000, Size: 0x2000}, nil)
	if m.Image != nil || len(issues) != 1 || !strings.HasSuffix(issues[0].Text, "larger than any module; not used") {
		t.Errorf("%+v %v", m, issues)
	}
}
