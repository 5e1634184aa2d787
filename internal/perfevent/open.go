//go:build linux

package perfevent

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Recorder records a process and those that it starts.
type Recorder struct {
	pid    int
	opt    Options
	attr   unix.PerfEventAttr
	cpus   []int  // processors, whether this process may run on them or not
	rings  []ring // of the processors
	fds    []int
	before []byte        // what stands in front of the kernel's events; nil: it was written
	ended  chan struct{} // closed when the command that was started has ended; nil: none was
	how    error         // it ended; valid then
}

// sampleType are the fields of the samples: IP, TID, TIME, CALLCHAIN, CPU, PERIOD, REGS_USER, STACK_USER.
const sampleType = unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_CPU |
	unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER

// registers are those that perf takes (arch/*/include/uapi/asm/perf_regs.h).
func registers() map[string]uint64 {
	return map[string]uint64{
		"amd64": 0xff0fff, "386": 0xfff, "arm64": 1<<33 - 1, "arm": 0xffff, "riscv64": 1<<32 - 1, "mips": 1<<30 - 1, "mipsle": 1<<30 - 1, "mips64": 1<<30 - 1,
		"mips64le": 1<<30 - 1,
	}
}

// Attach records a process that runs.
func Attach(pid int, opt Options) (*Recorder, error) {
	tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
	if err != nil {
		return nil, fmt.Errorf("process %d: not found", pid)
	}
	r := newRecorder(pid, opt)
	for _, t := range tasks {
		tid, err := strconv.Atoi(t.Name())
		if err != nil {
			continue
		}
		if err := r.add(tid); errors.Is(err, unix.ESRCH) {
			continue // the thread has ended
		} else if err != nil {
			return nil, errors.Join(r.explain(err), r.Close())
		}
	}
	err = r.enable()
	r.before = r.head()
	return r, err
}

// Start starts a command and records it from its first instruction on. The command stops at its exec until then (ptrace(2)).
func Start(cmd *exec.Cmd, opt Options) (*Recorder, error) {
	runtime.LockOSThread() // the thread that traces is the one that started the command
	defer runtime.UnlockOSThread()
	cmd.SysProcAttr = &unix.SysProcAttr{Ptrace: true}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	pid := cmd.Process.Pid
	var status unix.WaitStatus
	if _, err := unix.Wait4(pid, &status, 0, nil); err != nil || !status.Stopped() {
		return nil, errors.Join(fmt.Errorf("the command did not stop at its beginning: %v", err), end(cmd))
	}
	r := newRecorder(pid, opt)
	err := r.add(pid)
	if err == nil {
		err = r.enable()
	}
	if err != nil {
		return nil, errors.Join(r.explain(err), r.Close(), end(cmd))
	}
	r.before = r.head()
	if err := unix.PtraceDetach(pid); err != nil {
		return nil, errors.Join(err, r.Close(), end(cmd))
	}
	r.ended = make(chan struct{})
	go func() {
		r.how = cmd.Wait()
		close(r.ended)
	}()
	return r, nil
}

// end ends a command that has not begun to run.
func end(cmd *exec.Cmd) error {
	err := cmd.Process.Kill()
	_ = cmd.Wait() // it was killed
	return err
}

// buildIDs is perf_event_attr.build_id: mappings are told with the build IDs of their files, in place of their inodes.
const buildIDs = 1 << 34

func newRecorder(pid int, opt Options) *Recorder {
	online, _ := os.ReadFile("/sys/devices/system/cpu/online")
	r := &Recorder{pid: pid, opt: opt, cpus: processors(string(online))}
	r.attr = unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: uint64(opt.Frequency), Sample_type: sampleType, Sample_regs_user: registers()[runtime.GOARCH], Sample_stack_user: uint32(opt.Stack),
		Clockid: unix.CLOCK_MONOTONIC, // which logs of code that was made tell, too
		Bits: unix.PerfBitUseClockID | unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitFreq | unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec |
			unix.PerfBitTask | unix.PerfBitSampleIDAll | unix.PerfBitExcludeCallchainUser | unix.PerfBitExcludeHv | buildIDs,
	}
	if !opt.Kernel {
		r.attr.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeCallchainKernel
	}
	return r
}

// add records a thread, and those that it starts, on each processor. All threads write to the processor's one buffer.
func (r *Recorder) add(tid int) error {
	for i, cpu := range r.cpus {
		fd, err := unix.PerfEventOpen(&r.attr, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if errors.Is(err, unix.EINVAL) && r.attr.Bits&buildIDs != 0 { // Linux before 5.12
			r.attr.Bits &^= buildIDs
			fd, err = unix.PerfEventOpen(&r.attr, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		}
		if err != nil {
			return err
		}
		r.fds = append(r.fds, fd)
		if i < len(r.rings) {
			if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.rings[i].fd); err != nil {
				return err
			}
			continue
		}
		ring, err := mapRing(fd)
		if err != nil {
			return err
		}
		r.rings = append(r.rings, ring)
	}
	return nil
}

func (r *Recorder) enable() error {
	for _, fd := range r.fds {
		if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_ENABLE, 0); err != nil {
			return err
		}
	}
	return nil
}

// Close ends the recording. A command that was started goes on.
func (r *Recorder) Close() error {
	var errs []error
	for i := range r.rings {
		errs = append(errs, unix.Munmap(r.rings[i].memory))
	}
	for _, fd := range r.fds {
		errs = append(errs, unix.Close(fd))
	}
	r.rings, r.fds = nil, nil
	return errors.Join(errs...)
}

// Ended is how the command that was started has ended, if it has, and not well.
func (r *Recorder) Ended() error {
	select {
	case <-r.ended:
		return r.how
	default:
		return nil
	}
}

// explain says why the kernel does not record, and how it may be allowed.
func (r *Recorder) explain(err error) error {
	switch {
	case errors.Is(err, unix.EINVAL):
		most, _ := os.ReadFile("/proc/sys/kernel/perf_event_max_sample_rate")
		return fmt.Errorf("the kernel takes no such samples: at most %s a second (kernel.perf_event_max_sample_rate), and registers on few processors", bytes.TrimSpace(most))
	case !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM):
		return fmt.Errorf("perf_event_open: %w", err)
	}
	if dir, err := os.Stat("/proc/" + strconv.Itoa(r.pid)); err == nil {
		if stat, ok := dir.Sys().(*syscall.Stat_t); ok && int(stat.Uid) != os.Geteuid() {
			return fmt.Errorf("process %d is another user's: root may record it, and who has the capabilities CAP_PERFMON and CAP_SYS_PTRACE", r.pid)
		}
	}
	const own, kernel = 2, 1 // perf_event_open(2)
	wanted := own
	if r.opt.Kernel {
		wanted = kernel
	}
	text, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	text = bytes.TrimSpace(text)
	if level, err := strconv.Atoi(string(text)); err == nil && level <= wanted {
		return fmt.Errorf("the kernel would allow it (kernel.perf_event_paranoid is %d), but something else does not, as a container's seccomp filter: "+
			"the capability CAP_PERFMON allows it in most (--cap-add PERFMON); "+byPtrace, level)
	}
	return fmt.Errorf("the kernel does not allow it (kernel.perf_event_paranoid is %s); sysctl kernel.perf_event_paranoid=%d does, for your own processes, "+
		"or the capability CAP_PERFMON; "+byPtrace, text, wanted)
}

// byPtrace is what needs no leave of perf's.
const byPtrace = "backsight bt -p PID --count 100 --every 10ms -f folded takes samples by ptrace"
