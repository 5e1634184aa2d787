package kernellog

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/cpu/riscv"
	"github.com/backsight/backsight/internal/cpu/x86"
	"github.com/backsight/backsight/internal/input/console"
	"github.com/backsight/backsight/target"
)

// TestMachineByForm: where neither registers nor the kernel's release tell the processor, the way does in which the report is
// written.
func TestMachineByForm(t *testing.T) {
	const head = "CPU: 0 PID: 7 Comm: sh Not tainted 6.1.0-toy #1\n"
	for _, c := range []struct{ name, log, want string }{
		{"pairs", "INFO: task sh:7 blocked for more than 120 seconds.\n[<c0010000>] (leaf) from [<c0020010>] (mid+0x10/0x20)", "arm"},
		{"the instruction set", "Internal error: Oops: 5 [#1] PREEMPT SMP ARM\n" + head + "PC is at leaf+0x4/0x20\nLR is at mid+0x4/0x20", "arm"},
		{"Thumb", "Internal error: Oops: 5 [#1] THUMB2\n" + head + "PC is at leaf+0x4/0x20\nLR is at mid+0x4/0x20", "arm"},
		{"ARM's header since Linux 5.14", head + "Call trace:\n leaf from mid+0x10/0x20\n mid from top+0x10/0x20", "arm"},
		{"the PC by its name", "Internal error: Oops: 96000004 [#1] SMP\npc : leaf+0x68/0xb0\nlr : mid+0x64/0xb0", "aarch64"},
		{"arm64's header", head + "Call trace:\n leaf+0x68/0xb0\n mid+0x64/0xb0", "aarch64"},
		{"arm64's addresses", head + "Call trace:\n[<ffffffc000563cbc>] leaf+0x68/0xb0", "aarch64"},
		{"SuperH's addresses", head + "Call trace:\n[<8c002564>] leaf+0x68/0xb0", "unknown"},
		{"others' header", head + "Call Trace:\n leaf+0x68/0xb0", "unknown"},
		{"a register that is said", head + "PC is at leaf+0x4/0x20\nLR is at mid+0x4/0x20", "unknown"},
	} {
		got := ""
		if s := snapshots(t, c.log); len(s) > 0 {
			got = s[0].Arch.Name
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// TestBeginsAtPC: a log that somebody cut out from where the processor stood on has the registers, and the panic that followed.
func TestBeginsAtPC(t *testing.T) {
	const log = `pstate: a04000c9 (NzCv daIF +PAN -UAO -TCO -DIT -SSBS BTYPE=--)
pc : leaf+0x14/0x2c
lr : mid+0xa4/0xdc
sp : ffffffc01092b6a0
x29: ffffffc01092b6a0 x28: 0000000000000028 x27: 0000000000000038
Kernel panic - not syncing: Asynchronous SError Interrupt
CPU: 7 PID: 38 Comm: sh Not tainted 5.19.0-toy #19
Call trace:
 panic+0x14c/0x32c
 do_serror+0x40/0x64
 el1h_64_error+0x68/0x6c
 leaf+0x14/0x2c
 el0t_64_sync+0x190/0x194
`
	want := "stack|leaf! mid\npanic: CPU 7 PID 38 sh|panic do_serror el1h_64_error leaf! el0t_64_sync.\n"
	if got := threadsOf(t, log); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
}

// TestStatedMachine: where the log does not tell, the user's word does; a processor that is not supported is refused by its name.
func TestStatedMachine(t *testing.T) {
	const log = "INFO: task sh:7 blocked for more than 120 seconds.\nCall Trace:\n [<ffffffff839560e2>] schedule+0x92/0x1b0\n [<ffffffff82f99187>] rtnl_lock+0x17/0x20\n"
	open := func(log, arch string) (*target.Snapshot, error) {
		archs := append(cpu.Set(x86.Archs()), riscv.Archs()...)
		raw, _ := archs.ByName(arch, "", false)
		env := &input.Env{Archs: archs, Files: input.NewFiles(input.FileOptions{Archs: archs, Raw: raw})}
		s, err := console.Format(Reader()).Open(t.Context(), input.NewCapture("log", []byte(log)), env)
		if err != nil {
			return nil, err
		}
		return s.Next(t.Context())
	}
	if snap, err := open(log, "x86_64"); err != nil || snap.Arch.Name != "x86_64" || len(snap.Threads[0].Listed) != 2 {
		t.Errorf("stated: %v, %v", snap, err)
	}
	if snap, err := open(log, ""); err != nil || snap.Arch.Name != "unknown" || len(snap.Threads[0].Listed) != 2 || !strings.Contains(snap.Issues[0].Text, "--arch") {
		t.Errorf("not stated: %v", err)
	}
	loong := "Oops[#1]:\nCPU: 0 PID: 7 Comm: sh Not tainted 6.6.0 #1\npc 9000000000223b54 ra 9000000000223b50 tp 9000000100a44000 sp 9000000100a47c50\n" +
		"a0 0000000000000004 a1 0000000000000001\n CRMD: 000000b0 (PLV0 -IE -DA +PG)\nCall Trace:\n[<9000000000223b54>] leaf+0x14/0x40\n"
	if _, err := open(loong, ""); err == nil || !strings.Contains(err.Error(), "LoongArch, a processor that is not supported") {
		t.Errorf("LoongArch: %v", err)
	}
}
