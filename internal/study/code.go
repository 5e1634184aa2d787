// Package study tells of an image what its tables and its code say: where functions are, who calls whom, how deep stacks get, and
// where tables contradict the code.
package study

import (
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/discover"
	"github.com/backsight/backsight/internal/code/edges"
	"github.com/backsight/backsight/internal/unwind/cfi"
	"github.com/backsight/backsight/internal/unwind/code"
)

// tables tell what unwind tables know of functions.
func tables() *discover.Tables {
	return &discover.Tables{Functions: FunctionRanges, FunctionAt: func(img *image.Image) discover.Search { return cfi.New().FunctionAt(img) }}
}

// Analysis is the source that reads code.
func Analysis() *code.Source { return code.New(tables()) }

// CallGraph is the relation of calls by which the callers that any source finds are checked. What is
// learned of an image is kept with the image: each value that CallGraph returns knows the same, and shares
// the analyses of the image with the source that reads code.
func CallGraph() *edges.Graph { return edges.New(tables()) }
