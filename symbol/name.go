package symbol

import "strings"

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
	if len(name) > maxMangled || !strings.HasPrefix(name, "_") && !strings.HasPrefix(name, "?") {
		return name
	}
	// The demangler returns an error for a name that it cannot parse. A panic would be a fault
	// of the demangler, and must not cost the user a backtrace.
	defer func() {
		if recover() != nil {
			readable = name
		}
	}()
	return filter(name)
}
