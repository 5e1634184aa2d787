package child

import (
	"runtime/debug"

	"github.com/landlock-lsm/go-landlock/landlock"
	"golang.org/x/sys/unix"
)

// maxFiles bounds the files that a child has open: a capture's binaries.
const maxFiles = 1024

// spare is what a child may map beside its heap: files, and what Go's runtime reserves.
const spare = 8 << 30

// harden lets this process read the capture and the binaries, and nothing else: no network, no file that it could write, no other
// program or process, bounded memory and time. The bounds are the kernel's and stand before a byte of the capture is read.
func harden(r *request) error {
	debug.SetMemoryLimit(r.Memory)
	for limit, n := range map[int]uint64{
		unix.RLIMIT_AS: uint64(r.Memory + spare), unix.RLIMIT_CPU: uint64(r.Seconds), unix.RLIMIT_NOFILE: maxFiles,
		unix.RLIMIT_CORE: 0, unix.RLIMIT_FSIZE: 0,
	} {
		if err := unix.Setrlimit(limit, &unix.Rlimit{Cur: n, Max: n}); err != nil {
			return err
		}
	}
	rules := []landlock.Rule{landlock.ROFiles(r.Capture), landlock.RODirs(r.Binaries).IgnoreIfMissing()}
	if len(r.Sysroots) > 0 {
		rules = append(rules, landlock.RODirs(r.Sysroots...).IgnoreIfMissing())
	}
	allowed := landlock.V5.BestEffort() // Linux 6.10; on older kernels what they have
	if err := allowed.RestrictPaths(rules...); err != nil {
		return err
	}
	if err := allowed.RestrictNet(); err != nil {
		return err
	}
	return confine()
}
