//go:build !linux

package input

import "time"

// state is what a file system says of a directory.
type state struct {
	device, stamp uint64
	changed       time.Time
}

// stateOf takes all files for those of one file system, and tells no states of a directory apart.
func stateOf(string) state { return state{} }

// frozen tells whether nothing below a directory can change, other than all at once.
func frozen(string) bool { return true }

// madeUp takes no file for one that the kernel makes up.
func madeUp(string) bool { return false }
