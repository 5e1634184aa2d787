//go:build small

package backsight

import (
	"context"
	"runtime"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/input/elfcore"
	"github.com/backsight/backsight/internal/pclntab"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/study"
	"github.com/backsight/backsight/internal/unwind/badcall"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/ehabi"
	"github.com/backsight/backsight/internal/unwind/entered"
	"github.com/backsight/backsight/internal/unwind/fp"
	gostack "github.com/backsight/backsight/internal/unwind/pclntab"
	"github.com/backsight/backsight/internal/unwind/scan"
	"github.com/backsight/backsight/internal/unwind/sframe"
	"github.com/backsight/backsight/internal/unwind/shadow"
	"github.com/backsight/backsight/internal/unwind/sigframe"
	"github.com/backsight/backsight/internal/unwind/table"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
)

// Formats are cores of processes.
func Formats() []input.Format { return []input.Format{elfcore.Format()} }

// ImageFormats are the executables of processes.
func ImageFormats() []image.Format { return []image.Format{pclntab.Named(elf.Format())} }

// What some processors have: the linker leaves out the sources of the others, for GOARCH is a constant.
const (
	hasEHABI   = runtime.GOARCH == "arm" || runtime.GOARCH == "arm64"
	hasSFrame  = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"
	hasShadows = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"
)

// DefaultSources are the ways to find a caller in a process of Linux, in the order of trust in which they are asked.
func DefaultSources() []Source {
	all := []Source{{"sigframe", sigframe.Source{}}, {"badcall", badcall.Source{}}, {"goroutine", gostack.Stacks{}}, {"pclntab", gostack.Source{}}, {"cfi", cfi.New()}}
	if hasSFrame {
		all = append(all, Source{"sframe", sframe.Source{}})
	}
	if hasEHABI {
		all = append(all, Source{"ehabi", ehabi.Source{}})
	}
	all = append(all, Source{"code", study.Analysis()}, Source{"fp", fp.Source{}}, Source{"entered", entered.New(study.CallGraph())})
	if hasShadows {
		all = append(all, Source{"shadow", shadow.New(study.CallGraph())})
	}
	return append(all, Source{"scan", scan.New(study.CallGraph(), sigframe.Source{})})
}

// tabled tells of a source that tables may stand in front of.
func tabled(s stackwalk.Source) bool {
	switch s.(type) {
	case *cfi.Source, ehabi.Source, *code.Source:
		return true
	}
	return false
}

// Variables reads none: the programs of devices have no debug information.
func (*Unwinder) Variables(context.Context, *report.Report, *symbol.Symbolizer) {}

// remake makes no table: another machine compiles them.
func (*tableLoader) remake(*image.Image, string) *table.Table { return nil }
