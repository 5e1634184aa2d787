// Package stackmarks measures stacks otherwise than by code analysis: it reads what GCC says of functions and their calls
// (-fcallgraph-info=su), and what programs leave on a stack that was painted before.
package stackmarks

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Figure is what GCC says of a function: its stack, whether that is static, "dynamic" or "dynamic,bounded", and the names of the
// functions that it calls, each once. Pointers: it calls through pointers, too.
type Figure struct {
	Name     string
	Bytes    int64
	Kind     string
	Calls    []string
	Pointers bool
}

// A node of a function that has code, and a call.
var (
	nodeLine = regexp.MustCompile(`^node: \{ title: "([^"]+)" .*\\n(\d+) bytes \(([a-z,]+)\)" \}$`)
	edgeLine = regexp.MustCompile(`^edge: \{ sourcename: "([^"]+)" targetname: "([^"]+)"`)
)

// Figures reads a file of -fcallgraph-info=su: a graph in VCG's form, one node or edge a line. Functions of a file's own have its
// name and a colon before theirs, names that assembly has as they are a star.
func Figures(r io.Reader) (list []Figure, err error) {
	own := func(title string) string { return strings.TrimPrefix(title[strings.LastIndexByte(title, ':')+1:], "*") }
	index := map[string]int{}
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if m := nodeLine.FindStringSubmatch(lines.Text()); m != nil {
			n, err := strconv.ParseInt(m[2], 10, 64)
			if err != nil {
				return nil, err
			}
			index[m[1]] = len(list)
			list = append(list, Figure{Name: own(m[1]), Bytes: n, Kind: m[3]})
		} else if m := edgeLine.FindStringSubmatch(lines.Text()); m != nil {
			i, ok := index[m[1]]
			if !ok {
				return nil, fmt.Errorf("a call of %q, which has no node", m[1])
			}
			f := &list[i]
			if to := own(m[2]); to == "__indirect_call" {
				f.Pointers = true
			} else if !slices.Contains(f.Calls, to) {
				f.Calls = append(f.Calls, to)
			}
		}
	}
	if lines.Err() == nil && len(list) == 0 {
		err = errors.New("no functions in a file of -fcallgraph-info")
	}
	return list, errors.Join(err, lines.Err())
}
