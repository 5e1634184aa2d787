package render

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/target"
)

// writeModule writes a binary of a program of a system.
func writeModule(e *encoder, m *target.Module, os string) {
	e.open('{')
	e.member("filename", moduleName(m))
	placed := m.Stated == target.StatedPlace
	e.key("base_addr")
	e.addressIf(placed, m.Lo)
	e.key("end_addr")
	e.addressIf(placed, m.Hi)
	id := m.BuildID
	if id == nil && m.Image != nil {
		id = m.Image.BuildID
	}
	e.member("debug_id", debugID(id, m, os))
	e.member("code_id", cmp.Or(m.CodeID, hex.EncodeToString(id)))
	e.key("backsight")
	e.open('{')
	e.member("path", m.Name)
	if m.Image != nil {
		e.member("file", m.Image.Path)
	} else {
		e.member("file", "")
	}
	e.close('}')
	e.close('}')
}

// debugID is a build ID as Breakpad's tools write it: its first 16 bytes as a GUID and the age 0. The GUID's first three fields are in the
// file's byte order; Apple's tools have the bytes in order, Windows' an age behind.
func debugID(id []byte, m *target.Module, os string) string {
	if id == nil {
		return ""
	}
	system := func(name string) bool { return m.Image != nil && m.Image.System == name }
	if full := image.SymbolServerID(id); full != "" && (os == "Windows" || system("windows")) {
		return full
	}
	var g [16]byte
	copy(g[:], id)
	apple := os == "macOS" || os == "iOS" || system("darwin")
	if !apple && (m.Image == nil || !m.Image.Arch.BigEndian) {
		for _, f := range [][]byte{g[0:4], g[4:6], g[6:8]} {
			slices.Reverse(f)
		}
	}
	return strings.ToUpper(hex.EncodeToString(g[:])) + "0"
}
