package e2e_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/gdbremote"
	"github.com/backsight/backsight/lab/child"
	"github.com/backsight/backsight/lab/stepper"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/symbol"
)

// machines are QEMU's machines for the processors of testdata/microcontroller (make.sh).
var machines = map[string]string{
	"m3":    "qemu-system-arm -M mps2-an385",
	"m4f":   "qemu-system-arm -M mps2-an386",
	"m33":   "qemu-system-arm -M mps2-an505",
	"a15":   "qemu-system-arm -M virt -nic none -cpu cortex-a15",
	"rv32":  "qemu-system-riscv32 -M virt -bios none",
	"rv64":  "qemu-system-riscv64 -M virt -bios none",
	"malta": "qemu-system-mips -M malta -cpu 24Kf -icount shift=3",
}

// TestRemoteFirmware: a microcontroller that stands at QEMU's GDB server has the backtraces, of the processor and of all
// tasks, that its memory has in files.
func TestRemoteFirmware(t *testing.T) {
	all, err := filepath.Glob("../../testdata/microcontroller/*.elf")
	if err != nil || len(all) < 30 {
		t.Fatalf("%d firmwares, %v", len(all), err)
	}
	if testing.Short() {
		all = all[:1]
	}
	for _, elf := range all {
		t.Run(strings.TrimSuffix(filepath.Base(elf), ".elf"), func(t *testing.T) {
			t.Parallel()
			r := remoteFirmware{elf: elf}
			r.name, r.kernel, _ = strings.Cut(strings.TrimSuffix(filepath.Base(elf), ".elf"), "-")
			r.check(t)
		})
	}
}

type remoteFirmware struct{ elf, name, kernel string }

func (r *remoteFirmware) check(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	files := opened(t, input.FileOptions{Exe: r.elf})
	img, err := files.Open(r.elf)
	if err != nil {
		t.Fatal(err)
	}
	at := func(name string) uint64 {
		s, ok := img.Symbols.Named(name)
		if !ok {
			t.Fatalf("no symbol %s", name)
		}
		return s.Addr
	}
	c := r.start(ctx, t, img.Arch)
	leaf, _ := img.Symbols.Named("leaf")
	size := 4
	if leaf.Mode != 0 || img.Arch.InsnAlign == 2 {
		size = 2
	}
	if err := c.Break(leaf.Addr, size, true); err != nil {
		t.Fatal(err)
	}
	if stop, err := c.Continue(0); err != nil || stop.Signal != gdbremote.Trap {
		t.Fatalf("%+v %v", stop, err)
	}
	dir := t.TempDir()
	env := input.Env{Files: files, Archs: backsight.CPUs(), Formats: backsight.Formats(), Regs: filepath.Join(dir, "regs"),
		RAM: []input.NamedImage{{Path: filepath.Join(dir, "ram"), Bias: at("__ram_start"), Placed: true}}}
	r.dump(t, c, img.Arch, &env, int(at("__ram_end")-at("__ram_start")))
	s, err := backsight.OpenMemory(ctx, env)
	if err != nil {
		t.Fatal(err)
	}
	want := stoppedReport(ctx, t, s)
	if r.name == "m3" && r.kernel == "freertos" {
		r.otherBuild(ctx, t, c, env)
	}
	before := c.Traffic()
	if s, err = c.Stream(ctx, "qemu", &env, gdbremote.Options{}); err != nil {
		t.Fatal(err)
	}
	got := stoppedReport(ctx, t, s)
	if sure, _ := names(&got.Threads[0]); !strings.HasPrefix(strings.Join(sure, " "), chains["read"]) {
		t.Errorf("the processor is in %v", sure)
	}
	r.compare(t, got, want)
	traffic := c.Traffic()
	t.Logf("%d round trips, %d kB", traffic.Trips-before.Trips, (traffic.Bytes-before.Bytes)>>10)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
}

// otherBuild: a binary whose code is not what the machine executes is not used.
func (r *remoteFirmware) otherBuild(ctx context.Context, t *testing.T, c *stepper.Client, env input.Env) {
	t.Helper()
	env.Files = opened(t, input.FileOptions{Exe: strings.Replace(r.elf, "freertos", "threadx", 1)})
	s, err := c.Stream(ctx, "qemu", &env, gdbremote.Options{KeepHalted: true}) // not closed: the connection is used again
	if err != nil {
		t.Fatal(err)
	}
	got := stoppedReport(ctx, t, s)
	if !slices.ContainsFunc(got.Issues, otherBuild) || len(got.Snapshot.Modules) != 0 {
		t.Errorf("by another build: %v", got.Issues)
	}
}

// start runs the firmware up to its beginning.
func (r *remoteFirmware) start(ctx context.Context, t *testing.T, arch *cpu.Arch) *stepper.Client {
	t.Helper()
	words := strings.Fields(machines[r.name])
	if _, err := exec.LookPath(words[0]); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	socket := filepath.Join(dir, "gdb")
	elf, err := filepath.Abs(r.elf)
	if err != nil {
		t.Fatal(err)
	}
	cmd := child.Command(ctx, words[0], append(words[1:], "-nographic", "-monitor", "none", "-serial", "none", "-S", "-gdb", "unix:"+socket+",server=on,wait=off",
		"-semihosting-config", "enable=on,target=native,arg=fw,arg=read,arg=plain", "-kernel", elf)...)
	cmd.Dir = dir
	return serving(ctx, t, cmd, socket, arch)
}

// serving starts an emulator, which has a GDB server at a socket, until the test ends.
func serving(ctx context.Context, t *testing.T, cmd *exec.Cmd, socket string, arch *cpu.Arch) *stepper.Client {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _, _ = cmd.Process.Kill(), cmd.Wait() })
	c, err := stepper.Dial(ctx, "unix:"+socket, arch)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// dump writes what stands there as files: RAM, and the registers as GDB prints them.
func (r *remoteFirmware) dump(t *testing.T, c *stepper.Client, arch *cpu.Arch, env *input.Env, size int) {
	t.Helper()
	ram := make([]byte, size)
	if n, err := c.Memory(env.RAM[0].Bias, ram); n != size || err != nil {
		t.Fatalf("%d bytes of RAM, %v", n, err)
	}
	var regs cpu.Registers
	if err := c.Registers(&regs); err != nil {
		t.Fatal(err)
	}
	var text strings.Builder
	for set := regs.Known; set != 0; set = set.Without(set.First()) {
		fmt.Fprintf(&text, "%s 0x%x\n", arch.RegName(set.First()), regs.Val[set.First()])
	}
	for path, data := range map[string][]byte{env.RAM[0].Path: ram, env.Regs: []byte(text.String())} {
		if err := os.WriteFile(path, data, 0o666); err != nil {
			t.Fatal(err)
		}
	}
}

func stoppedReport(ctx context.Context, t *testing.T, s input.Stream) *report.Report {
	t.Helper()
	snap, err := s.Next(ctx)
	if err != nil {
		t.Fatal(err)
	}
	u, err := backsight.NewUnwinder(backsight.Options{})
	if err != nil {
		t.Fatal(err)
	}
	traces, err := u.Backtraces(ctx, snap)
	if err != nil {
		t.Fatal(err)
	}
	return backsight.Report(ctx, snap, traces, &symbol.Symbolizer{})
}

func (r *remoteFirmware) compare(t *testing.T, got, want *report.Report) {
	t.Helper()
	if got.Snapshot.OS != want.Snapshot.OS || len(got.Threads) != len(want.Threads) || len(got.Threads) < 4 {
		t.Fatalf("%d threads of %q, in files %d of %q", len(got.Threads), got.Snapshot.OS, len(want.Threads), want.Snapshot.OS)
	}
	for i := range got.Threads {
		a, b := addresses(&got.Threads[i], true), addresses(&want.Threads[i], true)
		if !slices.Equal(a, b) || i > 0 && got.Threads[i].Name != want.Threads[i].Name {
			t.Errorf("%s is in %#x, by files %s is in %#x", got.Threads[i].Name, a, want.Threads[i].Name, b)
		}
	}
}
