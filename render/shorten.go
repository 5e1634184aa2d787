package render

import (
	"strings"
	"unicode/utf8"
)

// shortName makes a C++ or Rust name fit into a column where people read it: template
// arguments within template arguments go first, then all of them:
//
//	std::map<std::string, std::vector<int, std::allocator<int>>>::at(std::string const&)
//	std::map<std::string, std::vector<…>>::at(std::string const&)
//	std::map<…>::at(std::string const&)
//
// A name that fits stays as it is, and so does one without template arguments. What was left
// out stands in the other formats.
func shortName(name string, width int) string {
	if !strings.Contains(name, "<") {
		return name
	}
	for depth := 2; depth >= 1 && utf8.RuneCountInString(name) > width; depth-- {
		name = withoutArguments(name, depth)
	}
	return name
}

// withoutArguments replaces template arguments that are nested depth deep or deeper by "…".
// The angle brackets of operator<, operator->, operator<=> and of Rust's -> are no brackets.
func withoutArguments(name string, depth int) string {
	var b strings.Builder
	level := 0
	for i := 0; i < len(name); {
		n, within := max(1, operatorLen(name[i:])), level < depth
		switch {
		case n > 1:
		case name[i] == '<' && i > 0: // Rust's <T as Trait>::f begins with one
			level++
			within = level <= depth
		case name[i] == '>' && level > 0 && name[i-1] != '-':
			within = level <= depth
			level--
		}
		if within {
			b.WriteString(name[i : i+n])
		}
		if within && name[i] == '<' && n == 1 && level == depth {
			b.WriteString("…")
		}
		i += n
	}
	if level > 0 {
		return name // not balanced: no template arguments
	}
	return b.String()
}

// operatorLen is the length of an operator's name with angle brackets that text begins with.
func operatorLen(text string) int {
	rest, ok := strings.CutPrefix(text, "operator")
	if !ok {
		return 0
	}
	for _, op := range []string{"<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "<", ">"} {
		if strings.HasPrefix(rest, op) {
			return len("operator") + len(op)
		}
	}
	return 0
}
