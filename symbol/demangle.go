//go:build !small

package symbol

import "github.com/ianlancetaylor/demangle"

// filter is the readable form of a name that a compiler of C++ or Rust mangled.
func filter(name string) string { return demangle.Filter(name, demangle.MaxLength(maxDemangled)) }
