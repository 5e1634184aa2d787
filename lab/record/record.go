// Package record makes truth: it runs a program under QEMU's GDB server, steps it
// instruction by instruction from main, keeps a shadow call stack, and writes
// captures of well-spread places with their true call chains.
//
//	qemu ◄─ step ─ recorder ─► shadow stack ─► kind of place ─► sample ─► snaps, truth
package record

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/input/gdbremote"
	"github.com/backsight/backsight/internal/stepping"
	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/stepper"
	"github.com/backsight/backsight/lab/truth"
)

// Job is one program to record.
type Job struct {
	// ELF has symbols and call frame information; nothing of either goes into the
	// captures.
	ELF  string
	Prog string
	// Emulator is QEMU with its arguments. System: a whole machine, not a process.
	Emulator []string
	System   bool
	// Steps bounds the instructions executed, Keep the captures.
	Steps, Keep int
	// Args are the program's arguments.
	Args []string
	// Sampled, if set, is told of each sample while the program stands there.
	Sampled func(server *gdbremote.Client, s *truth.Snapshot) error
}

// Recording is what a job gave.
type Recording struct {
	Steps, Odd int
	snaps      []*truth.Snapshot
	answers    []truth.Answer
}

// Captures is how many there are.
func (r *Recording) Captures() int { return len(r.snaps) }

// Write makes the two files of a case in dir.
func (r *Recording) Write(dir string) error { return truth.Write(dir, r.snaps, r.answers) }

// Run records one program.
func Run(ctx context.Context, job Job) (*Recording, error) {
	img, err := elf.Open(job.ELF, image.Options{Archs: backsight.CPUs()})
	if err != nil {
		return nil, err
	}
	defer img.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	client, wait, err := start(ctx, &job, img.Arch)
	if err != nil {
		return nil, err
	}
	defer func() {
		client.Close()
		cancel()
		wait()
	}()
	r := newRecorder(&job, img, client)
	if err := r.toMain(); err != nil {
		return nil, err
	}
	err = r.run(ctx)
	return &r.Recording, err
}

// start runs QEMU and connects to it. wait reaps it once ctx is done.
func start(ctx context.Context, job *Job, arch *cpu.Arch) (*stepper.Client, func(), error) {
	dir, err := os.MkdirTemp("", "record")
	if err != nil {
		return nil, nil, err
	}
	socket := filepath.Join(dir, "gdb")
	args := append([]string(nil), job.Emulator[1:]...)
	if job.System {
		args = append(args, "-S", "-gdb", "unix:"+socket+",server=on,wait=off", "-kernel", job.ELF)
	} else {
		args = append(args, "-seed", "1", "-g", socket, job.ELF)
		args = append(args, job.Args...)
	}
	cmd := child.Command(ctx, job.Emulator[0], args...)
	cmd.Env = []string{}
	if err := cmd.Start(); err != nil {
		os.RemoveAll(dir)
		return nil, nil, err
	}
	wait := func() {
		cmd.Wait() // it was killed
		os.RemoveAll(dir)
	}
	dial, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	client, err := stepper.Dial(dial, "unix:"+socket, arch)
	if err != nil {
		cmd.Process.Kill()
		wait()
	}
	return client, wait, err
}

// recorder is a job at work.
type recorder struct {
	Recording
	job    *Job
	img    *image.Image
	arch   *cpu.Arch
	client *stepper.Client
	kinds  *kinds
	shadow shadow
	pick   picker
	regs   cpu.Registers
	was    moment
	// top is the end of the stack that is captured: main's CFA and a little more.
	top uint64
}

func newRecorder(job *Job, img *image.Image, client *stepper.Client) *recorder {
	function := func(pc uint64) uint64 {
		s, _ := img.Symbols.At(pc)
		return s.Addr
	}
	return &recorder{job: job, img: img, arch: img.Arch, client: client, kinds: newKinds(img),
		shadow: shadow{arch: img.Arch, function: function}, pick: picker{keep: job.Keep}}
}

// beyondMain is how much of the stack above main is captured: the frames of its
// callers, to _start.
const beyondMain = 1024

// toMain runs up to main and makes it the first activation.
func (r *recorder) toMain() error {
	main, ok := r.img.Symbols.Named("main")
	if !ok {
		return errors.New("the program has no symbol main")
	}
	if err := r.to(main.Addr, main.Mode, &r.was); err != nil {
		return fmt.Errorf("main is not reached: %w", err)
	}
	e := entry{ret: r.shadow.left(&r.was, r.word), cfa: r.was.sp + uint64(r.arch.EntryCFA), start: main.Addr}
	r.shadow.entries = append(r.shadow.entries, e)
	r.top = e.cfa + beyondMain
	return nil
}

// to lets the program run to a place.
func (r *recorder) to(pc uint64, mode cpu.Mode, m *moment) error {
	kind := int(r.arch.InsnAlign)
	if r.arch.ISABit && mode == 0 || !r.arch.ISABit && kind > 1 {
		kind = 4
	}
	if err := r.client.Break(pc, kind, true); err != nil {
		return err
	}
	stop, err := r.client.Continue(0)
	if err != nil || stop.Exited || stop.Signal != gdbremote.Trap {
		return fmt.Errorf("stopped by %+v: %w", stop, err)
	}
	if err := r.client.Break(pc, kind, false); err != nil {
		return err
	}
	if err := r.look(m); err != nil {
		return err
	}
	if m.pc != pc {
		return fmt.Errorf("stopped at %#x, not at %#x", m.pc, pc)
	}
	return nil
}

// look reads the machine's state into m.
func (r *recorder) look(m *moment) error {
	if err := r.client.Registers(&r.regs); err != nil {
		return err
	}
	var ok bool
	if m.pc, m.mode, ok = r.arch.PCOf(&r.regs); !ok {
		return errors.New("the server does not tell the PC")
	}
	m.sp = r.regs.Val[r.arch.SP] & r.arch.AddrMask()
	if !r.arch.CallPushesRA {
		m.lr = r.regs.Val[r.arch.LR] & r.arch.AddrMask()
	}
	r.decode(m)
	return nil
}

// decode finds the instruction at the PC and what is behind its delay slot.
func (r *recorder) decode(m *moment) {
	var buf [2]cpu.Insn
	n := r.arch.Decoder.Decode(r.code(m.pc), m.pc, m.mode, buf[:])
	m.insn, m.next = cpu.Insn{}, m.pc
	if n == 0 {
		return
	}
	step := stepping.StepOf(buf[:n], m.pc)
	m.insn, m.next = *step.In, step.Next
}

// code is the bytes at pc: the program's, or (signal trampolines) the machine's.
func (r *recorder) code(pc uint64) []byte {
	if b := r.img.Segments.Code(pc); b != nil {
		return b
	}
	buf := make([]byte, 16)
	n, _ := r.client.Memory(pc, buf)
	return buf[:n]
}

// word reads a word of the stack, 0 where there is none.
func (r *recorder) word(addr uint64) uint64 {
	var buf [8]byte
	size := r.arch.AddrSize
	if n, _ := r.client.Memory(addr, buf[:size]); n < size {
		return 0
	}
	var v uint64
	for i := range size {
		if r.arch.BigEndian {
			v = v<<8 | uint64(buf[i])
		} else {
			v |= uint64(buf[i]) << (8 * i)
		}
	}
	return v
}
