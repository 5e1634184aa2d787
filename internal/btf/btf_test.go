package btf

import (
	"encoding/binary"
	"strings"
	"testing"
)

// writer assembles types, as the kernel's build does.
type writer struct {
	types   []byte
	strings strings.Builder
	order   binary.AppendByteOrder
}

func (w *writer) name(s string) uint32 {
	if s == "" {
		return 0
	}
	at := w.strings.Len()
	w.strings.WriteString(s + "\x00")
	return uint32(at)
}

func (w *writer) words(vs ...uint32) {
	for _, v := range vs {
		w.types = w.order.AppendUint32(w.types, v)
	}
}

// structure adds one with members of three words each.
func (w *writer) structure(kind uint32, name string, bitfields uint32, members ...uint32) {
	w.words(w.name(name), bitfields<<31|kind<<24|uint32(len(members)/3), 64)
	w.words(members...)
}

func (w *writer) bytes() []byte {
	out := w.order.AppendUint16(nil, magic)
	out = append(out, version, 0)
	for _, v := range []uint32{headerSize, 0, uint32(len(w.types)), uint32(len(w.types)), uint32(w.strings.Len())} {
		out = w.order.AppendUint32(out, v)
	}
	return append(append(out, w.types...), w.strings.String()...)
}

// sample is what a kernel says of task_struct, in short:
//
//	1 int  2 struct cpu_context { int x19; int pc; }  3 typedef context_t of 2
//	4 struct thread { int flags; const context_t saved; }  5 const of 3
//	6 union { int state; }  7 struct task_struct { union; thread; int on : 4 at bit 4; int cpu; }
func sample(order binary.AppendByteOrder) *writer {
	w := &writer{order: order}
	w.strings.WriteByte(0)
	w.words(w.name("int"), 1<<24, 4, 32)
	w.structure(kindStruct, "cpu_context", 0, w.name("x19"), 1, 0, w.name("pc"), 1, 32)
	w.words(w.name("context_t"), kindTypedef<<24, 2)
	w.structure(kindStruct, "thread", 0, w.name("flags"), 1, 0, w.name("saved"), 5, 64)
	w.words(0, 10<<24, 3)
	w.structure(kindUnion, "", 0, w.name("state"), 1, 0)
	w.structure(kindStruct, "task_struct", 1, 0, 6, 32, w.name("thread"), 4, 64, w.name("on"), 1, 4<<24|260, w.name("cpu"), 1, 320)
	return w
}

// TestOffsets: fields are found by a path through nested structures, in both byte orders; what is no field is not.
func TestOffsets(t *testing.T) {
	for _, order := range []binary.AppendByteOrder{binary.LittleEndian, binary.BigEndian} {
		big := order == binary.AppendByteOrder(binary.BigEndian)
		data := append(append(make([]byte, 100), magic&0xff, magic>>8, version), sample(order).bytes()...)
		types, err := Find(data, big)
		if err != nil {
			t.Fatal(err)
		}
		task, ok := types.Struct("task_struct")
		if !ok {
			t.Fatal("no task_struct")
		}
		for _, c := range []struct {
			path string
			want uint64
			ok   bool
		}{
			{"state", 4, true}, {"thread", 8, true}, {"thread saved pc", 20, true}, {"cpu", 40, true},
			{"on", 32, false}, {"comm", 0, false}, {"cpu pc", 0, false}, {"thread saved pc deeper", 0, false},
		} {
			if got, ok := task.Offset(strings.Fields(c.path)...); ok != c.ok || ok && got != c.want {
				t.Errorf("%s: %d, %v", c.path, got, ok)
			}
		}
		if _, ok := types.Struct("task"); ok {
			t.Error("a part of a name is a name")
		}
	}
}

// TestDamaged: types that reach beyond their end, of unknown kinds, or that contain themselves.
func TestDamaged(t *testing.T) {
	good := sample(binary.LittleEndian).bytes()
	for i := range len(good) - 1 {
		if _, err := Parse(good[:i], false); err == nil {
			t.Errorf("%d of %d bytes: no error", i, len(good))
		}
	}
	for what, w := range map[string]func(*writer){
		"an unknown kind":    func(w *writer) { w.words(0, 31<<24, 0) },
		"too many members":   func(w *writer) { w.words(0, kindStruct<<24|9, 0) },
		"words that are cut": func(w *writer) { w.words(0) },
	} {
		b := sample(binary.LittleEndian)
		w(b)
		if _, err := Parse(b.bytes(), false); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	circle := &writer{order: binary.LittleEndian}
	circle.strings.WriteByte(0)
	var members []uint32
	for range 1000 {
		members = append(members, 0, 1, 0)
	}
	circle.structure(kindStruct, "task_struct", 0, members...)
	types, err := Parse(circle.bytes(), false)
	if err != nil {
		t.Fatal(err)
	}
	task, _ := types.Struct("task_struct")
	if _, ok := task.Offset("comm"); ok {
		t.Error("found in a circle")
	}
}

func FuzzParse(f *testing.F) {
	f.Add(sample(binary.LittleEndian).bytes(), false)
	f.Add(sample(binary.BigEndian).bytes(), true)
	f.Fuzz(func(_ *testing.T, data []byte, big bool) {
		types, err := Find(data, big)
		if err != nil {
			return
		}
		if task, ok := types.Struct("task_struct"); ok {
			_, _ = task.Offset("thread", "saved", "pc")
			_, _ = task.Offset("comm")
		}
	})
}
