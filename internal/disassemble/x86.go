package disassemble

import (
	"strings"

	"golang.org/x/arch/x86/x86asm"
)

// x86Text is one instruction. The printer takes 32-bit displacements for unsigned, names the
// absent index riz, and leaves out an absolute address of zero.
func x86Text(code []byte, pc uint64, bits int) string {
	insn, err := x86asm.Decode(code, bits)
	if err != nil {
		return ""
	}
	absolute := false
	for i, arg := range insn.Args {
		m, ok := arg.(x86asm.Mem)
		if !ok {
			continue
		}
		if m.Index == 0 {
			m.Scale = 0
		}
		if m.Base != 0 || m.Index != 0 {
			m.Disp = int64(int32(m.Disp))
		}
		absolute = absolute || m.Base == 0 && m.Index == 0 && m.Disp == 0
		insn.Args[i] = m
	}
	text := x86asm.GNUSyntax(insn, pc, nil)
	if absolute {
		text = strings.NewReplacer(" ,", " 0x0,", ":,", ":0x0,").Replace(text)
		if strings.HasSuffix(text, ",") || strings.HasSuffix(text, ":") {
			text += "0x0"
		}
	}
	return text
}
