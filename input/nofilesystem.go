//go:build !linux

package input

// deviceOf takes all files for those of one file system.
func deviceOf(string) uint64 { return 0 }

// madeUp takes no file for one that the kernel makes up.
func madeUp(string) bool { return false }
