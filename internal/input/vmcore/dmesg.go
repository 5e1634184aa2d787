package vmcore

import (
	"fmt"
	"strings"

	"github.com/backsight/backsight/internal/vmcoreinfo"
	"github.com/backsight/backsight/target"
)

// Bounds of the kernel's log: the largest buffer (CONFIG_LOG_BUF_SHIFT is 25 at most).
const (
	maxRecords = 1 << 21
	maxLog     = 64 << 20
)

// log reads the kernel's log buffer as dmesg prints it, by the offsets that VMCOREINFO gives
// (Documentation/admin-guide/kdump/gdbmacros.txt), or by its contents among the kernel's data; "" where
// there is none.
func (d *dump) log(memory *target.Memory, data target.Range) string {
	l := logReader{info: d.info, memory: memory, word: uint64(d.arch.AddrSize)}
	if symbol, ok := d.info.Symbol("prb"); ok {
		prb, _ := memory.Word(symbol)
		l.ring(prb)
	} else if _, ok := d.info.Symbol("log_buf"); ok {
		l.records()
	} else if prb, info := l.ringIn(data, d.arch.BigEndian); info != nil {
		l.info = info
		l.ring(prb)
	}
	return l.out.String()
}

// logReader is a log while it is read.
type logReader struct {
	info   vmcoreinfo.Info
	memory *target.Memory
	word   uint64
	out    strings.Builder
}

// offset is the offset of a field that VMCOREINFO gives.
func (l *logReader) offset(field string) uint64 {
	v, _ := l.info.Offset(field)
	return v
}

// pointer is the word at a structure's field.
func (l *logReader) pointer(at uint64, field string) uint64 {
	v, _ := l.memory.Word(at + l.offset(field))
	return v
}

func (l *logReader) number(at uint64, size int) uint64 {
	v, _ := l.memory.Uint(at, size)
	return v
}

// line writes one record: [seconds.microseconds] text.
func (l *logReader) line(nsec uint64, text []byte) bool {
	if l.out.Len()+len(text) > maxLog {
		return false
	}
	for part := range strings.SplitSeq(strings.TrimSuffix(string(text), "\n"), "\n") {
		fmt.Fprintf(&l.out, "[%5d.%06d] %s\n", nsec/1e9, nsec%1e9/1e3, part)
	}
	return true
}

// ring reads the lockless ring buffer that Linux has since 5.10
// (kernel/printk/printk_ringbuffer.h): descriptors by number, from tail to head, each with
// the place of its text.
func (l *logReader) ring(prb uint64) {
	descRing := prb + l.offset("printk_ringbuffer.desc_ring")
	dataRing := prb + l.offset("printk_ringbuffer.text_data_ring")
	countBits := l.number(descRing+l.offset("prb_desc_ring.count_bits"), 4)
	sizeBits := l.number(dataRing+l.offset("prb_data_ring.size_bits"), 4)
	if countBits > 24 || sizeBits > 31 {
		return
	}
	r := ring{l, l.pointer(descRing, "prb_desc_ring.descs"), l.pointer(descRing, "prb_desc_ring.infos"),
		l.pointer(dataRing, "prb_data_ring.data"), 1<<countBits - 1, 1 << sizeBits}
	head, records := l.pointer(descRing, "prb_desc_ring.head_id"), uint64(0)
	for id := l.pointer(descRing, "prb_desc_ring.tail_id"); ; id++ {
		if !r.record(id) || id == head {
			return
		}
		if records++; records > r.indexMask {
			return
		}
	}
}

// ring is where the parts of a ring buffer lie.
type ring struct {
	*logReader
	descs, infos, text uint64
	indexMask, size    uint64
}

// record writes the record with a number, and tells whether to go on. The two highest bits
// of a descriptor's state say what it is: 1 committed, 2 finalized.
func (r *ring) record(id uint64) bool {
	descSize, _ := r.info.Size("prb_desc")
	infoSize, _ := r.info.Size("printk_info")
	at := r.descs + (id&r.indexMask)*descSize
	state, ok := r.memory.Word(at + r.offset("prb_desc.state_var"))
	if !ok {
		return false
	}
	if kind := state >> (8*r.word - 2); kind != 1 && kind != 2 {
		return true
	}
	lpos := at + r.offset("prb_desc.text_blk_lpos")
	begin := r.number(lpos+r.offset("prb_data_blk_lpos.begin"), int(r.word))
	next := r.number(lpos+r.offset("prb_data_blk_lpos.next"), int(r.word))
	if begin&1 != 0 || begin == next { // without text
		return true
	}
	from := begin % r.size
	if begin/r.size != next/r.size && next%r.size != 0 { // wrapped: the text is at the start
		from = 0
	}
	info := r.infos + (id&r.indexMask)*infoSize
	n := r.number(info+r.offset("printk_info.text_len"), 2)
	text := bytesAt(r.memory, r.text+from+r.word, int(min(n, r.size-from)))
	return r.line(r.number(info+r.offset("printk_info.ts_nsec"), 8), text)
}

// records reads the buffer of records that Linux had from 3.5 to 5.9: struct printk_log and
// its text, one behind the other; a length of 0 leads back to the start.
func (l *logReader) records() {
	at := func(name string, size int) uint64 {
		a, _ := l.info.Symbol(name)
		return l.number(a, size)
	}
	buf, size := at("log_buf", int(l.word)), at("log_buf_len", 4)
	index, end := at("log_first_idx", 4), at("log_next_idx", 4)
	header, _ := l.info.Size("printk_log")
	for range maxRecords {
		if index == end || index >= size || header == 0 {
			return
		}
		r := buf + index
		n := l.number(r+l.offset("printk_log.len"), 2)
		if n == 0 {
			if index == 0 {
				return
			}
			index = 0
			continue
		}
		text := bytesAt(l.memory, r+header, int(l.number(r+l.offset("printk_log.text_len"), 2)))
		if !l.line(l.number(r+l.offset("printk_log.ts_nsec"), 8), text) {
			return
		}
		index += n
	}
}
