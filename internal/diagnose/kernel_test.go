package diagnose

import (
	"strings"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/report"
	"github.com/backsight/backsight/target"
)

// TestKernel: what a Linux kernel says of a bad access, and what is made of that.
func TestKernel(t *testing.T) {
	oops := func(addr uint64) target.Fault {
		return target.Fault{Name: "BUG: unable to handle page fault", Address: addr, HasAddress: true, Thread: 1}
	}
	add := []byte{0x03, 0x78, 0x10} // add 16(%rax),%edi
	store := []byte{0x89, 0x38}     // mov %edi,(%rax)
	const freed = 0x6b6b6b6b6b6b6b6b
	for _, tt := range []struct {
		name  string
		insn  []byte
		regs  map[string]uint64
		fault target.Fault
		kind  string
		says  string
	}{
		{"NULL", add, map[string]uint64{"rax": 0}, oops(0x10), report.CrashNullPointer, "the kernel reads from 0x10 through a pointer that is NULL"},
		{"NULL, as a number", []byte{0xc7, 0x04, 0x25, 0, 0, 0, 0, 1, 0, 0, 0}, map[string]uint64{"rsp": 0xffffc900005aff60}, oops(0), report.CrashNullPointer, "the kernel writes to 0x0 through a pointer that is NULL"}, // movl $1,0
		{"NULL, by registers of a later moment", add, map[string]uint64{"rax": freed}, oops(0x10), report.CrashNullPointer, "the kernel accesses 0x10 through a pointer that is NULL"},
		{"NULL call", nil, map[string]uint64{"rip": 0}, oops(0), report.CrashNullCall, "a function pointer that is NULL was called"},
		{"freed", add, map[string]uint64{"rax": freed}, target.Fault{Name: "general protection fault", Thread: 1}, report.CrashPoison,
			"reads from 0x6b6b6b6b6b6b6b7b, through a pointer that is of freed memory"},
		{"off its list", store, map[string]uint64{"rax": 0xdead000000000122}, oops(0xdead000000000122), report.CrashPoison,
			"writes to 0xdead000000000122, through a pointer that is 0xdead000000000122, of an entry that was taken off its list"},
		{"a member of such an entry", nil, nil, oops(0xdead000000000108), report.CrashPoison, "taken off its list"},
		{"an error code", add, map[string]uint64{"rax": 0xfffffffffffffff4}, oops(4), report.CrashErrorPointer, "through a pointer that is the error code -12"},
		{"not canonical", add, map[string]uint64{"rax": 0x4141414141414141}, target.Fault{Name: "general protection fault", Thread: 1}, "",
			"reads from 0x4141414141414151, no address that this processor can translate"},
		{"user space", store, map[string]uint64{"rax": 0x7f0012345678}, oops(0x7f0012345678), "", "writes to 0x7f0012345678, in the half of user space"},
		{"the kernel's half", store, map[string]uint64{"rax": 0xffff888012345678}, oops(0xffff888012345678), "", "writes to 0xffff888012345678"},
		{"stack overflow", nil, nil, target.Fault{Name: "BUG: TASK stack guard page was hit", Address: 0xffffc900005aff60, HasAddress: true, Thread: 1}, report.CrashStackOverflow, "0xffffc900005aff60"},
		{"division", nil, nil, target.Fault{Name: "divide error", Thread: 1}, report.CrashDivisionByZero, ""},
		{"a message alone", nil, nil, target.Fault{Name: "kernel BUG", Thread: 1}, "", ""},
	} {
		snap, th := crashed(t, archNamed(t, "x86_64"), tt.insn, tt.regs, tt.fault)
		c := Crash(snap, th)
		if says := strings.Join(c.Reasons, "; "); c.Kind != tt.kind || !strings.Contains(says, tt.says) || says == "" != (tt.says == "") {
			t.Errorf("%s: kind %q, reasons %q; want %q, %q", tt.name, c.Kind, c.Reasons, tt.kind, tt.says)
		}
	}
}

// TestPoison32: on 32 bits, what list_del leaves is told by the pointer alone: 0x104 may lie behind NULL as well.
func TestPoison32(t *testing.T) {
	arch, ok := cpu.Set(mips.Archs()).ByName("mips", "o32", false)
	if !ok {
		t.Fatal("no mips")
	}
	for _, tt := range []struct {
		pointer uint64
		exact   bool
		want    string
	}{
		{0x100, true, "taken off its list"}, {0x100, false, ""}, {0x104, true, ""}, {0x6b6b6b93, false, "freed memory"}, {0x5a5a5a5a, true, "never written"}, {0x81000000, true, ""},
	} {
		if got := poison(tt.pointer, arch, tt.exact); !strings.Contains(got, tt.want) || got == "" != (tt.want == "") {
			t.Errorf("%#x, exact %v: %q", tt.pointer, tt.exact, got)
		}
	}
}
