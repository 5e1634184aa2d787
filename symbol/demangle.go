//go:build !small

package symbol

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/decorated"
	"github.com/ianlancetaylor/demangle"
)

// filter is the readable form of a name that a compiler mangled.
func filter(name string) string {
	if strings.HasPrefix(name, "?") {
		return decorated.Name(name)
	}
	return demangle.Filter(doubled(name), demangle.MaxLength(maxDemangled))
}

// doubled is a legacy Rust name with one more underscore in front of each part that begins with one: the demangler takes
// the first for the separator that only names of version 0 have, and would print __cortex_m_rt_main with one less.
// In front of an escape sequence the underscore is a separator: _$LT$.
func doubled(name string) string {
	const hash = "17h0123456789abcdefE"
	rest, legacy := strings.CutPrefix(name, "_ZN")
	if !legacy || len(rest) < len(hash) || !strings.HasPrefix(rest[len(rest)-len(hash):], "17h") {
		return name
	}
	var out strings.Builder
	out.WriteString("_ZN")
	for rest != "" && rest[0] != 'E' {
		digits := len(rest) - len(strings.TrimLeft(rest, "0123456789"))
		n, err := strconv.Atoi(rest[:digits])
		if err != nil || n > len(rest)-digits {
			return name // of C++
		}
		part := rest[digits : digits+n]
		if strings.HasPrefix(part, "_") && !strings.HasPrefix(part, "_$") {
			part = "_" + part
		}
		out.WriteString(strconv.Itoa(len(part)) + part)
		rest = rest[digits+n:]
	}
	return out.String() + rest
}
