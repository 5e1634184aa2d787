package backsight

import (
	"fmt"
	"slices"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/edges"
	"github.com/backsight/backsight/internal/pdata"
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
	"github.com/backsight/backsight/internal/unwind/scan"
	"github.com/backsight/backsight/internal/unwind/seh"
	"github.com/backsight/backsight/internal/unwind/sframe"
	"github.com/backsight/backsight/internal/unwind/shadow"
	"github.com/backsight/backsight/internal/unwind/sigframe"
	"github.com/backsight/backsight/internal/unwind/stackcfi"
	"github.com/backsight/backsight/unwind"
)

// Source is a way to find a caller, an unwind.RuleSource or an unwind.FrameSource, with the
// name that --sources and reports use.
type Source struct {
	Name string
	unwind.Source
}

// DefaultSources are all ways to find a caller that Backsight has, in the order of
// trust in which they are asked. The caller may change the list: take some of them,
// or insert sources of its own.
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
		{"code", analysis()},
		{"fp", fp.Source{}},
		{"entered", entered.New(callGraph())},
		{"shadow", shadow.New(callGraph())},
		{"scan", scan.New(callGraph(), sigframe.Source{}, exception.Source{}).By(stackcfi.Source{})},
	}
}

// functionRanges lists the functions that an image's tables describe, until yield returns false.
func functionRanges(img *image.Image, yield func(lo, hi uint64) bool) {
	if (seh.Source{}).Knows(img) {
		pdata.FunctionRanges(img, yield)
		return
	}
	cfi.New().Functions(img, yield)
}

// analysis is the source that reads code.
func analysis() *code.Source { return code.New(functionRanges) }

// callGraph is the relation of calls by which the callers that any source finds are checked. What is
// learned of an image is kept with the image: each value that callGraph returns knows the same, and shares
// the analyses of the image with the source that reads code.
func callGraph() *edges.Graph { return edges.New(functionRanges) }

// SelectSources picks default sources by name, in the order of the names. The error
// names one that does not exist.
func SelectSources(names ...string) ([]Source, error) {
	all := DefaultSources()
	chosen := make([]Source, 0, len(names))
	for _, n := range names {
		i := slices.IndexFunc(all, func(s Source) bool { return s.Name == n })
		if i < 0 {
			return nil, fmt.Errorf("no unwind source %q; there are %s", n, strings.Join(SourceNames(), ", "))
		}
		chosen = append(chosen, all[i])
	}
	return chosen, nil
}

// SourceNames are the names of DefaultSources, in their order.
func SourceNames() []string {
	var names []string
	for _, s := range DefaultSources() {
		names = append(names, s.Name)
	}
	return names
}
