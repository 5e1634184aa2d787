//go:build linux

package gcore

import (
	"encoding/binary"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/procfs"
)

// Of makes a core of a process. The process goes on as soon as its stacks are copied, or with Options.Freeze when the core is released.
func Of(pid int, opt Options) (*Core, error) {
	type made struct {
		core *Core
		err  error
	}
	done, end, gone := make(chan made), make(chan struct{}), make(chan struct{})
	go func() {
		runtime.LockOSThread() // the thread that traces; its end lets go what it still traces
		core, s, err := of(pid, opt)
		done <- made{core, err}
		<-end
		s.letGo()
		close(gone)
	}()
	m := <-done
	release := sync.OnceFunc(func() {
		close(end)
		<-gone
	})
	if m.err != nil || !opt.Freeze {
		release()
		return m.core, m.err
	}
	m.core.release = release
	return m.core, nil
}

// of makes a core, and returns the threads that still stand.
func of(pid int, opt Options) (*Core, *stopped, error) {
	dir := "/proc/" + strconv.Itoa(pid)
	live := procfs.Living(dir)
	b, err := builderOf(dir, live, opt.Archs)
	if err != nil {
		return nil, &stopped{}, err
	}
	mem, err := os.Open(live + "/mem")
	if err != nil {
		return nil, &stopped{}, notAllowed(filepath.Base(dir))
	}
	defer mem.Close()
	read := &memory{ReaderAt: mem}
	words := b.words(read)
	var runtimes []uint64
	if maps, err := procfs.Maps(live); err == nil { // which takes no time of the process
		runtimes = b.golang(words, maps, opt.total())
	}
	b.auxv, _ = os.ReadFile(live + "/auxv")
	waits := procfs.Waits(dir) // stopped, all wait for us
	start := time.Now()
	s, err := stop(pid)
	if err == nil {
		err = s.registers()
	}
	if err != nil {
		return nil, s, err
	}
	if b.maps, err = procfs.Maps(live); err != nil {
		return nil, s, fmt.Errorf("process %d: its mappings cannot be read", pid)
	}
	b.threads = s.threads
	b.pieces = stacks(b.maps, b.sps(), &opt, opt.total())
	fill(pid, mem, b.pieces, nil)
	signalled := stacks(b.maps, b.interrupted(), &opt, opt.total())
	fill(pid, mem, signalled, nil)
	read.forget()
	more := b.goroutines(words, runtimes, opt.total())
	fill(pid, mem, more, b.room)
	if !opt.Freeze {
		s.release()
	}
	core := &Core{Stopped: time.Since(start), Missed: len(s.late), Threads: procfs.ThreadNames(dir), Waits: waits}
	read.forget()
	last := append(rest(b.maps, b.sps(), opt.total()), b.registered(read, b.maps)...)
	fill(0, mem, last, nil) // of a process that has gone on, and may be another by now
	b.pieces = apart(slices.Concat(b.pieces, signalled, more, last))
	core.parts = b.core(b.notes())
	return core, s, nil
}

// builderOf begins a core of the process at dir, whose program, in the folder live, tells class, byte order and processor.
func builderOf(dir, live string, archs cpu.Set) (*builder, error) {
	f, err := os.Open(live + "/exe")
	pid := filepath.Base(dir)
	switch {
	case err == nil:
		defer f.Close()
	case os.IsPermission(err):
		return nil, notAllowed(pid)
	default:
		if _, err := os.Stat(dir); err != nil {
			return nil, fmt.Errorf("process %s: not found", pid)
		}
		return nil, fmt.Errorf("process %s has no program: a thread of the kernel, or a zombie", pid)
	}
	ident := make([]byte, identSize)
	n, _ := f.ReadAt(ident, 0)
	b, err := identified(ident[:n], archs)
	if err != nil {
		return nil, fmt.Errorf("process %s: its program is %w", pid, err)
	}
	return b, nil
}

// identified begins a core by the head of an ELF file, which tells class, byte order and processor.
func identified(ident []byte, archs cpu.Set) (*builder, error) {
	if len(ident) < identSize || string(ident[:4]) != "\x7fELF" {
		return nil, errors.New("no ELF file")
	}
	b := &builder{ident: ident, order: binary.LittleEndian, wide: ident[4] == 2}
	if ident[5] == 2 {
		b.order = binary.BigEndian
	}
	arch, ok := archs.ByELF(b.order.Uint16(ident[machineAt:]), ident[4], ident[5] == 2, b.order.Uint32(ident[b.flagsAt():]), 0)
	if !ok {
		return nil, errors.New("of a processor that is not supported")
	}
	b.arch = arch
	return b, nil
}

// registers are those of a thread.
func (b *builder) registers(i int) cpu.Registers {
	return b.arch.Read(b.arch.Layouts[cpu.LinuxPrstatus], b.threads[i].regs)
}

// sps are the stack pointers.
func (b *builder) sps() (list []uint64) {
	for i := range b.threads {
		regs := b.registers(i)
		if sp, ok := regs.Lookup(b.arch.SP); ok {
			list = append(list, sp)
		}
	}
	return list
}
