package vmcore

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/backsight/backsight/internal/cpu/arm64"
	"github.com/backsight/backsight/target"
)

// TestFalseAnswers: memory full of answers to uname, each with three places where a kernel may lie and no
// code before any, costs so much for each of its bytes, and says that it was not searched to the end.
func TestFalseAnswers(t *testing.T) {
	const size, base = 4 << 20, 0x4000_0000
	const answers = size - 64<<10
	ram := make([]byte, size)
	for i := range maxAnswers {
		for k, s := range []string{"Linux", "host", "6.1.0", "#1 SMP", "aarch64"} {
			copy(ram[answers+512*i+utsField*k:], s)
		}
	}
	for i := range uint64(3 * leastHeads) {
		at := uint64(answers) - 4096 + 16*i
		v := base + at + 0xffff_8000_0000_0000 + i%3<<32
		binary.LittleEndian.PutUint64(ram[at:], v)
		binary.LittleEndian.PutUint64(ram[at+8:], v)
	}
	var b target.Builder
	b.Add(base, ram, 0, target.PermUnknown)
	d := dump{physical: b.Memory(rawWords)}
	found := contents{t.Context(), d.physical, nil, arm64.Archs()}.candidates()
	if all := d.byContent(t.Context(), arm64.Archs()); len(found) != 3*maxAnswers || len(all) != 0 || !strings.Contains(fmt.Sprint(d.issues), "not all places") {
		t.Errorf("%d places, %d kernels, %v", len(found), len(all), d.issues)
	}
}
