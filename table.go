package backsight

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/compact"
	"github.com/backsight/backsight/internal/unwind/ehabi"
	"github.com/backsight/backsight/internal/unwind/rows"
	"github.com/backsight/backsight/internal/unwind/table"
	"github.com/backsight/backsight/unwind"
)

// Table is the unwind rules of an image, compiled.
type Table struct {
	img   *image.Image
	rules *table.Table
}

// TableStats are the figures of a Table: how many functions have a rule at their first
// instruction, how many rows and different rules there are, and how many bytes the file has.
type TableStats struct{ Functions, Rows, Rules, Bytes int }

// compilable are the sources whose rules a table can have, in the order in which they
// are compiled.
func compilable() []rows.Source {
	code := analysis()
	return []rows.Source{
		{Name: "cfi", RuleSource: cfi.New(), Part: table.Listed(unwind.MethodCFI, cfi.New().Rows)},
		{Name: "compact", RuleSource: compact.Source{}, Part: table.Listed(unwind.MethodCompact, compact.Source{}.Rows)},
		{Name: "ehabi", RuleSource: ehabi.Source{}, Part: table.Listed(unwind.MethodEHABI, ehabi.Source{}.Rows)},
		{Name: "code", RuleSource: code, Part: table.Part{Method: unwind.MethodCode, List: code.Rows}},
	}
}

// compilableBy are the compilable sources with these names, in the order of the names; all sources
// where names is empty. The error names a name that no source has.
func compilableBy(names []string) (chosen []rows.Source, err error) {
	all := compilable()
	if len(names) == 0 {
		return all, nil
	}
	for _, n := range names {
		i := slices.IndexFunc(all, func(s rows.Source) bool { return s.Name == n })
		if i < 0 {
			known := make([]string, len(all))
			for k := range all {
				known[k] = all[k].Name
			}
			return nil, fmt.Errorf("no table can be compiled from %q; there are %s", n, strings.Join(known, ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// CompileTable compiles the unwind rules of an image. sources are the names of what the rules are
// taken from, and their order: cfi (call frame information), compact (compact unwind encodings),
// ehabi (ARM's index tables), code (code analysis); without names, all of these. The error names
// a name that is none of these, or the image's file where the file cannot be read any more.
func CompileTable(img *image.Image, sources ...string) (*Table, error) {
	chosen, err := compilableBy(sources)
	if err != nil {
		return nil, err
	}
	parts := make([]table.Part, len(chosen))
	for i := range chosen {
		parts[i] = chosen[i].Part
	}
	t := &Table{img: img}
	if err := guarded(img, func() { t.rules = table.Build(img, parts...) }); err != nil {
		return nil, err
	}
	return t, nil
}

// Stats are the figures of the table.
func (t *Table) Stats() TableStats { return TableStats(t.rules.Stats()) }

// Path is the path of the table in a directory that Options.TableDir names: the file is called by
// the image's build ID or, for an image without one, by a digest of its loaded bytes.
func (t *Table) Path(dir string) string { return tablePath(dir, t.img) }

func tablePath(dir string, img *image.Image) string {
	return filepath.Join(dir, hex.EncodeToString(table.Key(img))+".table")
}

// Save writes the table to a file, whole or not at all.
func (t *Table) Save(path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*")
	if err != nil {
		return err
	}
	fault := guarded(t.img, func() { _, err = f.Write(t.rules.Append(nil, t.img)) })
	if err = errors.Join(fault, err, f.Chmod(0o644), f.Close()); err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(err, os.Remove(f.Name()))
	}
	return nil
}
