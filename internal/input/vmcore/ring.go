package vmcore

import (
	"fmt"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/vmcoreinfo"
	"github.com/backsight/backsight/target"
)

// ringIn finds the kernel's log buffer (struct printk_ringbuffer, which the kernel links in) by its
// contents, and says of its structures what VMCOREINFO says elsewhere. Of two buffers the larger one is
// in use: the kernel starts with one of a fixed size (log_buf_len=). The info is nil where there is none.
func (l *logReader) ringIn(data target.Range, big bool) (prb uint64, info vmcoreinfo.Info) {
	lo := data.Lo &^ (l.word - 1)
	r := bin.New(filled(l.memory, lo, int(data.Hi-lo)), big)
	most := uint64(0)
	for at := lo; r.Len() >= 2*int(l.word); at += l.word {
		n := uint64(r.U32())
		r.Skip(l.word - 4)
		if n < leastCountBits || n > maxCountBits || n <= most {
			continue
		}
		for _, words := range []uint64{wordsUntil65, wordsSince66} {
			if l.isRing(at, words) {
				prb, most, info = at, n, ringInfo(l.word, words, l.infoSize(at))
			}
		}
	}
	return prb, info
}

// Bounds of the buffer: CONFIG_LOG_BUF_SHIFT is 12 to 25, a descriptor is made for each 32 bytes.
const (
	leastCountBits, maxCountBits = 7, 20
	leastSizeBits, maxSizeBits   = 12, 31
)

// The words of struct prb_desc_ring: count_bits, descs, infos, head_id, tail_id; since Linux 6.6
// last_finalized_seq (kernel/printk/printk_ringbuffer.h).
const wordsUntil65, wordsSince66 = 5, 6

// isRing tells whether a struct printk_ringbuffer lies at an address: descriptors and text lie where
// numbers from tail to head are no more than there is room for, and the descriptor of the last record has
// its number.
func (l *logReader) isRing(at, words uint64) bool {
	field := func(i uint64) uint64 { return l.number(at+i*l.word, int(l.word)) }
	count, descs, infos, head, tail := uint64(1)<<l.number(at, 4), field(1), field(2), field(3), field(4)
	textAt := at + words*l.word
	sizeBits := l.number(textAt, 4)
	mask := uint64(1)<<(8*l.word-2) - 1
	if sizeBits < leastSizeBits || sizeBits > maxSizeBits || (head-tail)&mask >= count || descs%l.word != 0 || infos%l.word != 0 {
		return false
	}
	for _, p := range []uint64{descs, infos, field(words + 1)} {
		if _, mapped := l.memory.PermAt(p); !mapped || p == 0 {
			return false
		}
	}
	state, ok := l.memory.Word(descs + head&(count-1)*3*l.word)
	return ok && state&mask == head&mask
}

// infoSize is the size of a struct printk_info of the ring at an address: what begins it, its record's number in the
// log (seq), is that of the record before plus 1. It has 88 bytes, and more with CONFIG_PRINTK_EXECUTION_CTX, which puts the
// task's name in front of the device's (Linux 7.2: 112).
func (l *logReader) infoSize(at uint64) uint64 {
	const least, most, records = 88, 160, 8
	count, infos, head, tail := uint64(1)<<l.number(at, 4), l.number(at+2*l.word, int(l.word)), l.number(at+3*l.word, int(l.word)), l.number(at+4*l.word, int(l.word))
	for size := uint64(least); size <= most; size += 8 {
		seq := func(id uint64) uint64 { return l.number(infos+id%count*size, 8) }
		last, same := seq(head), uint64(1)
		for same < min(records, head-tail+1) && seq(head-same) == last-same {
			same++
		}
		if same == min(records, head-tail+1) {
			return size
		}
	}
	return least
}

// ringInfo is what VMCOREINFO says of the ring buffer's structures; recordInfo is the size of a struct printk_info.
func ringInfo(word, words, recordInfo uint64) vmcoreinfo.Info {
	info := make(vmcoreinfo.Info)
	offset := func(field string, at uint64) { info["OFFSET("+field+")"] = fmt.Sprint(at) }
	offset("printk_ringbuffer.desc_ring", 0)
	offset("printk_ringbuffer.text_data_ring", words*word)
	for i, name := range []string{"count_bits", "descs", "infos", "head_id", "tail_id"} {
		offset("prb_desc_ring."+name, uint64(i)*word)
	}
	offset("prb_data_ring.size_bits", 0)
	offset("prb_data_ring.data", word)
	offset("prb_desc.state_var", 0)
	offset("prb_desc.text_blk_lpos", word)
	offset("prb_data_blk_lpos.begin", 0)
	offset("prb_data_blk_lpos.next", word)
	offset("printk_info.ts_nsec", 8)
	offset("printk_info.text_len", 16)
	info["SIZE(prb_desc)"] = fmt.Sprint(3 * word)
	info["SIZE(printk_info)"] = fmt.Sprint(recordInfo)
	return info
}
