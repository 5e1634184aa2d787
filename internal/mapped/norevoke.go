//go:build !(darwin || linux)

package mapped

// revoke does nothing: package syscall protects no memory on these systems, or files are not mapped.
func revoke([]byte) {}
