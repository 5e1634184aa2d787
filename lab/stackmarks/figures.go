// Package stackmarks measures stacks otherwise than by code analysis: it reads the figures that GCC writes (-fstack-usage), and
// what programs leave on a stack that was painted before.
package stackmarks

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/backsight/backsight"
)

// Figure is what GCC says of a function: its stack, and whether that is static, "dynamic" or "dynamic,bounded".
type Figure struct {
	Name  string
	Bytes int64
	Kind  string
}

// Figures reads a file of -fstack-usage: file:line:column:function, bytes, kind, with tabs between.
func Figures(r io.Reader) (list []Figure, err error) {
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		words := strings.Split(lines.Text(), "\t")
		place := strings.SplitN(words[0], ":", 4)
		if len(words) != 3 || len(place) != 4 {
			return nil, fmt.Errorf("no line of -fstack-usage: %q", lines.Text())
		}
		n, err := strconv.ParseInt(words[1], 10, 64)
		if err != nil {
			return nil, err
		}
		list = append(list, Figure{place[3], n, words[2]})
	}
	return list, lines.Err()
}

// Difference is a function of which GCC says something else.
type Difference struct {
	Figure
	Own int64
	// Why explains it, "" where nothing does.
	Why string
}

// Compare compares the figures of functions with what code analysis says, and returns how many functions both know. Of a
// function with alloca or variable arrays, both must say so: what GCC counts of that is not what the first pass takes.
func Compare(list []Figure, r *backsight.StackReport, cpu string) (functions int, differ []Difference) {
	known := map[string]*backsight.StackFunction{}
	for i := range r.Functions {
		known[r.Functions[i].Name] = &r.Functions[i]
	}
	for _, f := range list {
		own := known[f.Name]
		if own == nil {
			continue
		}
		functions++
		dynamic := f.Kind == "dynamic"
		if dynamic && own.Dynamic || !dynamic && own.Own == f.Bytes {
			continue
		}
		differ = append(differ, Difference{f, own.Own, explained(f, own, cpu)})
	}
	return functions, differ
}

// pretended is the most that a function for ARM pushes of its arguments' registers.
const pretended = 16

// explained says why GCC counts otherwise (gcc/config/arm/arm.cc, arm_expand_prologue; gcc/config/i386/i386.cc, ix86_expand_prologue).
func explained(f Figure, own *backsight.StackFunction, cpu string) string {
	switch more := own.Own - f.Bytes; {
	case strings.HasPrefix(cpu, "arm") && more > 0 && more <= pretended:
		return "GCC leaves out registers of arguments that the function pushes in front of its frame"
	case own.Dynamic && more > 0:
		return "SP is aligned by more than the ABI does: GCC takes the caller's SP as aligned already"
	}
	return ""
}
