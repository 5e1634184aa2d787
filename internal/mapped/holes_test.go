package mapped_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/internal/mapped"
)

// TestExtents: what a file system does not keep of a file is in none of its runs, and what it keeps is in one, in order.
func TestExtents(t *testing.T) {
	const size = 8 << 20
	path := filepath.Join(t.TempDir(), "ram")
	f, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, at := range []int64{1 << 20, 5 << 20} {
		if _, err := f.WriteAt([]byte("data"), at); err != nil {
			t.Fatal(err)
		}
	}
	if err := f.Truncate(size); err != nil {
		t.Fatal(err)
	}
	end, has := int64(0), map[int64]bool{}
	for _, e := range mapped.Extents(path, size) {
		if e.Off < end || e.Size <= 0 || e.Off+e.Size > size {
			t.Errorf("%+v behind %d", e, end)
		}
		end = e.Off + e.Size
		for _, at := range []int64{1 << 20, 5 << 20} {
			has[at] = has[at] || e.Off <= at && at < end
		}
	}
	if !has[1<<20] || !has[5<<20] {
		t.Errorf("data left out: %v", has)
	}
	if got := mapped.Extents(filepath.Join(t.TempDir(), "none"), size); len(got) != 1 || got[0].Size != size {
		t.Errorf("a file that is not there: %v", got)
	}
}
