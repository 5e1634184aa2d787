package code_test

import (
	"fmt"
	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image/elf"
	"github.com/backsight/backsight/unwind"
	"github.com/backsight/backsight/unwind/code"
	"os"
	"strconv"
	"testing"
)

// scratch
func TestDbg(t *testing.T) {
	img, err := elf.Open(os.Getenv("IMG"), elf.Options{Archs: backsight.CPUs()})
	if err != nil {
		t.Skip(err)
	}
	pc, _ := strconv.ParseUint(os.Getenv("PC"), 0, 64)
	m, _ := strconv.Atoi(os.Getenv("MODE"))
	q := unwind.Query{Image: img, Arch: img.Arch, PC: pc, Resume: pc, Exact: os.Getenv("RET") == "", Mode: cpu.Mode(m)}
	if !q.Exact {
		q.PC--
	}
	e := code.New(nil).Explain(&q)
	for _, f := range e.Forward {
		r := f.Rule
		fmt.Printf("fwd %#x-%#x %s blocks %d reached %v complete %v bal %v unbal %v: %v %s\n", f.Entry, f.End, f.Origin, f.Blocks, f.Reached, f.Complete, f.Balanced, f.Unbalanced, f.HasRule, r.Format(img.Arch))
	}
	for _, x := range e.Exits {
		fmt.Printf("exit calls %d tail %v conf %v %s\n", x.Calls, x.Tail, x.Confirmed, x.Rule.Format(img.Arch))
	}
	for _, r := range e.Rules {
		fmt.Printf("rule %s %b\n", r.Format(img.Arch), r.Flags)
	}
	fmt.Println("outermost", e.Outermost)
}
