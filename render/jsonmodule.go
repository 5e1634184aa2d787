package render

import (
	"cmp"
	"encoding/hex"
	"slices"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/typeset"
	"github.com/backsight/backsight/target"
)

// writeModule writes a binary of a program of a system.
func writeModule(e *encoder, m *target.Module, os string) {
	e.open('{')
	e.member("filename", typeset.ModuleName(m))
	placed := m.Stated == target.StatedPlace
	e.key("base_addr")
	e.addressIf(placed, m.Lo)
	e.key("end_addr")
	e.addressIf(placed, m.Hi)
	e.member("debug_id", debugID(buildID(m), m, os))
	e.member("code_id", moduleID(m))
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

func buildID(m *target.Module) []byte {
	if m.BuildID == nil && m.Image != nil {
		return m.Image.BuildID
	}
	return m.BuildID
}

// moduleID is what a binary is found by: its build ID, or what symbol servers of Windows ask for; "" where neither is known.
func moduleID(m *target.Module) string { return cmp.Or(m.CodeID, hex.EncodeToString(buildID(m))) }

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
