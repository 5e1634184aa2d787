package macho

import (
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/synth/machofile"
)

// FuzzMachO: whatever a file says, reading it ends and never panics.
func FuzzMachO(f *testing.F) {
	whole := machofile.File{Flags: mhPIE, Text: []machofile.Section{machofile.Code("__text", 0x40), machofile.Code("__stubs", 8), {Name: "__unwind_info", Data: make([]byte, 16)}},
		Data:    []machofile.Section{{Name: "__got", Data: machofile.U64(machofile.TextAt, 0, 1<<63), Flags: sNonLazyPointers}},
		Symbols: []machofile.Symbol{sym("_main", nSect|nExt, 1, machofile.TextAt), sym("_abort", nExt, 0, 0)},
		Linkedit: []machofile.Table{{Command: lcFunctionStarts, Data: []byte{0x80, 0x20, 0x10, 0}}, {Command: lcExportsTrie, Data: []byte{0, 1, '_', 0, 5, 3, 0, 0x90, 0x20, 0}},
			{Command: lcDysymtab, Data: machofile.U32(1, 0, indirectLocal)}, {Command: lcDyldInfo, Data: []byte{rebaseSegment | 2, 0, rebaseTimes, 3, 0}},
			{Command: lcDyldInfo | lcReqDyld, Data: []byte{bindSymbol, '_', 'f', 0, bindSegment | 2, 0, bindDoTimesSkipped, 9, 1, 0}}},
		Extra: append(machofile.UUID(1), machofile.Command(lcMain, machofile.U64(0x1000, 0))...), Count: 2}
	f.Add(whole.Bytes())
	whole.Linkedit = append(whole.Linkedit, machofile.Table{Command: lcChainedFixups, Data: append(machofile.U32(0, 28, 60, 68, 2, 1, 0), make([]byte, 64)...)})
	f.Add(machofile.Universal(whole.Bytes()))
	f.Fuzz(func(t *testing.T, data []byte) {
		img, err := image.Parse("fuzz", data, []image.Format{Format()}, options())
		if err != nil {
			return
		}
		defer img.Close()
		img.Symbols.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
			img.Symbols.At(addr)
			return addr%7 != 0
		})
		img.Symbols.FunctionStarts(func(uint64, cpu.Mode) bool { return true })
		img.Rebased(func(uint64) bool { return true })
		img.Symbols.Named("main")
		for _, s := range img.Segments {
			img.Import(s.Addr)
			img.Import(s.Addr + 8)
		}
		img.Sections.Named(".eh_frame")
		img.Sections.Named(".debug_info")
	})
}
