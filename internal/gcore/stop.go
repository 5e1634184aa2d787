//go:build linux

package gcore

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// stopped are the threads of a process that stand still. Whoever made it lets them go.
type stopped struct {
	pid     int
	threads []thread
	seen    map[int]bool
	late    []int // threads that were asked, and did not stop in time
}

// patience bounds how long a thread may take to stop: one that sleeps in the kernel without an end does not. One that runs stops as soon
// as a processor is free, which on a busy machine takes longer: queued. rounds bounds how often new threads are looked for.
const patience, queued, rounds = 500 * time.Millisecond, 5 * time.Second, 16

// ptraceEventStop is PTRACE_EVENT_STOP, seize PTRACE_SEIZE and interrupt PTRACE_INTERRUPT.
const ptraceEventStop, seize, interrupt = 128, 0x4206, 0x4207

// stop stops all threads of a process. The calling goroutine must be locked to its thread.
func stop(pid int) (*stopped, error) {
	s := &stopped{pid: pid, seen: map[int]bool{}}
	for range rounds { // threads that go on may have started others
		tasks, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/task")
		if err != nil {
			return s, fmt.Errorf("process %d has ended", pid)
		}
		before := len(s.seen)
		asked, err := s.ask(tasks)
		for _, tid := range asked { // all are on their way by now
			if e := s.await(tid); e != nil && !errors.Is(e, unix.ESRCH) {
				err = cmp.Or(err, s.explain(tid, e))
			}
		}
		if err != nil {
			return s, err
		}
		if len(s.seen) == before {
			break
		}
	}
	if len(s.threads) == 0 && s.ended(pid) {
		return s, s.explain(pid, unix.EPERM)
	}
	if len(s.threads) == 0 {
		return s, fmt.Errorf("process %d: no thread could be stopped: they sleep in the kernel; as root, backsight bt /proc/%d/stack shows where", pid, pid)
	}
	return s, nil
}

// ask asks those threads to stop that were not asked before, and returns them.
func (s *stopped) ask(tasks []os.DirEntry) (asked []int, err error) {
	for _, t := range tasks {
		tid, _ := strconv.Atoi(t.Name())
		if tid == 0 || s.seen[tid] {
			continue
		}
		s.seen[tid] = true
		if err := seizeThread(tid); err == nil {
			asked = append(asked, tid)
		} else if !errors.Is(err, unix.ESRCH) && !s.ended(tid) {
			return asked, s.explain(tid, err)
		}
	}
	return asked, nil
}

// seizeThread asks a thread to stop.
func seizeThread(tid int) error {
	if err := ptrace(seize, tid, 0, 0); err != nil {
		return err
	}
	return ptrace(interrupt, tid, 0, 0)
}

// await waits until a thread has stopped.
func (s *stopped) await(tid int) error {
	for begin, most := time.Now(), patience; ; {
		var status unix.WaitStatus
		got, err := unix.Wait4(tid, &status, unix.WALL|unix.WNOHANG, nil)
		switch {
		case errors.Is(err, unix.EINTR):
		case err != nil:
			return err
		case got == tid && status.Stopped():
			t := thread{id: tid}
			if int(status)>>16 != ptraceEventStop {
				t.signal = int(status.StopSignal())
			}
			s.threads = append(s.threads, t)
			return nil
		case got == tid: // ended
			return unix.ESRCH
		case time.Since(begin) > most && most < queued && s.runs(tid):
			most = queued
		case time.Since(begin) > most:
			s.late = append(s.late, tid)
			return nil
		default:
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// runs tells whether a thread runs, or waits for a processor.
func (s *stopped) runs(tid int) bool { return s.state(tid) == 'R' }

// ended tells of a thread that is no more. While it ends, nobody may trace it: ptrace(2) fails with EPERM, as it does where that is
// not allowed (Linux, kernel/ptrace.c, ptrace_attach, exit_state).
func (s *stopped) ended(tid int) bool {
	state := s.state(tid)
	return state == 'Z' || state == 'X' || state == 0
}

// state is the state of a thread (proc(5), /proc/PID/stat), 0 where there is no such thread.
func (s *stopped) state(tid int) byte {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/stat", s.pid, tid))
	behind := bytes.LastIndexByte(stat, ')') // a name may have brackets
	if behind < 0 || len(stat) < behind+3 {
		return 0
	}
	return stat[behind+2]
}

// letGo lets all threads go on, late ones as soon as they have stopped: they wake from a call that is to be made again. One that sleeps on
// in the kernel is let go by the end of the tracing thread.
func (s *stopped) letGo() {
	s.release()
	late := s.late
	s.late = nil
	for _, tid := range late {
		_ = s.await(tid) // it may have ended
		if len(s.late) > 0 {
			break // it takes its time
		}
	}
	_ = s.registers()
	s.release()
}

// registers reads the general registers of all threads.
func (s *stopped) registers() error {
	for i := range s.threads {
		t := &s.threads[i]
		var block [1024]byte
		iov := unix.Iovec{Base: &block[0]}
		iov.SetLen(len(block))
		if err := ptrace(unix.PTRACE_GETREGSET, t.id, prstatus, uintptr(unsafe.Pointer(&iov))); err != nil {
			return fmt.Errorf("registers of thread %d: %w", t.id, err)
		}
		t.regs = append([]byte(nil), block[:iov.Len]...)
	}
	return nil
}

// release lets all threads go on, each with the signal that was about to come.
func (s *stopped) release() {
	for i := range s.threads {
		s.threads[i].setBack()
		_ = ptrace(unix.PTRACE_DETACH, s.threads[i].id, 0, uintptr(s.threads[i].signal)) // it may have been killed
	}
	s.threads = nil
}

func ptrace(request, tid int, addr, data uintptr) error {
	if _, _, errno := unix.Syscall6(unix.SYS_PTRACE, uintptr(request), uintptr(tid), addr, data, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

// explain says why a thread cannot be stopped, and what to do about that.
func (s *stopped) explain(tid int, err error) error {
	if !errors.Is(err, unix.EPERM) {
		return fmt.Errorf("process %d, thread %d: %w", s.pid, tid, err)
	}
	status, _ := os.ReadFile(fmt.Sprintf("/proc/%d/task/%d/status", s.pid, tid))
	for line := range strings.Lines(string(status)) {
		name, value, _ := strings.Cut(line, ":")
		if value = strings.TrimSpace(value); name == "TracerPid" && value != "0" {
			return fmt.Errorf("process %d is traced by process %s already, a debugger or strace", s.pid, value)
		} else if name == "State" && strings.HasPrefix(value, "Z") {
			return fmt.Errorf("process %d is a zombie: it has ended, and its parent has not asked for that", s.pid)
		}
	}
	scope, _ := os.ReadFile("/proc/sys/kernel/yama/ptrace_scope")
	if text := strings.TrimSpace(string(scope)); text != "" && text != "0" {
		return fmt.Errorf("process %d: not allowed (kernel.yama.ptrace_scope is %s); be root, or sysctl kernel.yama.ptrace_scope=0", s.pid, text)
	}
	return notAllowed(strconv.Itoa(s.pid))
}

// notAllowed is the error where Linux lets nobody but root look at a process: of another user, or one that has changed its user or
// has said so (prctl(2), PR_SET_DUMPABLE).
func notAllowed(pid string) error {
	return fmt.Errorf("process %s: not allowed; be root, or its owner where it has not raised its rights", pid)
}
