//go:build unix

package outfile

import (
	"io/fs"
	"os"
	"syscall"
)

// own gives a file the owner of another, or its group at least. It is false where the owner is another one.
func own(f *os.File, as fs.FileInfo) bool {
	st, ok := as.Sys().(*syscall.Stat_t)
	if !ok {
		return false
	}
	if f.Chown(int(st.Uid), int(st.Gid)) == nil {
		return true
	}
	_ = f.Chown(-1, int(st.Gid)) // members of the group may
	return false
}
