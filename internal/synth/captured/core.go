package captured

import (
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/elfcore"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
)

// Core is the capture in a core file, with the binaries below sysroot.
func Core(t testing.TB, path, sysroot string) *target.Snapshot {
	t.Helper()
	snap, err := open(t, path, elfcore.Format(), input.FileOptions{Sysroots: []string{sysroot}}).Next(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return snap
}

// Programs unpacks the programs that dumped the optional cores of one architecture,
// and their libraries, and is the folder that has them.
func Programs(t testing.TB, arch string) (sysroot string) {
	t.Helper()
	archive := recorded.Shared(t, "inputs/user-cores/programs", arch+".tar.xz")
	sysroot = t.TempDir()
	for _, tool := range []string{"tar", "xz"} {
		if _, err := exec.LookPath(tool); err != nil {
			t.Skip("the optional cores' programs are packed: ", err)
		}
	}
	if out, err := exec.Command("tar", "xJf", archive, "-C", sysroot).CombinedOutput(); err != nil {
		t.Fatalf("%s: %v: %s", filepath.Base(archive), err, out)
	}
	return sysroot
}
