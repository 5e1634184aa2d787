//go:build linux

package input

import "golang.org/x/sys/unix"

// deviceOf tells file systems apart; 0 for what is not there.
func deviceOf(path string) uint64 {
	var st unix.Stat_t
	if unix.Lstat(path, &st) != nil {
		return 0
	}
	return uint64(st.Dev)
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
