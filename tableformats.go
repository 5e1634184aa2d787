//go:build !small

package backsight

import (
	"context"
	"errors"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/tables/breakpad"
	"github.com/backsight/backsight/internal/tables/debugframe"
	"github.com/backsight/backsight/internal/tables/device"
	"github.com/backsight/backsight/internal/tables/jsontable"
	"github.com/backsight/backsight/internal/tables/orctable"
	"github.com/backsight/backsight/internal/tables/sframe"
	"github.com/backsight/backsight/internal/unwind/lint"
	"github.com/backsight/backsight/internal/unwind/rows"
	"github.com/backsight/backsight/internal/unwind/sigframe"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/target"
)

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
	code := analysis()
	fault := guarded(img, func() {
		p, err = rows.List(ctx, img, rows.Code{Entries: code.Entries, Modes: code.Modes, Signals: sigframe.Listed}, chosen...)
	})
	if fault != nil {
		return nil, fault
	}
	return p, err
}

// TableReport says where the unwind tables of an image contradict its code, and how much was compared.
type TableReport = lint.Report

// TableFinding is a stretch of code for which a table is wrong. Its addresses are image addresses.
type TableFinding = lint.Finding

// CheckTables compares the tables that an image has itself (.eh_frame or .debug_frame, else
// .ARM.exidx; compact unwind) with its code at every instruction. progress, if not nil, is told how
// many functions are done, from several goroutines. The error says that there is no table, is that of
// ctx, or says that the image's file has changed.
func CheckTables(ctx context.Context, img *image.Image, progress func(done, all int)) (r *TableReport, err error) {
	if fault := guarded(img, func() { r, err = lint.Check(ctx, img, progress) }); fault != nil {
		return nil, fault
	}
	if err != nil {
		return nil, blame(&target.Snapshot{Modules: []*target.Module{{Image: img}}}, err)
	}
	if r == nil {
		return nil, errors.New("no unwind table to check")
	}
	return r, nil
}
