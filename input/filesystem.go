//go:build linux

package input

import (
	"time"

	"golang.org/x/sys/unix"
)

// state is what a file system says of a directory.
type state struct {
	device  uint64 // tells file systems apart; 0 for what is not there
	stamp   uint64 // tells the states of the directory apart; 0: nothing does
	changed time.Time
}

func stateOf(path string) (s state) {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return s
	}
	return state{device: uint64(st.Dev), changed: time.Unix(st.Ctim.Unix()),
		stamp: digest("", int64(st.Ino), st.Size, st.Mtim.Nano(), st.Ctim.Nano())}
}

// frozen tells whether nothing below a directory can change, other than all at once: times in an image of a file system
// (squashfs) may be those of another image.
func frozen(path string) bool {
	var st unix.Statfs_t
	return unix.Statfs(path, &st) != nil || st.Flags&unix.ST_RDONLY != 0
}

// madeUp tells whether the kernel makes up the files of a directory as they are read.
func madeUp(path string) bool {
	var st unix.Statfs_t
	if unix.Statfs(path, &st) != nil {
		return true // nothing to search
	}
	switch uint32(st.Type) {
	case unix.PROC_SUPER_MAGIC, unix.SYSFS_MAGIC, unix.CGROUP_SUPER_MAGIC, unix.CGROUP2_SUPER_MAGIC, unix.DEBUGFS_MAGIC,
		unix.TRACEFS_MAGIC, unix.SECURITYFS_MAGIC, unix.DEVPTS_SUPER_MAGIC, unix.BPF_FS_MAGIC, unix.EFIVARFS_MAGIC,
		unix.PSTOREFS_MAGIC, unix.AUTOFS_SUPER_MAGIC, unix.HUGETLBFS_MAGIC, unix.BINFMTFS_MAGIC, unix.SELINUX_MAGIC:
		return true
	}
	return false
}
