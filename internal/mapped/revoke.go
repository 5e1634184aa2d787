//go:build darwin || linux

package mapped

import "syscall"

// revoke makes mapped bytes unreadable.
func revoke(data []byte) {
	if len(data) > 0 {
		_ = syscall.Mprotect(data, syscall.PROT_NONE) // where it fails, the reader goes on
	}
}
