package arm

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/cpu"
)

var opNames = [...]string{"nop", "unknown", "clobber", "const", "insert", "move", "addimm", "add", "sub", "orimm", "andimm", "shlimm", "shrimm",
	"or", "load", "store", "loadm", "storem", "leave", "call", "jump", "return", "trap", "syscall", "cmpimm"}

var flagNames = [...]string{"cond", "slot", "likely", "memory", "table", "ret", "exception", "padding", "entry", "signed", "word32",
	"address", "getpc", "sign", "frame"}

// format writes an instruction's effect with every field that is not blank.
func format(in *cpu.Insn) string {
	var b strings.Builder
	b.WriteString(opNames[in.Op])
	for _, f := range []struct {
		name string
		r    cpu.Reg
	}{{"dst", in.Dst}, {"dst2", in.Dst2}, {"src", in.Src}, {"src2", in.Src2}, {"base", in.Base}, {"index", in.Index}} {
		if f.r != cpu.NoReg {
			fmt.Fprintf(&b, " %s=%s", f.name, registers()[f.r].Names[0])
		}
	}
	if in.List != 0 {
		var names []string
		for s := in.List; s != 0; s = s.Without(s.First()) {
			names = append(names, registers()[s.First()].Names[0])
		}
		fmt.Fprintf(&b, " {%s}", strings.Join(names, ","))
	}
	for _, f := range []struct {
		name string
		v    int64
	}{{"scale", int64(in.Scale)}, {"imm", in.Imm}, {"wb", int64(in.WB)}, {"size", int64(in.Size)}} {
		if f.v != 0 {
			fmt.Fprintf(&b, " %s=%d", f.name, f.v)
		}
	}
	if in.Target != 0 || in.TargetMode != 0 {
		fmt.Fprintf(&b, " ->%#x:%d", in.Target, in.TargetMode)
	}
	for i, n := range flagNames {
		if in.Flags>>i&1 != 0 {
			b.WriteString(" " + n)
		}
	}
	return b.String()
}
