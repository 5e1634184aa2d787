// Package recorded finds recorded captures for tests, wherever a test runs: those of
// testdata, which every clone has, and those of the optional folder ../shared beside
// the clone. Only tests import it. It imports no package that decodes or unwinds, so
// that those packages' own tests can use it.
package recorded

import (
	"compress/gzip"
	"io"
	"os"
	"path"
	"path/filepath"
	"testing"

	"github.com/backsight/backsight/lab/truth"
)

// Testdata is the path of a file or folder below the module's testdata.
func Testdata(t testing.TB, elem ...string) string {
	t.Helper()
	return filepath.Join(root(t), "testdata", filepath.Join(elem...))
}

// Shared is the path of a file or folder below ../shared. The test is skipped where
// that is missing: a test that calls Shared compares more captures than the clone
// holds, and is optional.
func Shared(t testing.TB, elem ...string) string {
	t.Helper()
	p, ok := shared(t, elem...)
	if !ok {
		t.Skip("optional captures are not beside this clone: no ", p)
	}
	return p
}

func shared(t testing.TB, elem ...string) (p string, ok bool) {
	t.Helper()
	p = filepath.Join(root(t), "..", "shared", filepath.Join(elem...))
	_, err := os.Stat(p)
	return p, err == nil
}

// Cases are the recorded call chains whose name, such as mips/flow-gcc-O2, matches
// pattern (path.Match): those of testdata/truth, then those of ../shared, where it
// is there. A pattern that no case of testdata/truth matches fails the test.
func Cases(t testing.TB, pattern string) []truth.Case {
	t.Helper()
	cases := below(t, Testdata(t, "truth"), pattern)
	if len(cases) == 0 {
		t.Fatal("testdata/truth has no case ", pattern)
	}
	if dir, ok := shared(t, "truth", "public"); ok {
		cases = append(cases, below(t, dir, pattern)...)
	}
	return cases
}

func below(t testing.TB, dir, pattern string) (found []truth.Case) {
	t.Helper()
	all, err := truth.Cases(dir, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range all {
		if ok, err := path.Match(pattern, c.Name); err != nil {
			t.Fatal(err)
		} else if ok {
			found = append(found, c)
		}
	}
	return found
}

// Program is the path of a case's program in a tier: sym, stripped or naked. ok is
// false where the case lacks the tier. A file that is kept compressed is unpacked
// for the time of the test.
func Program(t testing.TB, c *truth.Case, tier string) (file string, ok bool) {
	t.Helper()
	file, ok, cleanup, err := c.Binary(tier)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(cleanup)
	return file, ok
}

// Programs are the programs in a tier of the cases whose name matches pattern, by
// the case's name; at least one.
func Programs(t testing.TB, pattern, tier string) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, c := range Cases(t, pattern) {
		if file, ok := Program(t, &c, tier); ok {
			files[c.Name] = file
		}
	}
	if len(files) == 0 {
		t.Fatalf("no case %s has a program %s", pattern, tier)
	}
	return files
}

// Unzip is the content of a file that gzip compressed.
func Unzip(t testing.TB, file string) []byte {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(file, ": ", err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(file, ": ", err)
	}
	return data
}

// root is the folder of the module, which go test runs its tests below.
func root(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Stat(filepath.Join(at, "go.mod")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			t.Fatal("no go.mod above ", dir)
		}
	}
}
