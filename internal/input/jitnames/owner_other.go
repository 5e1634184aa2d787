//go:build !unix

package jitnames

import "io/fs"

// trusted tells whether a file is of a user who is believed; other systems have no owners by number.
func trusted(fs.FileInfo) bool { return true }
