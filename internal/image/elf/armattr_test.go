package elf

import "testing"

func TestARMProfile(t *testing.T) {
	// section wraps attributes: 'A', subsection "aeabi", file attributes.
	section := func(attrs ...byte) []byte {
		file := append([]byte{tagFile, byte(5 + len(attrs)), 0, 0, 0}, attrs...)
		sub := append([]byte("\x00\x00\x00\x00aeabi\x00"), file...)
		sub[0] = byte(len(sub))
		return append([]byte("A"), sub...)
	}
	vendor := append([]byte("A\x09\x00\x00\x00abc\x00\x00"), section(tagCPUArchProfile, 'R')[1:]...)
	vendor[1] = 9
	for _, tt := range []struct {
		name string
		data []byte
		want byte
	}{
		{"Cortex-M3", section(tagCPUName, 'M', '3', 0, tagCPUArch, 10, tagCPUArchProfile, 'M', 8, 0), 'M'},
		{"Cortex-A7", section(tagCPUArch, 10, tagCPUArchProfile, 'A'), 'A'},
		{"v6-M by its architecture", section(tagCPUArch, 11), 'M'},
		{"v8-M mainline", section(tagCPUArch, 17), 'M'},
		{"ARM7TDMI", section(tagCPUArch, 2), 0},
		{"after compatibility", section(tagCompatibility, 1, 'x', 0, tagCPUArchProfile, 'A'), 'A'},
		{"after odd string tag", section(67, '2', '.', '0', '9', 0, tagCPUArchProfile, 'M'), 'M'},
		{"cut", section(tagCPUArch, 10, tagCPUArchProfile, 'M')[:18], 0},
		{"version", []byte("B"), 0},
		{"empty", nil, 0},
		{"zero length", []byte("A\x00\x00\x00\x00aeabi\x00"), 0},
	} {
		if got := armProfile(tt.data, false); got != tt.want {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
	e := build{machine: emARM, secs: []sec{text(0x1000, 16), {name: ".ARM.attributes", data: section(tagCPUArchProfile, 'M')}}}
	if img := parse(t, e.bytes()); img.Arch.ABI != "m" {
		t.Errorf("file with profile M is %s %s", img.Arch.Name, img.Arch.ABI)
	}
}
