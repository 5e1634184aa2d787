package x86

import (
	"reflect"
	"testing"

	"github.com/backsight/backsight/cpu"
)

// TestJumps: jumps with a distance of four bytes are found wherever they stand; those with a
// distance of one byte leave no function.
func TestJumps(t *testing.T) {
	code := bytesOf(`
		e9 fb 0f 00 00
		eb 02
		0f 84 f3 ff ff ff
		0f 1f 44 00 00
		b8 e9 00 01 00 00
		0f 8f`)
	want := []cpu.CallRef{
		{Site: 0x1000, Target: 0x2000},
		{Site: 0x1007, Target: 0x1000},
		{Site: 0x1013, Target: 0x1118}, // in mov's constant
		// Not the last one, which is cut off.
	}
	if got := (decoder{long: true}).Jumps(code, 0x1000, nil); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v, want %+v", got, want)
	}
	wrapped := decoder{}.Jumps(bytesOf("e9 fb ff ff 7f 90"), 0xc000_0000, nil)
	if want := []cpu.CallRef{{Site: 0xc000_0000, Target: 0x4000_0000}}; !reflect.DeepEqual(wrapped, want) {
		t.Errorf("on i386 %+v, want %+v", wrapped, want)
	}
}
