package vmcore

import (
	"encoding/binary"
	"testing"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/internal/vmcoreinfo"
	"github.com/backsight/backsight/target"
)

// words lays out 64-bit words, and text, by address from 0 on.
type words struct{ data []byte }

func (w *words) put(at uint64, list ...uint64) {
	for i, v := range list {
		binary.LittleEndian.PutUint64(w.data[at+8*uint64(i):], v)
	}
}

func (w *words) dump(info string) (*dump, *target.Memory) {
	var b target.Builder
	b.Add(0, w.data, 0, 0)
	arch := &cpu.Arch{AddrSize: 8}
	return &dump{arch: arch, info: vmcoreinfo.Parse([]byte("OSRELEASE=6.1\n" + info))}, b.Memory(arch)
}

// TestLog: a ring of four records, one of them not finished, one without text, one whose
// text is wrapped to the start of the buffer.
func TestLog(t *testing.T) {
	const finalized, reserved, descs, infos, text = 2 << 62, 0, 0x200, 0x400, 0x800
	w := words{make([]byte, 0x1000)}
	w.put(0x10, 0x100)
	w.put(0x100, 2, descs, infos, 7, 4) // count_bits, descs, infos, head, tail
	w.put(0x140, 8, text)               // size_bits, data
	w.put(descs+0*24, finalized|4, 0x10, 0x30)
	w.put(descs+1*24, reserved|5, 0x30, 0x50)
	w.put(descs+2*24, finalized|6, 1, 1)
	w.put(descs+3*24, finalized|7, 0xf8, 0x120)
	for i, n := range []uint64{5, 5, 0, 7} {
		w.put(infos+uint64(i)*24, 1_500_000*uint64(i+1)*1000, n)
	}
	copy(w.data[text+0x18:], "hello")
	copy(w.data[text+8:], "wrapped")
	d, memory := w.dump("SYMBOL(prb)=10\nOFFSET(printk_ringbuffer.desc_ring)=0\nOFFSET(printk_ringbuffer.text_data_ring)=64\n" +
		"OFFSET(prb_desc_ring.count_bits)=0\nOFFSET(prb_desc_ring.descs)=8\nOFFSET(prb_desc_ring.infos)=16\nOFFSET(prb_desc_ring.head_id)=24\n" +
		"OFFSET(prb_desc_ring.tail_id)=32\nSIZE(prb_desc)=24\nOFFSET(prb_desc.state_var)=0\nOFFSET(prb_desc.text_blk_lpos)=8\n" +
		"OFFSET(prb_data_blk_lpos.begin)=0\nOFFSET(prb_data_blk_lpos.next)=8\nSIZE(printk_info)=24\nOFFSET(printk_info.ts_nsec)=0\n" +
		"OFFSET(printk_info.text_len)=8\nOFFSET(prb_data_ring.size_bits)=0\nOFFSET(prb_data_ring.data)=8\n")
	if got, want := d.log(memory, target.Range{}), "[    1.500000] hello\n[    6.000000] wrapped\n"; got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}

// TestLogByContent: without VMCOREINFO the ring is found among the kernel's data, in all layouts, and the
// larger one of two.
func TestLogByContent(t *testing.T) {
	const finalized, base, descs, infos, text, words = 2 << 62, 0x10000, 0x1000, 0x3000, 0xf000, 8
	for _, c := range []struct{ ring, info uint64 }{{wordsUntil65, 88}, {wordsSince66, 88}, {wordsSince66, 112}} {
		ring := c.ring
		data := make([]byte, 0x11000)
		put := func(at uint64, list ...uint64) {
			for i, v := range list {
				binary.LittleEndian.PutUint64(data[at+words*uint64(i):], v)
			}
		}
		put(0x100, 7, base+descs, base+infos, 1, 0) // count_bits, descs, infos, head, tail
		put(0x100+words*ring, 12, base+text)        // size_bits, data
		put(descs, finalized, 0, 0x20, finalized|1, 0x20, 0x40)
		put(infos, 0, 1_500_000_000, 5)
		put(infos+c.info, 1, 2_000_000_000, 5)
		copy(data[text+8:], "hello")
		copy(data[text+0x28:], "world")
		put(0x400, 8, base+descs, base+infos, 300, 0) // more records than there is room for
		var b target.Builder
		b.Add(base, data, 0, target.PermRead)
		d := &dump{arch: &cpu.Arch{AddrSize: words}}
		if got, want := d.log(b.Memory(d.arch), target.Range{Lo: base, Hi: base + 0x11000}), "[    1.500000] hello\n[    2.000000] world\n"; got != want {
			t.Errorf("%d words, %d bytes for each record: log %q, want %q", ring, c.info, got, want)
		}
	}
}

// TestOldLog: records behind one another, until Linux 5.9.
func TestOldLog(t *testing.T) {
	w := words{make([]byte, 0x1000)}
	w.put(0x10, 0x200, 0x100, 0x40, 0x20) // log_buf, log_buf_len, log_first_idx, log_next_idx
	w.put(0x240, 1_000_000_000, 32|5<<16) // ts_nsec; len, text_len
	copy(w.data[0x250:], "first")
	w.put(0x260, 0, 0) // back to the start
	w.put(0x200, 2_000_000_000, 32|6<<16)
	copy(w.data[0x210:], "second")
	d, memory := w.dump("SYMBOL(log_buf)=10\nSYMBOL(log_buf_len)=18\nSYMBOL(log_first_idx)=20\nSYMBOL(log_next_idx)=28\n" +
		"SIZE(printk_log)=16\nOFFSET(printk_log.ts_nsec)=0\nOFFSET(printk_log.len)=8\nOFFSET(printk_log.text_len)=10\n")
	if got, want := d.log(memory, target.Range{}), "[    1.000000] first\n[    2.000000] second\n"; got != want {
		t.Errorf("log %q, want %q", got, want)
	}
}
