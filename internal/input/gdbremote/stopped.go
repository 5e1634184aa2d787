package gdbremote

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// Options say what becomes of the target.
type Options struct {
	// KeepHalted leaves the target as it stands; else it goes on when the stream is closed, unless it
	// stood already.
	KeepHalted bool
}

// Open connects to a server (Dial), and reads what stands there. Closing the stream lets the target go on.
// Errors are *input.Error.
func Open(ctx context.Context, addr string, env *input.Env, opt Options) (input.Stream, error) {
	c, err := Dial(ctx, addr, nil)
	if err != nil {
		return nil, wrong(addr, err)
	}
	s, err := c.Stream(ctx, addr, env, opt)
	if err == nil {
		return s, nil
	}
	if left := errors.Join(c.Leave(opt), c.Close()); left != nil {
		err = fmt.Errorf("%w; %w", err, left)
	}
	return nil, err
}

func wrong(name string, err error) error {
	return &input.Error{Path: name, Offset: -1, Reason: "not read", Err: err}
}

// Stream reads what stands at the server. Closing it leaves the target and ends the connection.
func (c *Client) Stream(ctx context.Context, name string, env *input.Env, opt Options) (input.Stream, error) {
	defer c.until(ctx)()
	p, err := c.stopped(name, env)
	if err != nil {
		return nil, wrong(name, err)
	}
	s, err := env.OpenStopped(ctx, p)
	if err != nil {
		return nil, err
	}
	return &stream{Stream: s, client: c, opt: opt}, nil
}

// stream leaves the target once.
type stream struct {
	input.Stream
	client *Client
	opt    Options
	once   sync.Once
	err    error
}

var _ input.Machine = (*stream)(nil)

// Processes implements input.Machine, of a machine that runs Linux: memory is read while they are looked at.
func (s *stream) Processes(ctx context.Context) ([]*input.Stopped, error) {
	defer s.client.until(ctx)()
	return input.Processes(ctx, s.Stream)
}

func (s *stream) Close() error {
	s.once.Do(func() { s.err = errors.Join(s.Stream.Close(), s.client.Leave(s.opt), s.client.Close()) })
	return s.err
}

// stopped asks for all that a snapshot needs, but for memory.
func (c *Client) stopped(name string, env *input.Env) (*input.Stopped, error) {
	why, err := c.halted()
	if err != nil {
		return nil, err
	}
	if why.Exited {
		return nil, errors.New("no program runs there")
	}
	p := &input.Stopped{Name: name, Memory: pager{c, name}, Auxv: c.object("auxv"), Exec: string(c.object("exec-file"))}
	if len(p.Auxv) == 0 {
		p.Auxv = nil
		c.machine(p)
	} else {
		p.Libraries, p.File = c.libraries(), c.file
	}
	if p.Arch = c.archOf(p, env); p.Arch == nil {
		return nil, fmt.Errorf("the GDB server does not tell the processor (architecture %.40q): name the binary with --exe, or the processor with --arch and --endian", c.description.architecture)
	}
	c.use(p.Arch)
	return p, c.readThreads(p, why)
}

// libraries are those of the dynamic linker's list (library-list-svr4).
func (c *Client) libraries() (list []input.Library) {
	const most = 4096
	_ = eachElement(c.object("libraries-svr4"), func(name, _ string, attr func(string) string) {
		bias, ok := number(attr("l_addr"), 0)
		dynamic, ok2 := number(attr("l_ld"), 0)
		if name == "library" && ok && ok2 && len(list) < most {
			list = append(list, input.Library{Name: attr("name"), Bias: bias, Dynamic: dynamic})
		}
	})
	return list
}

// readThreads reads the registers of all threads; of a server without threads, those of the only one. The
// one that stopped comes first, and is the one whose memory is read.
func (c *Client) readThreads(p *input.Stopped, why Stop) error {
	list, err := c.threads()
	if err != nil {
		return err
	}
	if len(list) == 0 {
		list = []thread{{}}
	}
	first := ""
	for _, t := range list {
		th, err := c.readThread(p, t)
		if refused := (*Refused)(nil); errors.As(err, &refused) && len(list) > 1 {
			continue // it has ended, or the server counts what has no registers
		} else if err != nil {
			return err
		}
		if p.Threads = append(p.Threads, th); t.id == why.Thread || first == "" {
			n := len(p.Threads) - 1
			p.Threads[0], p.Threads[n] = p.Threads[n], p.Threads[0]
			first = t.id
		}
		if process, _, ok := strings.Cut(t.id, "."); ok && c.process == "" {
			if _, pid := t.number(); p.Auxv != nil { // QEMU counts clusters of processors, too
				p.PID = pid
			}
			c.process = strings.TrimPrefix(process, "p")
		}
	}
	if len(p.Threads) == 0 {
		return errors.New("the GDB server tells the registers of no thread")
	}
	if p.Fault = why.fault(strings.HasPrefix(c.arch.Name, "mips")); p.Fault != nil {
		p.Fault.Thread, p.Threads[0].Crashed = p.Threads[0].ID, true
	}
	if first != "" {
		return c.Command("Hg" + first)
	}
	return nil
}

func (c *Client) readThread(p *input.Stopped, t thread) (th target.Thread, err error) {
	if th.ID, _ = t.number(); t.id != "" {
		if err := c.Command("Hg" + t.id); err != nil {
			return th, err
		}
		if th.Name = t.name; th.Name == "" && len(p.Auxv) == 0 {
			th.Name = c.nameOf(t)
		}
	}
	err = c.Registers(&th.Regs)
	return th, err
}

// archOf is the processor: that of the executable, if there is one, else as the headers in the memory of a process
// tell, else as the server describes it, else as the user states.
func (c *Client) archOf(p *input.Stopped, env *input.Env) *cpu.Arch {
	if a := c.mapped(p.Auxv, env.Archs); a != nil {
		return a
	}
	for _, n := range append([]input.NamedImage{{Path: env.Files.Exe()}}, env.Files.Images()...) {
		if n.Path == "" {
			continue
		}
		if img, err := env.Files.Open(n.Path); err == nil {
			return img.Arch
		}
	}
	if raw := env.Files.Raw(); raw != nil {
		return raw
	}
	return c.description.arch(env.Archs)
}

// arch is the processor by the names that GDB has for processors, in the byte order that nearly all of them have.
func (d *description) arch(archs cpu.Set) *cpu.Arch {
	name, abi := d.architecture, ""
	switch {
	case d.micro:
		name, abi = "arm", "cortexm"
	case strings.HasPrefix(name, "i386:x86-64"):
		name = "x86_64"
	case strings.HasPrefix(name, "i386"):
		name = "i386"
	case strings.HasPrefix(name, "arm"):
		name = "arm"
	case name == "riscv:rv32":
		name = "riscv32"
	case name == "riscv:rv64":
		name = "riscv64"
	}
	a, ok := archs.ByName(name, abi, false)
	if !ok || strings.HasPrefix(name, "mips") {
		return nil
	}
	return a
}

// pager reads memory as the current thread sees it.
type pager struct {
	c    *Client
	name string // for messages
}

// ReadPage implements target.Pager.
func (p pager) ReadPage(addr uint64, page []byte) (int, error) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	if err := p.c.translate(true); err != nil {
		return 0, wrong(p.name, err)
	}
	n, err := p.c.Memory(addr, page)
	if err != nil {
		err = wrong(p.name, err)
	}
	return n, err
}

// file is File for who reads while others read memory.
func (c *Client) file(path string, limit int) ([]byte, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.File(path, limit)
}
