//go:build !small

package backsight

import (
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/study"
	"github.com/backsight/backsight/internal/unwind/badcall"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/internal/unwind/compact"
	"github.com/backsight/backsight/internal/unwind/ehabi"
	"github.com/backsight/backsight/internal/unwind/entered"
	"github.com/backsight/backsight/internal/unwind/exception"
	"github.com/backsight/backsight/internal/unwind/fp"
	"github.com/backsight/backsight/internal/unwind/orc"
	"github.com/backsight/backsight/internal/unwind/pclntab"
	"github.com/backsight/backsight/internal/unwind/rows"
	"github.com/backsight/backsight/internal/unwind/scan"
	"github.com/backsight/backsight/internal/unwind/seh"
	"github.com/backsight/backsight/internal/unwind/sframe"
	"github.com/backsight/backsight/internal/unwind/shadow"
	"github.com/backsight/backsight/internal/unwind/sigframe"
	"github.com/backsight/backsight/internal/unwind/stackcfi"
	"github.com/backsight/backsight/internal/unwind/table"
	"github.com/backsight/backsight/unwind"
)

// DefaultSources are all ways to find a caller that Backsight has, in the order of
// trust in which they are asked. The caller may change the list: take some of them, in another order.
func DefaultSources() []Source {
	return []Source{
		{"sigframe", sigframe.Source{}},
		{"exception", exception.Source{}},
		{"badcall", badcall.Source{}},
		{"goroutine", pclntab.Stacks{}},
		{"pclntab", pclntab.Source{}},
		{"seh", seh.Source{}},
		{"cfi", cfi.New()},
		{"sframe", sframe.Source{}},
		{"orc", orc.Source{}},
		{"stackcfi", stackcfi.Source{}},
		{"compact", compact.Source{}},
		{"ehabi", ehabi.Source{}},
		{"code", study.Analysis()},
		{"fp", fp.Source{}},
		{"entered", entered.New(study.CallGraph())},
		{"shadow", shadow.New(study.CallGraph())},
		{"scan", scan.New(study.CallGraph(), sigframe.Source{}, exception.Source{}).By(stackcfi.Source{})},
	}
}

// compilable are the sources whose rules a table can have, in the order in which they
// are compiled.
func compilable() []rows.Source {
	code := study.Analysis()
	return []rows.Source{
		{Name: "seh", RuleSource: seh.Source{}, Part: table.Listed(unwind.MethodCFI, seh.Source{}.Rows)},
		{Name: "cfi", RuleSource: cfi.New(), Part: table.Listed(unwind.MethodCFI, cfi.New().Rows)},
		{Name: "compact", RuleSource: compact.Source{}, Part: table.Listed(unwind.MethodCompact, compact.Source{}.Rows)},
		{Name: "ehabi", RuleSource: ehabi.Source{}, Part: table.Listed(unwind.MethodEHABI, ehabi.Source{}.Rows)},
		{Name: "code", RuleSource: code, Part: table.Part{Method: unwind.MethodCode, List: code.Rows}},
	}
}

// tabled tells of a source that tables may stand in front of.
func tabled(s stackwalk.Source) bool {
	switch s.(type) {
	case *cfi.Source, compact.Source, ehabi.Source, *code.Source:
		return true
	}
	return false
}
