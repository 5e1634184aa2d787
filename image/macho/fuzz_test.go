package macho

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// FuzzMachO: whatever a file says, reading it ends and never panics.
func FuzzMachO(f *testing.F) {
	whole := built{flags: mhPIE, text: []sec{code("__text", 0x40), code("__stubs", 8), {name: "__unwind_info", data: make([]byte, 16)}},
		data:    []sec{{"__got", u64s(textAt, 0, 1<<63), sNonLazyPointers, 0}},
		symbols: []sym{{"_main", nSect | nExt, 1, 0, textAt}, {"_abort", nExt, 0, 0, 0}},
		linkedit: []linked{{lcFunctionStarts, []byte{0x80, 0x20, 0x10, 0}}, {lcExportsTrie, []byte{0, 1, '_', 0, 5, 3, 0, 0x90, 0x20, 0}},
			{lcDysymtab, u32s(1, 0, indirectLocal)}, {lcDyldInfo, []byte{rebaseSegment | 2, 0, rebaseTimes, 3, 0}},
			{lcDyldInfo | lcReqDyld, []byte{bindSymbol, '_', 'f', 0, bindSegment | 2, 0, bindDoTimesSkipped, 9, 1, 0}}},
		extra: append(uuidCommand(1), command(lcMain, u64s(0x1000, 0))...), ncmds: 2}
	f.Add(whole.bytes())
	whole.linkedit = append(whole.linkedit, linked{lcChainedFixups, append(u32s(0, 28, 60, 68, 2, 1, 0), make([]byte, 64)...)})
	f.Add(universal(whole.bytes()))
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := image.Parse("fuzz", data, []image.Format{Format()}, options())
		if err != nil {
			return
		}
		defer img.Close()
		img.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
			img.SymbolAt(addr)
			return addr%7 != 0
		})
		img.FunctionStarts(func(uint64, cpu.Mode) bool { return true })
		img.Rebased(func(uint64) bool { return true })
		img.SymbolNamed("main")
		for _, s := range img.Segments {
			img.Import(s.Addr)
			img.Import(s.Addr + 8)
		}
		img.Section(".eh_frame")
		img.Section(".debug_info")
	})
}
