package gdbremote

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/backsight/backsight/cpu"
)

// Dial connects to a server: HOST:PORT, unix:PATH, the path of a serial device, or |COMMAND, whose standard
// input and output are the connection. arch is the program's, nil where it is not known.
func Dial(ctx context.Context, addr string, arch *cpu.Arch) (*Client, error) {
	rw, err := connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	return New(ctx, rw, arch)
}

func connect(ctx context.Context, addr string) (Transport, error) {
	if command, ok := strings.CutPrefix(addr, "|"); ok {
		return run(command)
	}
	if path, ok := strings.CutPrefix(addr, "unix:"); ok {
		return dial(ctx, "unix", path)
	}
	if st, err := os.Stat(addr); err == nil && st.Mode()&os.ModeCharDevice != 0 {
		return os.OpenFile(addr, os.O_RDWR|notWaiting, 0)
	}
	if strings.HasPrefix(addr, ":") {
		addr = "localhost" + addr
	}
	if _, _, err := net.SplitHostPort(addr); err != nil {
		return nil, fmt.Errorf("%q is neither HOST:PORT, unix:PATH, a serial device nor |COMMAND", addr)
	}
	return dial(ctx, "tcp", addr)
}

func dial(ctx context.Context, network, addr string) (Transport, error) {
	d := net.Dialer{Timeout: DefaultPatience}
	return d.DialContext(ctx, network, addr)
}

// pipe is a command whose standard input and output are a connection.
type pipe struct {
	in, out *os.File // what the command prints, and reads
	cmd     *exec.Cmd
}

// run starts a command by the shell, as GDB's "target remote |" does.
func run(command string) (Transport, error) {
	theirIn, out, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	in, theirOut, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, theirIn.Close(), out.Close())
	}
	p := &pipe{in: in, out: out, cmd: exec.Command("sh", "-c", command)}
	p.cmd.Stdin, p.cmd.Stdout, p.cmd.Stderr = theirIn, theirOut, os.Stderr
	err = p.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	return p, nil
}

func (p *pipe) Read(b []byte) (int, error)  { return p.in.Read(b) }
func (p *pipe) Write(b []byte) (int, error) { return p.out.Write(b) }

func (p *pipe) SetDeadline(t time.Time) error {
	return errors.Join(p.in.SetReadDeadline(t), p.out.SetWriteDeadline(t))
}

// grace is how long a command may take to end after its input has ended.
const grace = 3 * time.Second

// Close ends the command: by the end of its input, else by a signal.
func (p *pipe) Close() error {
	err := errors.Join(p.in.Close(), p.out.Close())
	kill := time.AfterFunc(grace, func() { _ = p.cmd.Process.Kill() })
	defer kill.Stop()
	_ = p.cmd.Wait() // how it ends is its own affair
	return err
}
