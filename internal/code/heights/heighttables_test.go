package heights

import (
	"sync"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/code/callee"
	"github.com/backsight/backsight/internal/code/disasm"
)

// mutual are two functions that call each other.
const mutual = `
	1000 <f>:
	1000:	48 83 ec 08    	sub $8,%rsp  => 0
	1004:	e8 07 00 00 00 	call 1010    => -8 | -8
	1009:	48 83 c4 08    	add $8,%rsp  => -8
	100d:	c3             	ret          => 0
	100e:	66 90          	nop          => none
	1010 <g>:
	1010:	53             	push %rbx    => 0
	1011:	e8 ea ff ff ff 	call 1000    => -8 rbx=[-8] | -8 rbx=[-8]
	1016:	5b             	pop %rbx     => -8 rbx=[-8]
	1017:	c3             	ret          => 0`

func at(pc uint64) disasm.Addr { return disasm.Addr{PC: pc} }

// TestProven: of the functions below a place, the nearest whose table says something.
func TestProven(t *testing.T) {
	ts := parse(t, arch(t, "x86_64"), mutual).tables()
	for pc, entry := range map[uint64]uint64{0x1000: 0x1000, 0x100d: 0x1000, 0x1010: 0x1010, 0x1017: 0x1010, 0x100e: 0, 0x1018: 0, 0xfff: 0} {
		switch table, f := ts.Proven(at(pc)); {
		case entry == 0 && f != nil:
			t.Errorf("%x: %+v", pc, f)
		case entry != 0 && (f == nil || table.Entry != entry):
			t.Errorf("%x: table %+v, want that of %x", pc, table, entry)
		}
	}
}

// TestForkAnalysesCalleesFirst: a fork makes the tables of callees that will be asked for
// soon before those of their callers, of which one is in progress.
func TestForkAnalysesCalleesFirst(t *testing.T) {
	l := parse(t, arch(t, "x86_64"), mutual)
	var asked []uint64
	fork := l.tables().Fork(func(entry uint64) bool {
		asked = append(asked, entry)
		return true
	})
	if _, known := fork.hasReturn(at(0x1010)); known {
		t.Error("g is known before the analysis")
	}
	f := fork.Of(at(0x1000))
	if len(asked) != 2 || asked[0] != 0x1010 || asked[1] != 0x1000 {
		t.Errorf("asked for %x, want g, and in g for f", asked)
	}
	want := callee.Effect{Returns: true, PC: cpu.NoReg}
	if e, known := fork.hasReturn(at(0x1010)); !known || e != want {
		t.Errorf("g is known: %t, %+v", known, e)
	}
	l.check(t, f, fork.Of(at(0x1010)))
	if fork.Clear(); fork.memo.Entries() != 0 {
		t.Error("tables are left")
	}
}

// TestCallChain: of functions that call each other in a row, more than can be analysed
// at a time, each has its table.
func TestCallChain(t *testing.T) {
	const functions = 3 * maxNesting
	var code []byte
	c := &symbols{}
	for i := range uint64(functions) {
		// sub $8,%rsp; call the next function; add $8,%rsp; ret; nop; nop
		code = append(code, 0x48, 0x83, 0xec, 8, 0xe8, 7, 0, 0, 0, 0x48, 0x83, 0xc4, 8, 0xc3, 0x66, 0x90)
		c.entries = append(c.entries, 0x1000+16*i)
	}
	code = append(code, 0xc3)
	var fork *Tables
	fork = program(arch(t, "x86_64"), code, c).Fork(func(uint64) bool {
		if n := len(fork.nesting.active); n >= maxNesting {
			t.Errorf("%d functions are being analysed, and one more shall be", n)
		}
		return true
	})
	for _, e := range c.entries {
		if table := fork.Of(at(e)); table == nil || !table.Effect.Returns || !table.MakesFrame {
			t.Errorf("%x: %+v", e, table)
		}
	}
}

// TestTailCall: a function that leaves by a jump with everything undone has a table, but
// nothing tells whether its callee returns.
func TestTailCall(t *testing.T) {
	l := parse(t, arch(t, "x86_64"), `
		1000 <f>:
		1000:	53    	push %rbx  => 0
		1001:	5b    	pop %rbx   => -8 rbx=[-8]
		1002:	eb 0c 	jmp 1010   => 0
		1010 <g>:
		1010:	c3    	ret        => none`)
	ts := l.tables()
	f := ts.Of(at(0x1000))
	l.check(t, f)
	if _, known := ts.hasReturn(at(0x1000)); known || f.Effect.Returns {
		t.Error("a return of f is known")
	}
	for pc, want := range map[uint64]bool{0x1000: true, 0x1002: false, 0x1010: true} {
		if ts.ReturnsFrom(at(pc)) != want {
			t.Errorf("%x returns with everything as on entry: want %t", pc, want)
		}
	}
}

// TestJumpElsewhere: a jump to where no function is known to begin is a tail call only of
// a function that made a frame and undid that frame.
func TestJumpElsewhere(t *testing.T) {
	for _, text := range []string{`
		1000:	53             	push %rbx  => 0
		1001:	5b             	pop %rbx   => -8 rbx=[-8]
		1002:	e9 f9 0f 00 00 	jmp 2000   => 0`, `
		1000:	90             	nop        => none
		1001:	e9 fa 0f 00 00 	jmp 2000   => none`,
	} {
		l := parse(t, arch(t, "x86_64"), text)
		l.check(t, l.table())
	}
}

// TestProvenByPointer: without symbols, functions that only data points to count, but
// not the c3 in the middle of an instruction.
func TestProvenByPointer(t *testing.T) {
	code := []byte{
		0x48, 0x83, 0xec, 8, // sub $8,%rsp
		0xb8, 0xc3, 0, 0, 0, // mov $0xc3,%eax
		0x48, 0x83, 0xc4, 8, // add $8,%rsp
		0xc3, // ret
	}
	for pointer, want := range map[byte]int32{0x00: -8, 0x05: 0} {
		h := header(arch(t, "x86_64"), code)
		h.Segments = append(h.Segments, image.Segment{Addr: 0x4000, Size: 8, Data: []byte{pointer, 0x10, 0, 0, 0, 0, 0, 0}, Read: true})
		_, f := of(h, &symbols{}).Proven(at(0x1005))
		switch {
		case want == 0 && f != nil:
			t.Errorf("a pointer to %#x: %+v", 0x1000+int(pointer), f)
		case want != 0 && (f == nil || f.SP != want):
			t.Errorf("a pointer to %#x: %+v, want SP at %d", 0x1000+int(pointer), f, want)
		}
	}
}

// TestBegins: a byte in the middle of an instruction that happens to be a return begins
// no function; aligned code does, and so does code that makes a frame.
func TestBegins(t *testing.T) {
	ts := parse(t, arch(t, "x86_64"), `
		1000:	48 83 ec 08    	sub $8,%rsp
		1004:	b8 c3 00 00 00 	mov $0xc3,%eax
		1009:	50             	push %rax
		100a:	58             	pop %rax
		100b:	48 83 c4 08    	add $8,%rsp
		100f:	c3             	ret
		1010:	c3             	ret`).tables()
	for pc, want := range map[uint64]bool{0x1000: true, 0x1005: false, 0x1009: false, 0x100f: false, 0x1010: true} {
		if ts.Begins(at(pc)) != want {
			t.Errorf("%x begins a function: want %t", pc, want)
		}
	}
	if !parse(t, arch(t, "aarch64"), "1004:	d65f03c0 	ret").tables().Begins(at(0x1004)) {
		t.Error("where instructions are aligned every pointer to code counts")
	}
}

// TestStart: what the image starts with was called by nobody, so that its stack tells of
// no caller.
func TestStart(t *testing.T) {
	code := []byte{0x53, 0x5b, 0xc3} // push %rbx; pop %rbx; ret
	a := arch(t, "x86_64")
	if table := program(a, code, &symbols{}).Of(at(0x1000)); table == nil {
		t.Error("no table")
	}
	h := header(a, code)
	h.Entry = 0x1000
	if table := of(h, &symbols{}).Of(at(0x1000)); table != nil {
		t.Errorf("the start of the image: %+v", table)
	}
}

// TestTogether: goroutines that ask for the same tables get tables that say the same.
func TestTogether(t *testing.T) {
	l := parse(t, arch(t, "x86_64"), mutual)
	ts := l.tables()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { l.check(t, ts.Of(at(0x1000)), ts.Of(at(0x1010))) })
	}
	all.Wait()
}
