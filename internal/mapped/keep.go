//go:build !linux

package mapped

// Forget does nothing: these systems know no way to give back mapped pages that is sure to
// leave their content as it is.
func Forget([]byte) {}
