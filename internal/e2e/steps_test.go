package e2e_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/evaluate"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/internal/unwind/code"
	"github.com/backsight/backsight/target"
	"github.com/backsight/backsight/unwind"
)

// step is one of framehop's: registers and words of the stack at an instruction, and what the
// caller's registers must be.
type step struct {
	Test, Image, Base, Arch string
	Regs, Stack             map[string]string
	Expect                  map[string]string
}

// TestStepsThroughPrologues: at every instruction of prologues, epilogues and tail calls of real
// programs that Apple's linker made, one step gives the caller's registers.
func TestStepsThroughPrologues(t *testing.T) {
	dir := recorded.Shared(t, "inputs", "apple", "framehop")
	steps, err := os.ReadFile(filepath.Join(dir, "steps.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	images := map[string]*image.Image{}
	n := 0
	for s := bufio.NewScanner(bytes.NewReader(steps)); s.Scan(); n++ {
		var st step
		if err := json.Unmarshal(s.Bytes(), &st); err != nil {
			t.Fatal(err)
		}
		if images[st.Image] == nil {
			images[st.Image] = unpacked(t, filepath.Join(dir, st.Image+".gz"))
		}
		st.check(t, images[st.Image])
	}
	if n < 80 {
		t.Errorf("only %d steps", n)
	}
}

func unpacked(t *testing.T, path string) *image.Image {
	t.Helper()
	packed, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer packed.Close()
	z, err := gzip.NewReader(packed)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	img, err := image.Parse(path, data, backsight.ImageFormats(), image.Options{Archs: backsight.CPUs()})
	if err != nil {
		t.Fatal(err)
	}
	return img
}

// check applies the rule that code analysis has at the step's PC. The words that the steps have
// for return addresses are no code, so that a whole walk would refuse them.
func (st *step) check(t *testing.T, img *image.Image) {
	t.Helper()
	num := func(s string) uint64 { v, _ := strconv.ParseUint(s, 0, 64); return v }
	lo, _ := img.Segments.Bounds()
	var memory target.Builder
	for at, v := range st.Stack {
		memory.Add(num(at), binary.LittleEndian.AppendUint64(nil, num(v)), 0, target.PermRead)
	}
	var regs, caller cpu.Registers
	for name, v := range st.Regs {
		if name == "rip" {
			name = "pc"
		}
		r, ok := img.Arch.RegByName(name)
		if !ok {
			t.Fatalf("no register %s", name)
		}
		regs.Set(r, num(v))
	}
	pc := num(st.Regs["pc"]) + num(st.Regs["rip"]) - num(st.Base) + lo
	q := stackwalk.Query{Image: img, Arch: img.Arch, PC: pc, Resume: pc, Exact: true}
	var rule stackwalk.Rule
	rule.Reset()
	if v := code.New(nil).Rule(&q, &rule); v != unwind.Found {
		t.Errorf("%s at %#x: %v", st.Test, pc, v)
		return
	}
	evaluate.Rule(img.Arch, &rule, &regs, memory.Memory(img.Arch), 1<<47-1, &caller)
	for what, want := range st.Expect {
		name := what
		if what == "return_address" {
			name = "pc"
		}
		r, _ := img.Arch.RegByName(name)
		if got, ok := caller.Lookup(r); !ok || got != num(want) {
			t.Errorf("%s at %#x: %s of the caller is %#x, %t; want %s (%s)", st.Test, pc, what, got, ok, want, rule.Format(img.Arch))
		}
	}
}
