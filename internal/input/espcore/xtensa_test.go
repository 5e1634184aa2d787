package espcore

import (
	"fmt"
	"slices"
	"testing"
)

// window is the note of an Xtensa task, which has a0 and a1 alone beside the PC.
func window(block, pc, a0, a1 uint32) []byte {
	desc := make([]byte, statusRegs+129*4)
	copy(desc[statusProcess:], words(block))
	copy(desc[statusRegs:], words(pc))
	copy(desc[statusRegs+windowAt:], words(a0, a1))
	return note("CORE", noteStatus, desc)
}

// TestWindows: the callers of an Xtensa task are what the windows on its stack say. Below the stack pointer of each function lie its
// caller's a0, whose upper two bits are no address, and a1:
//
//	main   store_fault ◄ app_main ◄ main_task, whose a0 is 0: nothing called it
//	IDLE   a loop: the stack of the second caller does not lie above the first's
func TestWindows(t *testing.T) {
	const top, idle = 0x3ffb_4e00, 0x3ffb_5000
	data := coreOf(machineXtensa, []part{
		{typeNote, 0, append(window(blockMain, 0x400d_0190, 0x800d_0133, top+16), window(blockIdle, 0x4008_5908, 0x8008_6689, idle+16)...)},
		{typeLoad, blockMain, block("main")},
		{typeLoad, blockIdle, block("IDLE")},
		{typeLoad, top, slices.Concat(words(0x800d_023c, top+48, 0, 0), make([]byte, 16), words(0, top+80, 0, 0))},
		{typeLoad, idle, words(0x8008_6689, idle+16, 0, 0)},
		{typeNote, 0, slices.Concat(note("ESP_CORE_DUMP_INFO", noteInfo, append(words(0x102), make([]byte, 68)...)),
			note("ESP_EXTRA_INFO", noteExtra, words(blockMain, regCause, 29, regAddress, 0x14)))},
	})
	snap, err := opened(data, "")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, th := range snap.Threads {
		text := fmt.Sprintf("%s %v:", th.Name, th.Crashed)
		for _, l := range th.Listed {
			text += fmt.Sprintf(" %x %v", l.PC, l.Outermost)
		}
		got = append(got, text)
	}
	want := []string{"main true: 400d0133 false 400d023c true", "IDLE false: 40086689 false"}
	if !slices.Equal(got, want) || snap.Fault.Status != "StoreProhibited: write was refused, at 0x14" || snap.Fault.Address != 0x14 {
		t.Errorf("%q, %+v; want %q", got, snap.Fault, want)
	}
}
