package backsight

import (
	"context"
	"iter"

	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

// Symbolizer names places in the modules of a program. *symbol.Symbolizer reads the names
// out of the modules' binaries; a program that has a symbol server asks that, by the
// build ID, for modules whose binary is not at hand as well. It must be safe for
// concurrent use.
type Symbolizer interface {
	// Prepare is told of the places that Lookup will be asked for, modules and their
	// image addresses, so that what is far away is fetched in one go. Its error becomes
	// an issue of the report; Lookup is called nevertheless.
	Prepare(ctx context.Context, places iter.Seq2[*target.Module, uint64]) error
	// Lookup names an image address, without ISA mode bit, of a module whose Image may
	// be nil. Of a frame that waits for a call, the address lies within the call
	// instruction. What is not known stays zero.
	Lookup(m *target.Module, addr uint64) symbol.Location
}

// prepare tells a Symbolizer of places. That it cannot fetch their names is an issue.
func prepare(ctx context.Context, names Symbolizer, places iter.Seq2[*target.Module, uint64]) []target.Issue {
	if err := names.Prepare(ctx, places); err != nil {
		return []target.Issue{{Kind: target.IssueNames, Text: "names: " + err.Error()}}
	}
	return nil
}
