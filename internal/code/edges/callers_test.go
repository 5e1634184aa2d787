package edges

import (
	"fmt"
	"testing"

	"github.com/backsight/backsight/internal/synth/codetest"
	"github.com/backsight/backsight/target"
)

// driver is a module for MIPS, which calls functions through registers (-mlong-calls). For mid, the lower
// half of whose address stands behind a branch, start has the upper half in that branch's delay slot; leaf
// is called by mid and in start's other way; handler's address is handed on as well; write is in a
// table; last jumps to tail; plain is called directly, and the address of a string ends as plain's does;
// the upper half of pieces' address is copied before the lower is added.
var driver = codetest.Program{CPU: "mips o32 big", Listing: `
	400000 <first>:
	400008 <leaf>:
	400010 <mid>:
	400030 <handler>:
	400040 <write>:
	400050 <tail>:
	400058 <pieces>:
	400060 <plain>:
	400070 <start>:
	4000e0 <last>:
	4000e8 <halves>:
		400000: 03e00008  jr    ra
		400004: 00000000  nop
		400008: 03e00008  jr    ra
		40000c: 00000000  nop
		400010: 27bdffe8  addiu sp,sp,-24
		400014: afbf0014  sw    ra,20(sp)
		400018: 3c020040  lui   v0,0x40
		40001c: 24420008  addiu v0,v0,8
		400020: 0040f809  jalr  v0
		400024: 00000000  nop
		400028: 1000ffff  b     400028
		40002c: 00000000  nop
		400030: 03e00008  jr    ra
		400034: 00000000  nop
		400040: 03e00008  jr    ra
		400044: 00000000  nop
		400050: 03e00008  jr    ra
		400054: 00000000  nop
		400058: 03e00008  jr    ra
		40005c: 00000000  nop
		400060: 03e00008  jr    ra
		400064: 00000000  nop
		400070: 27bdffe8  addiu sp,sp,-24
		400074: afbf0014  sw    ra,20(sp)
		400078: 1080000d  beqz  a0,4000b0
		40007c: 3c020040  lui   v0,0x40
		400080: 24420008  addiu v0,v0,8
		400084: 0040f809  jalr  v0
		400088: 00000000  nop
		40008c: 3c020040  lui   v0,0x40
		400090: 24420030  addiu v0,v0,48
		400094: 0040f809  jalr  v0
		400098: 00000000  nop
		40009c: 3c040040  lui   a0,0x40
		4000a0: 0c100018  jal   400060
		4000a4: 24840030  addiu a0,a0,48
		4000a8: 1000ffff  b     4000a8
		4000ac: 00000000  nop
		4000b0: 24420010  addiu v0,v0,16
		4000b4: 0040f809  jalr  v0
		4000b8: 00000000  nop
		4000bc: 1000ffff  b     4000bc
		4000c0: 00000000  nop
		4000e0: 08100014  j     400050
		4000e4: 00000000  nop
		4000e8: 3c020040  lui   v0,0x40
		4000ec: 00402025  move  a0,v0
		4000f0: 24840058  addiu a0,a0,88
		4000f4: 3c020041  lui   v0,0x41
		4000f8: 24420060  addiu v0,v0,96
		4000fc: 03e00008  jr    ra
		400100: 00000000  nop`,
	Data: map[uint64][]uint64{0x410000: {0, 0x400040, 0}}}

// TestCallers: the calls of a function are known where nothing else leads there.
func TestCallers(t *testing.T) {
	m := &target.Module{Image: driver.Image(t), Bias: 0x1000_0000}
	for name, c := range map[string]struct {
		pc   uint64
		want string
	}{
		"through registers":                    {0x400008, "[10400028 1040008c] true"},
		"upper half in a delay slot":           {0x400018, "[104000bc] true"},
		"directly":                             {0x400060, "[104000a8] true"},
		"the address is built in pieces":       {0x400058, "[] false"},
		"its address is handed on as well":     {0x400034, "[1040009c] false"},
		"a table has the address":              {0x400044, "[] false"},
		"another function jumps there":         {0x400054, "[] false"},
		"outside of the code nothing is known": {0x300000, "[] false"},
	} {
		calls := New(nil).Callers(nil, m, c.pc+m.Bias, 0)
		if got := fmt.Sprintf("%x %v", calls.Returns, calls.All); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
	if calls := New(nil).Callers(nil, nil, 0x400000, 0); len(calls.Returns) > 0 || calls.All {
		t.Errorf("without a module: %+v", calls)
	}
}

// TestCallersElsewhere: nothing follows from no pointer being found where the image holds none before a loader
// has written them.
func TestCallersElsewhere(t *testing.T) {
	p := driver
	p.Data = map[uint64][]uint64{0x410000: {0, 0, 0}}
	if New(nil).Callers(nil, &target.Module{Image: p.Image(t)}, 0x400060, 0).All {
		t.Error("all calls are known")
	}
}
