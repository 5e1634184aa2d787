package captured

import (
	"context"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/image/elf"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/input/elfcore"
	"github.com/backsight/backsight/target"
)

// Core opens the core file root/dir/name with the programs in
// root/programs/dir.tar.xz. The test is skipped where they are missing.
func Core(t testing.TB, root, dir, name string) *target.Snapshot {
	t.Helper()
	programs, err := filepath.Abs(filepath.Join(root, "programs", dir+".tar.xz"))
	if err != nil {
		t.Fatal(err)
	}
	sysroot := t.TempDir()
	if out, err := exec.Command("tar", "xJf", programs, "-C", sysroot).CombinedOutput(); err != nil {
		t.Skipf("no programs: %v %s", err, out)
	}
	archs := Archs()
	files := input.NewFiles(input.FileOptions{Sysroot: sysroot, Archs: archs, Formats: []image.Format{elf.Format()}})
	t.Cleanup(func() { files.Close() })
	s, err := input.Open(context.Background(), filepath.Join(root, dir, name), []input.Format{elfcore.Format()},
		&input.Env{Archs: archs, Files: files})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	snap, err := s.Next()
	if err != nil {
		t.Fatal(err)
	}
	return snap
}
