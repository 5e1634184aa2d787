package symbol

import (
	"strconv"
	"strings"

	"github.com/backsight/backsight/internal/decorated"
)

// Bounds of demangling: names longer than this are shown as they are, and
// readable names are cut at 2¹⁴ bytes. C++ substitutions let a short name stand
// for one of exponential length.
const (
	maxMangled   = 8 << 10
	maxDemangled = 14 // log₂ of bytes
)

// names are names of functions as answers have them: readable ones, unless the mangled ones are wanted.
type names struct {
	mangled bool
	known   map[string]string // by those in the file: addresses share them, and some take longer than all the rest
}

// readable is the readable form of a name in the file.
func (n *names) readable(name string) string {
	if n.mangled {
		return name
	}
	out, ok := n.known[name]
	if !ok {
		if n.known == nil || len(n.known) >= maxKnown {
			n.known = make(map[string]string)
		}
		out = Demangled(name)
		n.known[name] = out
	}
	return out
}

// unversioned is a symbol's name without the version that nm and full ELF symbol tables write
// behind the name (memcpy@@GLIBC_2.14). The version tells the dynamic linker which programs get
// this function. A name that Microsoft's compilers mangled begins with a question mark, and has the sign for other reasons.
func unversioned(name string) string {
	if strings.HasPrefix(name, "?") {
		return name
	}
	if i := strings.IndexByte(name, '@'); i > 0 {
		return name[:i]
	}
	return name
}

// Demangled is the readable form of a C++ or Rust name; other names stay as
// they are.
func Demangled(name string) (readable string) {
	if strings.HasPrefix(name, "?") && len(name) <= maxMangled {
		return decorated.Name(name)
	}
	if len(name) > maxMangled || !strings.HasPrefix(name, "_") {
		return name
	}
	// The demangler returns an error for a name that it cannot parse. A panic would be a fault
	// of the demangler, and must not cost the user a backtrace.
	defer func() {
		if recover() != nil {
			readable = name
		}
	}()
	return filter(doubled(name))
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
