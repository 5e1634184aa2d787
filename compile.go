//go:build !small

package backsight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/outfile"
	"github.com/backsight/backsight/internal/study"
	"github.com/backsight/backsight/internal/tables/breakpad"
	"github.com/backsight/backsight/internal/tables/debugframe"
	"github.com/backsight/backsight/internal/tables/device"
	"github.com/backsight/backsight/internal/tables/jsontable"
	"github.com/backsight/backsight/internal/tables/orctable"
	"github.com/backsight/backsight/internal/tables/sframe"
	"github.com/backsight/backsight/internal/unwind/rows"
	"github.com/backsight/backsight/internal/unwind/sigframe"
	"github.com/backsight/backsight/internal/unwind/table"
	"github.com/backsight/backsight/tables"
)

// Table is the unwind rules of an image, compiled.
type Table struct {
	img   *image.Image
	rules *table.Table
}

// TableStats are the figures of a Table: how many functions have a rule at their first
// instruction, how many rows and different rules there are, and how many bytes the file has.
type TableStats struct{ Functions, Rows, Rules, Bytes int }

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
// taken from, and their order: seh (what PE files list), cfi (call frame information), compact (compact unwind encodings),
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
	if err := study.Guarded(img, func() { t.rules = table.Build(img, parts...) }); err != nil {
		return nil, err
	}
	return t, nil
}

// Stats are the figures of the table.
func (t *Table) Stats() TableStats { return TableStats(t.rules.Stats()) }

// Path is the path of the table in a directory that Options.TableDir names: the file is called by
// the image's build ID or, for an image without one, by a digest of its loaded bytes.
func (t *Table) Path(dir string) string { return tablePath(dir, t.img) }

// Save writes the table to a file, whole or not at all. A file that is there keeps its mode; what is no regular
// file is written to. Where ctx ends before the file is complete, the error is its.
func (t *Table) Save(ctx context.Context, path string) error {
	return outfile.Write(ctx, path, 0o666, func(f *os.File) (err error) {
		fault := study.Guarded(t.img, func() { _, err = f.Write(t.rules.Append(nil, t.img)) })
		return errors.Join(fault, err)
	})
}

// remake replaces a file that cannot be used.
func (l *tableLoader) remake(img *image.Image, path string) *table.Table {
	t, err := CompileTable(img)
	if err != nil {
		return nil // all sources can be compiled
	}
	if err := t.Save(context.Background(), path); err != nil && l.warn != nil {
		l.warn(err)
	}
	return t.rules
}

// TableFormats are the forms of tables for other programs, in the order in which help lists
// them.
func TableFormats() []tables.Format {
	return []tables.Format{
		debugframe.DebugFrame(),
		debugframe.EHFrame(),
		breakpad.Format(),
		sframe.Format(),
		orctable.Format(),
		jsontable.Format(),
		device.Format(),
		device.SourceFormat(),
	}
}

// ListRules lists the functions of an image and the rule at each instruction, from the binary's
// own unwind tables and from its code, for TableFormats to write. names selects sources as in
// CompileTable, and the errors are the same. Where ctx ends, its error comes with the part listed
// by then.
func ListRules(ctx context.Context, img *image.Image, names ...string) (p *tables.Program, err error) {
	chosen, err := compilableBy(names)
	if err != nil {
		return nil, err
	}
	code := study.Analysis()
	fault := study.Guarded(img, func() {
		p, err = rows.List(ctx, img, rows.Code{Entries: code.Entries, Modes: code.Modes, Signals: sigframe.Listed}, chosen...)
	})
	if fault != nil {
		return nil, fault
	}
	return p, err
}
