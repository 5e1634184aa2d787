//go:build linux

package e2e_test

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestOutputHarmsNothing: a table that is written to a device, a FIFO, a link or a file of some mode leaves each what it is.
func TestOutputHarmsNothing(t *testing.T) {
	program, dir := command(t), t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	device := in("null")
	if err := syscall.Mknod(device, syscall.S_IFCHR|0o666, 1<<8|3); err != nil || os.WriteFile(device, []byte("x"), 0) != nil {
		device = os.DevNull // only root makes devices, and not everywhere
	}
	if err := errors.Join(syscall.Mkfifo(in("fifo"), 0o620), os.WriteFile(in("file"), []byte("old"), 0o640), os.Symlink("file", in("link"))); err != nil {
		t.Fatal(err)
	}
	kinds := make(map[string]fs.FileMode)
	for _, path := range []string{device, in("fifo"), in("link"), in("file")} {
		st, err := os.Lstat(path)
		if err != nil {
			t.Fatal(err)
		}
		kinds[path] = st.Mode()
	}
	drained := make(chan int64, 1)
	go func() {
		f, err := os.Open(in("fifo"))
		if err != nil {
			return
		}
		defer f.Close()
		n, _ := io.Copy(io.Discard, f)
		drained <- n
	}()
	for path := range kinds {
		if _, talk, exit := run(t, program, "../../testdata/mips-naked/modules", "table", "-o", path, "packer"); exit != 0 {
			t.Errorf("%s: exit code %d, %s", path, exit, talk)
		}
	}
	if n := <-drained; n < 512 {
		t.Errorf("the FIFO's reader had %d bytes", n)
	}
	for path, want := range kinds {
		if st, err := os.Lstat(path); err != nil || st.Mode() != want {
			t.Errorf("%s is a %v: %v", path, st, err)
		}
	}
	if b := read(t, in("link")); len(b) < 512 {
		t.Errorf("behind the link are %d bytes", len(b))
	}
}

// TestSysrootIsAsked: nothing is searched through, where / is the sysroot and a file lies where the capture names it: no
// directory beside it is opened; nor with --no-index, where it lies elsewhere. Without --no-index the directory is.
func TestSysrootIsAsked(t *testing.T) {
	program := command(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	decoy := filepath.Join(dir, "decoy")
	if err := os.Mkdir(decoy, 0o700); err != nil {
		t.Fatal(err)
	}
	place := filepath.Join(dir, "packer")
	if err := os.WriteFile(place, []byte(read(t, "../../testdata/mips-naked/modules/packer")), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		sysroot, image, index string
		opened                bool
	}{{"/", place, "--no-index=false", false}, {dir, "/elsewhere/packer", "--no-index", false}, {dir, "/elsewhere/packer", "--no-index=false", true}} {
		watch, err := syscall.InotifyInit1(syscall.IN_NONBLOCK | syscall.IN_CLOEXEC)
		if err != nil {
			t.Skip(err)
		}
		if _, err := syscall.InotifyAddWatch(watch, decoy, syscall.IN_OPEN); err != nil {
			t.Skip(err)
		}
		capture := filepath.Join(dir, "capture")
		text := fmt.Sprintf(`{"arch":"mips","endian":"big","regs":{"pc":"0x400d2c","sp":"0x7fff0000"},"images":[{"path":%q,"bias":"0"}]}`, c.image)
		if err := os.WriteFile(capture, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		out, talk, _ := run(t, program, dir, "bt", c.index, "--sysroot", c.sysroot, capture)
		events := make([]byte, 1<<12)
		n, _ := syscall.Read(watch, events)
		if err := syscall.Close(watch); err != nil {
			t.Error(err)
		}
		if opened := n > 0; opened != c.opened || strings.Contains(out, "packer") != (c.index != "--no-index") {
			t.Errorf("%s below %s: a directory beside it was opened: %v\n%s%s", c.image, c.sysroot, opened, out, talk)
		}
	}
}

// TestMemoryIsCut: memory whose file is cut while it is read is an error in one line, or is read as far as it was wanted.
func TestMemoryIsCut(t *testing.T) {
	const at, size = 0x20000000, 24 << 20
	words := make([]byte, 0, size)
	for i := range uint32(size / 4) {
		words = binary.BigEndian.AppendUint32(words, at+4*(i*7919%(size/4)))
	}
	path := filepath.Join(t.TempDir(), "ram.bin")
	for range 3 {
		if err := os.WriteFile(path, words, 0o600); err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command(command(t), "bt", "-e", "../../testdata/mips-naked/modules/packer", "--ram", fmt.Sprintf("%s@%#x", path, at))
		var talk bytes.Buffer
		cmd.Stderr = &talk
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan error, 1)
		go func() { ended <- cmd.Wait() }()
		for mapped := false; !mapped && cmd.ProcessState == nil; {
			maps, err := os.ReadFile(fmt.Sprintf("/proc/%d/maps", cmd.Process.Pid))
			mapped = err != nil || len(maps) == 0 || strings.Contains(string(maps), path)
		}
		if err := os.Truncate(path, 4096); err != nil {
			t.Fatal(err)
		}
		<-ended
		says, exit := talk.String(), cmd.ProcessState.ExitCode()
		if exit != 0 && exit != 2 || strings.Contains(says, "goroutine") || exit == 2 && (!strings.Contains(says, path) || strings.Count(says, "\n") != 1) {
			t.Errorf("exit code %d, %q", exit, says)
		}
	}
}

// TestWatchTalking: while a device goes on with a line each tenth of a second, its crash is told, and that --exec failed.
func TestWatchTalking(t *testing.T) {
	no, err := exec.LookPath("false")
	if err != nil {
		t.Skip(err)
	}
	const crash = "Unable to handle kernel paging request at virtual address 00000000\nCPU: 0 PID: 95 Comm: busybox\n" +
		"epc   : 80101234 f+0x4/0x8\nra    : 80101238 g+0x4/0x8\nCall Trace:\n[<80101234>] f+0x4/0x8\n[<80101238>] g+0x4/0x8\n"
	cmd := exec.Command(command(t), "watch", "--exec", no, "-")
	var talk bytes.Buffer
	cmd.Stderr = &talk
	device, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	told, end := make(chan string), make(chan struct{})
	go func() {
		defer close(told)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if strings.Contains(lines.Text(), "#0  0x80101234") {
				told <- lines.Text()
			}
		}
	}()
	go func() {
		defer device.Close()
		_, _ = io.WriteString(device, "boot\n"+crash)
		for {
			select {
			case <-end:
				return
			case <-time.After(100 * time.Millisecond):
				_, _ = io.WriteString(device, "tick\n")
			}
		}
	}()
	select {
	case <-told:
	case <-time.After(time.Minute):
		t.Error("no backtrace while the device goes on talking")
	}
	close(end)
	for range told {
	}
	if err := cmd.Wait(); err != nil || !strings.Contains(talk.String(), "backsight: --exec "+no+": exit status 1\n") {
		t.Errorf("%v, said %q", err, talk.String())
	}
}
