// Package groups puts crashes together that are the same, in the service's database, and tells what became of them.
//
//	report ─► signature ─► rules of the user ─► key ─► group ─► counts, events, proposals to merge
//
// Keys are those of docs/signatures.md: a crash is of the group that has its exact key, else its stable key. What is alike and has
// other keys is proposed, with the sentence why, and never merged without a person.
package groups

import (
	"bufio"
	"fmt"
	"path"
	"strings"

	"github.com/backsight/backsight/internal/jsonreport"
)

// Rules are what a user says of the functions that name a group. Each is a line:
//
//	in-app netd            only modules that are named so count, where a crash has any of them
//	skip module libhook*   functions of such modules do not count
//	skip function my_log_* such functions do not count
//
// Patterns are those of path.Match; lines that begin with # are remarks.
type Rules struct {
	inApp, modules, functions []string
}

// maxRules bounds the lines of a text of rules, maxRuleLine the bytes of one.
const maxRules, maxRuleLine = 1000, 1000

// ParseRules reads a text of rules. The error names the line.
func ParseRules(text string) (*Rules, error) {
	r := &Rules{}
	lines := bufio.NewScanner(strings.NewReader(text))
	lines.Buffer(nil, maxRuleLine)
	n := 0
	for lines.Scan() {
		if n++; n > maxRules {
			return nil, fmt.Errorf("more than %d lines", maxRules)
		}
		if err := r.add(strings.Fields(lines.Text())); err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if lines.Err() != nil {
		return nil, fmt.Errorf("line %d: longer than %d bytes", n+1, maxRuleLine)
	}
	return r, nil
}

func (r *Rules) add(words []string) error {
	if len(words) == 0 || strings.HasPrefix(words[0], "#") {
		return nil
	}
	pattern := words[len(words)-1]
	if _, err := path.Match(pattern, ""); err != nil {
		return fmt.Errorf("%q is no pattern", pattern)
	}
	switch strings.Join(words[:len(words)-1], " ") {
	case "in-app":
		r.inApp = append(r.inApp, pattern)
	case "skip module":
		r.modules = append(r.modules, pattern)
	case "skip function":
		r.functions = append(r.functions, pattern)
	default:
		return fmt.Errorf("%q is none of: in-app MODULE, skip module MODULE, skip function FUNCTION", strings.Join(words, " "))
	}
	return nil
}

// Left are the functions of a chain that count, all where none would.
func (r *Rules) Left(chain []jsonreport.Signed) []jsonreport.Signed {
	left := filter(chain, func(f *jsonreport.Signed) bool {
		return !matches(r.modules, f.Module) && !matches(r.functions, name(f))
	})
	if own := filter(left, func(f *jsonreport.Signed) bool { return matches(r.inApp, f.Module) }); len(own) > 0 {
		left = own
	}
	if len(left) == 0 {
		return chain
	}
	return left
}

// name is what the rules call a function: the import's name where the program asked a library for it.
func name(f *jsonreport.Signed) string {
	if f.Import != "" {
		return f.Import
	}
	return f.Function
}

func filter(list []jsonreport.Signed, keep func(*jsonreport.Signed) bool) (kept []jsonreport.Signed) {
	for i := range list {
		if keep(&list[i]) {
			kept = append(kept, list[i])
		}
	}
	return kept
}

func matches(patterns []string, name string) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil && name != "" {
			return true
		}
	}
	return false
}
