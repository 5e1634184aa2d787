package backsight

import (
	"context"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/unwind/rows"
	"github.com/backsight/backsight/internal/unwind/sigframe"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/tables/breakpad"
	"github.com/backsight/backsight/tables/debugframe"
	"github.com/backsight/backsight/tables/device"
	"github.com/backsight/backsight/tables/jsontable"
	"github.com/backsight/backsight/tables/orctable"
	"github.com/backsight/backsight/tables/sframe"
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
