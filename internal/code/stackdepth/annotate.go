package stackdepth

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Annotations are what the user tells of a program, in a text of lines:
//
//	call 0x8000412 -> uart_read, spi_read     where the call at an address goes
//	call driver_poll -> uart_poll             where the function's calls through pointers go that are not resolved
//	recursion walk 12                         at most 12 frames of walk are on the stack at a time
//	bound memcpy 32                           a function takes so much with all that it calls
//	dynamic parse 256                         what the function computes at run time takes so much more
//	priority USART1_IRQHandler 2              the priority of an interrupt: a lower number preempts a higher one
//	root worker 1024                          a stack begins with the function, and has so many bytes
//
// What follows # is a comment. A function is a symbol, or an address with 0x.
type Annotations struct {
	calls      map[string][]string
	recursions map[string]int64
	bounds     map[string]int64
	dynamics   map[string]int64
	priorities map[string]int64
	roots      []givenRoot
}

type givenRoot struct {
	name string
	size uint64
}

// Bounds of a text of annotations: lines, and what a number may be.
const (
	maxLines  = 1 << 16
	maxLine   = 1 << 16
	maxNumber = 1 << 40
)

// ReadAnnotations reads a text of annotations. The error names the line.
func ReadAnnotations(r io.Reader) (*Annotations, error) {
	a := &Annotations{calls: map[string][]string{}, recursions: map[string]int64{}, bounds: map[string]int64{},
		dynamics: map[string]int64{}, priorities: map[string]int64{}}
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 0, 4096), maxLine)
	n := 0
	for lines.Scan() {
		if n++; n > maxLines {
			return nil, fmt.Errorf("more than %d lines", maxLines)
		}
		text, _, _ := strings.Cut(lines.Text(), "#")
		if err := a.line(strings.Fields(text), text); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	return a, lines.Err()
}

// line takes in a line, as words.
func (a *Annotations) line(words []string, text string) error {
	if len(words) == 0 {
		return nil
	}
	if words[0] == "call" {
		return a.call(text)
	}
	numbers := map[string]map[string]int64{"recursion": a.recursions, "bound": a.bounds, "dynamic": a.dynamics, "priority": a.priorities}
	into, known := numbers[words[0]]
	switch {
	case words[0] == "root":
		return a.root(words)
	case !known:
		return fmt.Errorf("%.40q is no annotation; there are call, recursion, bound, dynamic, priority, root", words[0])
	case len(words) != 3:
		return fmt.Errorf("%s wants a function and a number", words[0])
	}
	n, err := number(words[2])
	if err == nil && words[0] == "recursion" && n == 0 {
		err = errors.New("a recursion has at least 1 frame")
	}
	into[words[1]] = n
	return err
}

// call is "call SITE -> NAME, NAME".
func (a *Annotations) call(text string) error {
	site, targets, ok := strings.Cut(strings.TrimPrefix(strings.TrimSpace(text), "call"), "->")
	site = strings.TrimSpace(site)
	if !ok || site == "" || strings.ContainsAny(site, " \t") {
		return errors.New("call wants a place, -> and functions: call 0x8000412 -> f, g")
	}
	list := []string{}
	for t := range strings.SplitSeq(targets, ",") {
		if t = strings.TrimSpace(t); t != "" {
			list = append(list, t)
		}
	}
	a.calls[site] = list
	return nil
}

// root is "root NAME [SIZE]".
func (a *Annotations) root(words []string) (err error) {
	if len(words) < 2 || len(words) > 3 {
		return errors.New("root wants a function and, if known, the size of its stack")
	}
	r := givenRoot{name: words[1]}
	if len(words) == 3 {
		var n int64
		n, err = number(words[2])
		r.size = uint64(n)
	}
	a.roots = append(a.roots, r)
	return err
}

func number(word string) (int64, error) {
	n, err := strconv.ParseUint(word, 0, 64)
	if err != nil || n > maxNumber {
		return 0, fmt.Errorf("%.40q is no number of bytes or frames", word)
	}
	return int64(n), nil
}

// of looks an annotation up for a function: by its name, else its address.
func of[T any](m map[string]T, name string, addr uint64) (v T, ok bool) {
	if v, ok = m[name]; ok {
		return v, ok
	}
	v, ok = m[hex(addr)]
	return v, ok
}
