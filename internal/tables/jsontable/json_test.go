package jsontable

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/mips"
	"github.com/backsight/backsight/tables"
	"github.com/backsight/backsight/unwind/rule"
)

// TestWrite: a frame of 32 bytes with RA in it, and a stretch of which nothing is known.
func TestWrite(t *testing.T) {
	arch := mips.Archs()[0]
	p := &tables.Program{
		Image: image.New(image.Header{Path: "firmware.elf", Arch: arch, BuildID: []byte{0xab, 1}}, nil),
		Rules: []tables.Rule{{Source: "code", CFA: rule.Register{Kind: rule.RegPlus, Base: arch.SP, Off: 32}, RA: rule.Register{Kind: rule.AtCFA, Off: -4}}},
		Functions: []tables.Function{{Name: "ma\x1b\u202ein", Start: 0x400100, End: 0x400120,
			Rows: []tables.Row{{Addr: 0x400100, Rule: 0}, {Addr: 0x400110, Rule: tables.None}}}},
	}
	var b bytes.Buffer
	if refused, err := Format().Write(&b, p); err != nil || refused != nil {
		t.Fatal(refused, err)
	}
	if !strings.Contains(b.String(), `"ma\u001b\u202ein"`) {
		t.Errorf("a name is not escaped: %s", b.String())
	}
	var got map[string]any
	if err := json.Unmarshal(b.Bytes(), &got); err != nil {
		t.Fatal(err)
	}
	const want = `{"arch":"mips","build_id":"ab01","endian":"big","file":"firmware.elf",` +
		`"functions":[{"end":"0x400120","name":"ma\u001b` + "\u202e" + `in","rows":[["0x400100",0],["0x400110",null]],"start":"0x400100"}],` +
		`"rules":[{"cfa":{"base":"sp","kind":"value","offset":32},"ra":{"base":"cfa","kind":"memory","offset":-4},"source":"code"}]}`
	delete(got, "abi")
	if again, _ := json.Marshal(got); string(again) != want {
		t.Errorf("got  %s\nwant %s", again, want)
	}
}
