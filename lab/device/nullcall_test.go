package device_test

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/internal/synth"
	"github.com/backsight/backsight/internal/synth/codetest"
	form "github.com/backsight/backsight/internal/tables/device"
	"github.com/backsight/backsight/lab/device"
	"github.com/backsight/backsight/target"
)

// calling is a function of RISC-V that calls what a0 points to.
const calling = `
	80000000 <f>:
		80000000: 1141  addi sp,sp,-16
		80000002: c606  sw ra,12(sp)
		80000004: 9502  jalr a0
		80000006: 40b2  lw ra,12(sp)
		80000008: 0141  addi sp,sp,16
		8000000a: 8082  ret`

// TestNullCall: a call through a null pointer is undone by the link register, as Backsight does it. Elsewhere
// outside all code the walk ends, and so does it where the link register leads to no code.
func TestNullCall(t *testing.T) {
	if !device.Available() {
		t.Skip("no C compiler")
	}
	img := codetest.Program{CPU: "riscv32 ilp32", Listing: calling}.Image(t)
	rules, err := backsight.ListRules(t.Context(), img)
	if err != nil {
		t.Fatal(err)
	}
	table, _, err := form.Encode(rules)
	if err != nil {
		t.Fatal(err)
	}
	program, file := filepath.Join(t.TempDir(), "reader"), filepath.Join(t.TempDir(), "table")
	if err := os.WriteFile(file, table, 0o644); err != nil {
		t.Fatal(err)
	}
	if err := device.Build(t.Context(), "../../device", program, img.Arch); err != nil {
		t.Fatal(err)
	}
	r, err := device.Start(t.Context(), program, file, img)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	const stack = 0x90000000
	memory := synth.Stack(img.Arch).Zero(12).Word(0).Place(stack)
	for _, c := range []struct {
		pc, ra uint64
		want   []uint64
	}{
		{0, 0x80000006, []uint64{0, 0x80000006}},
		{8, 0x80000006, []uint64{8, 0x80000006}},
		{0, 0x70000000, []uint64{0}},
		{0x70000000, 0x80000006, []uint64{0x70000000}},
	} {
		snap := synth.Capture(img.Arch, nil, memory)
		regs := synth.Regs(img.Arch, map[string]uint64{"pc": c.pc, "ra": c.ra, "sp": stack})
		got, _, err := r.Walk(snap, &target.Thread{Regs: *regs})
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("pc %#x, ra %#x: %x, %v; want %x", c.pc, c.ra, got, err, c.want)
		}
	}
}
