package render

import (
	"encoding/hex"
	"strings"

	"github.com/backsight/backsight/target"
)

// writeModule writes a binary of the program.
func writeModule(e *encoder, m *target.Module) {
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
	e.member("debug_id", debugID(id, m))
	e.member("code_id", hex.EncodeToString(id))
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

// debugID is a build ID as Breakpad's tools write it: its first 16 bytes as a
// GUID, whose first three fields are in the file's byte order, and the age 0.
func debugID(id []byte, m *target.Module) string {
	if id == nil {
		return ""
	}
	var g [16]byte
	copy(g[:], id)
	if m.Image == nil || !m.Image.Arch.BigEndian {
		for _, f := range [][]byte{g[0:4], g[4:6], g[6:8]} {
			for i, j := 0, len(f)-1; i < j; i, j = i+1, j-1 {
				f[i], f[j] = f[j], f[i]
			}
		}
	}
	return strings.ToUpper(hex.EncodeToString(g[:])) + "0"
}
