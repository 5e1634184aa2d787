package bench_test

import (
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// codeArchs are the CPUs on whose naked programs code analysis is measured.
var codeArchs = []string{"mips", "mips64el", "aarch64", "armt2", "armarm", "riscv64", "x86_64", "i386"}

// captured reads all snapshots of a file, of a program that is opened for them.
func captured(t testing.TB, image, path string) (snaps []*target.Snapshot, release func()) {
	t.Helper()
	files := backsight.NewFiles(input.FileOptions{Images: []input.NamedImage{{Path: image}}})
	s, err := backsight.Open(t.Context(), path, input.Env{Files: files})
	if err != nil {
		t.Skip(err)
	}
	for {
		snap, err := s.Next(t.Context())
		if err == io.EOF {
			return snaps, func() { s.Close(); files.Close() }
		}
		if err != nil {
			t.Fatal(err)
		}
		snaps = append(snaps, snap)
	}
}

// naked are the recorded snapshots of a program without symbols and tables.
func naked(t testing.TB, arch string) ([]*target.Snapshot, func()) {
	dir := recorded.Shared(t, "truth/public", arch, "pub-gcc-O2")
	return captured(t, filepath.Join(dir, "naked.elf"), filepath.Join(dir, "snaps.jsonl.gz"))
}

// compactArchs are the CPUs on whose Mach-O programs compact unwind tables are measured.
var compactArchs = []string{"arm64", "x86_64", "i386"}

// compact are the recorded snapshots of a Mach-O program with compact unwind tables.
func compact(t testing.TB, arch string) ([]*target.Snapshot, func()) {
	dir := recorded.Shared(t, "truth/apple", arch, "pub-clang19-O2")
	return captured(t, filepath.Join(dir, "stripped.macho"), filepath.Join(dir, "snaps.jsonl.gz"))
}

// deepMIPS is a stack of sixty frames without tables; the addresses are those of its
// want.txt, which was compared with the source.
func deepMIPS(t testing.TB) *stacks {
	const dir = "../testdata/mips-deep"
	snaps, release := captured(t, filepath.Join(dir, "modules/deep"), filepath.Join(dir, "snaps.jsonl.gz"))
	t.Cleanup(release)
	text, err := os.ReadFile(filepath.Join(dir, "want.txt"))
	if err != nil {
		t.Fatal(err)
	}
	s := &stacks{snaps: snaps, want: make([][]uint64, 1)}
	for _, line := range strings.Split(string(text), "\n") {
		if f := strings.Fields(line); len(f) > 1 && line[0] == '#' {
			pc, err := strconv.ParseUint(f[1], 0, 64)
			if err != nil {
				t.Fatal(err)
			}
			s.want[0] = append(s.want[0], pc)
		}
	}
	return s
}

// first is the walk through all snapshots right after the program was opened: no
// answer about its code is known yet. The passes through the whole image, which the
// first frame of all may have to wait for, are counted apart.
func first(b *testing.B, arch string) {
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		b.Fatal(err)
	}
	now, unlock := threadTime()
	defer unlock()
	var once, rest time.Duration
	var frames []unwind.Frame
	n := 0
	for b.Loop() {
		snaps, release := naked(b, arch)
		start := now()
		frames, _ = u.Walker(snaps[0]).Walk(&snaps[0].Threads[0], frames[:0])
		begun := now()
		for _, snap := range snaps[1:] {
			frames, _ = u.Walker(snap).Walk(&snap.Threads[0], frames[:0])
			n += len(frames)
		}
		once, rest = once+begun-start, rest+now()-begun
		release()
	}
	b.ReportMetric(float64(rest.Nanoseconds())/float64(n), "ns/frame")
	b.ReportMetric(float64(once.Microseconds())/float64(b.N)/1000, "first-walk-ms")
}
