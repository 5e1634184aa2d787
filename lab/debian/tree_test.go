package debian

import (
	"os"
	"path/filepath"
	"testing"
)

// TestTree: a library folder moves into /usr, what its links lead to stays below the root, and
// the dynamic linker's cache is none.
func TestTree(t *testing.T) {
	root := t.TempDir()
	for _, dir := range []string{"lib/mipsel", "usr/lib/mipsel", "etc", "lib64"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	files := map[string]string{"lib/mipsel/libc.so.6": "libc", "usr/lib/mipsel/libssl.so.3": "libssl", "etc/conf": "conf"}
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(root, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	links := map[string]string{"lib64/ld.so.1": "/lib/mipsel/libc.so.6", "lib/mipsel/conf": "../../etc/conf", "lib/mipsel/libc.so": "libc.so.6"}
	for name, to := range links {
		if err := os.Symlink(to, filepath.Join(root, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := ready(root); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"lib/mipsel/libc.so.6": "libc", "lib/mipsel/libssl.so.3": "libssl", "usr/lib/mipsel/libc.so": "libc",
		"lib64/ld.so.1": "libc", "lib/mipsel/conf": "conf", "etc/ld.so.cache": ""} {
		if b, err := os.ReadFile(filepath.Join(root, name)); err != nil || string(b) != want {
			t.Errorf("%s: %q, %v; want %q", name, b, err, want)
		}
	}
}
