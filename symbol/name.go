package symbol

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// Bounds of demangling: names longer than this are shown as they are, and
// readable names are cut at 2¹⁴ bytes. C++ substitutions let a short name stand
// for one of exponential length.
const (
	maxMangled   = 8 << 10
	maxDemangled = 14 // log₂ of bytes
)

// unversioned is a symbol's name without the version that nm and full ELF symbol tables write
// behind the name (memcpy@@GLIBC_2.14). The version tells the dynamic linker which programs get
// this function.
func unversioned(name string) string {
	if i := strings.IndexByte(name, '@'); i > 0 {
		return name[:i]
	}
	return name
}

// demangled is the readable form of a C++ or Rust name; other names stay as
// they are.
func demangled(name string) (readable string) {
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
	return demangle.Filter(name, demangle.MaxLength(maxDemangled))
}
