//go:build linux

package perfevent

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Recorder records a process and those that it starts.
type Recorder struct {
	pid   int
	opt   Options
	attr  unix.PerfEventAttr
	rings []ring
	fds   []int
	ended chan struct{} // closed when the command that was started has ended; nil: none was
}

// sampleType are the fields of the samples: IP, TID, TIME, CALLCHAIN, CPU, PERIOD, REGS_USER, STACK_USER.
const sampleType = unix.PERF_SAMPLE_IP | unix.PERF_SAMPLE_TID | unix.PERF_SAMPLE_TIME | unix.PERF_SAMPLE_CALLCHAIN | unix.PERF_SAMPLE_CPU |
	unix.PERF_SAMPLE_PERIOD | unix.PERF_SAMPLE_REGS_USER | unix.PERF_SAMPLE_STACK_USER

// registers are those that perf takes (arch/*/include/uapi/asm/perf_regs.h).
var registers = map[string]uint64{
	"amd64": 0xff0fff, "386": 0xfff, "arm64": 1<<33 - 1, "arm": 0xffff, "riscv64": 1<<32 - 1, "mips": 1<<30 - 1, "mipsle": 1<<30 - 1, "mips64": 1<<30 - 1,
	"mips64le": 1<<30 - 1,
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
			return nil, errors.Join(explain(err), r.Close())
		}
	}
	return r, r.enable()
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
		return nil, errors.Join(fmt.Errorf("the command did not stop at its beginning: %v", err), cmd.Process.Kill())
	}
	r := newRecorder(pid, opt)
	err := r.add(pid)
	if err == nil {
		err = r.enable()
	}
	if err != nil {
		return nil, errors.Join(explain(err), r.Close(), cmd.Process.Kill(), unix.PtraceDetach(pid))
	}
	if err := unix.PtraceDetach(pid); err != nil {
		return nil, errors.Join(err, r.Close(), cmd.Process.Kill())
	}
	r.ended = make(chan struct{})
	go func() {
		_ = cmd.Wait() // how it ends is the command's own matter
		close(r.ended)
	}()
	return r, nil
}

func newRecorder(pid int, opt Options) *Recorder {
	r := &Recorder{pid: pid, opt: opt}
	r.attr = unix.PerfEventAttr{
		Type: unix.PERF_TYPE_SOFTWARE, Config: unix.PERF_COUNT_SW_CPU_CLOCK, Size: uint32(unsafe.Sizeof(unix.PerfEventAttr{})),
		Sample: uint64(opt.Frequency), Sample_type: sampleType, Sample_regs_user: registers[runtime.GOARCH], Sample_stack_user: uint32(opt.Stack),
		Bits: unix.PerfBitDisabled | unix.PerfBitInherit | unix.PerfBitFreq | unix.PerfBitMmap | unix.PerfBitMmap2 | unix.PerfBitComm | unix.PerfBitCommExec |
			unix.PerfBitTask | unix.PerfBitSampleIDAll | unix.PerfBitExcludeCallchainUser | unix.PerfBitExcludeHv,
	}
	if !opt.Kernel {
		r.attr.Bits |= unix.PerfBitExcludeKernel | unix.PerfBitExcludeCallchainKernel
	}
	return r
}

// add records a thread, and those that it starts, on each processor. All threads write to the processor's one buffer.
func (r *Recorder) add(tid int) error {
	for cpu := range runtime.NumCPU() {
		fd, err := unix.PerfEventOpen(&r.attr, tid, cpu, -1, unix.PERF_FLAG_FD_CLOEXEC)
		if err != nil {
			return err
		}
		r.fds = append(r.fds, fd)
		if cpu < len(r.rings) {
			if err := unix.IoctlSetInt(fd, unix.PERF_EVENT_IOC_SET_OUTPUT, r.rings[cpu].fd); err != nil {
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

// explain says why the kernel does not record, and how it may be allowed.
func explain(err error) error {
	if !errors.Is(err, unix.EACCES) && !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("perf_event_open: %w", err)
	}
	level, _ := os.ReadFile("/proc/sys/kernel/perf_event_paranoid")
	return fmt.Errorf("the kernel does not allow it (kernel.perf_event_paranoid is %s); sysctl kernel.perf_event_paranoid=1 does, for your own processes, "+
		"or the capability CAP_PERFMON", strings.TrimSpace(string(level)))
}
