package dataflow

import (
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
)

// TestTablesInARow: the first table ends where the second begins, though the comparison says
// that it has 128 places: the label of the second has edi on the stack as well. So are the
// tables of i386's memcpy for SSSE3.
func TestTablesInARow(t *testing.T) {
	f := analysis(t, codetest.Program{CPU: "i386", Data: map[uint64][]uint64{0x410000: {0xffff0016, 0xffff0030, 0xffff002c}}, Listing: `
	400000 <f>:
		400000: 53                 push %ebx
		400001: 83 f9 7f           cmp  $127,%ecx
		400004: 77 18              ja   40001e
		400006: e8 35 00 00 00     call 400040
		40000b: 81 c3 f5 ff 00 00  add  $0xfff5,%ebx        the table at 410000
		400011: 03 1c 8b           add  (%ebx,%ecx,4),%ebx
		400014: ff e3              jmp  *%ebx
		400016: 5b                 pop  %ebx
		400017: c3                 ret
		40001e: 57                 push %edi
		40001f: e8 1c 00 00 00     call 400040
		400024: 81 c3 e0 ff 00 00  add  $0xffe0,%ebx        the table at 410004
		40002a: 03 1c bb           add  (%ebx,%edi,4),%ebx
		40002d: ff e3              jmp  *%ebx
		400030: 90                 nop
		400031: 90                 nop
		400032: 90                 nop
		400033: 90                 nop
		400034: 31 c0              xor  %eax,%eax
		400036: 5f                 pop  %edi
		400037: 5b                 pop  %ebx
		400038: c3                 ret
	400040 <__x86.get_pc_thunk.bx>:
		400040: 8b 1c 24           mov  (%esp),%ebx
		400043: c3                 ret`}).Function(at(0x400000))
	check(t, f, map[uint64]string{0x400016: "sp-4", 0x400030: "sp-8", 0x400034: "sp-8", 0x400038: "sp+0"})
	if !f.Balanced || f.Unbalanced {
		t.Errorf("%+v", f.Facts)
	}
}
