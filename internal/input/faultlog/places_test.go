package faultlog

import (
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/backsight/backsight/target"
)

// TestMoved: binaries lie where a report says: by the PC as it was linked, by the base of the one that has the name, or of the only
// one.
func TestMoved(t *testing.T) {
	pc := uint64(0x5ff0_9ec8)
	for _, c := range []struct {
		what, line string
		binaries   []string
		want       uint64 // the bias of the first
	}{
		{"U-Boot, arm64", "elr: 0000000000012ec8 lr : 0000000000012e84 (reloc)", []string{"u-boot"}, pc - 0x12ec8},
		{"U-Boot, ARM", "reloc pc : [<178034c8>]\t   lr : [<178034b8>]", []string{"u-boot"}, pc - 0x1780_34c8},
		{"U-Boot, RISC-V", "EPC: 000000008000cec8 RA: 000000008000c9c4 reloc adjusted", []string{"u-boot"}, pc - 0x8000_cec8},
		{"edk2", "!!!! Find image based on IP(0x746EA98) DxeCore.dll (ImageBase=0000000007460000, EntryPoint=0000000007464B20) !!!!",
			[]string{"Build/DxeCore.debug", "Toy.debug"}, 0x0746_0000 - 0x1000},
		{"edk2, another's", "Toy.dll (ImageBase=0000000007460000, EntryPoint=0000000007464B20)", []string{"DxeCore.debug", "Boot.debug"}, 0},
		{"OP-TEE", "E/LD:   [0] 5b9e0e40-2636-11e1-ad9e-0002a5d5c51b @ 0x80019000", []string{"5b9e0e40-2636-11e1-ad9e-0002a5d5c51b.elf"}, 0x8001_9000 - 0x1000},
		{"OP-TEE before 3.6", "ERROR:   TEE-CORE: - load addr : 0x103000    ctx-idr: 1", []string{"ta.elf"}, 0x10_3000 - 0x1000},
	} {
		var p places
		if !p.take(c.line) {
			t.Errorf("%s: nothing is said", c.what)
		}
		var program firmware.Program
		for _, name := range c.binaries {
			img := image.New(image.Header{Arch: arm64.Archs()[0], Segments: image.Segments{{Addr: 0x1000, Size: 0x100}}}, nil)
			program.Modules = append(program.Modules, target.NewModule(name, img, 0))
		}
		p.move(&program, pc)
		if got := program.Modules[0].Bias; got != c.want {
			t.Errorf("%s: moved by %#x, want %#x", c.what, got, c.want)
		}
	}
}
