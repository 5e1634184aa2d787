package zram

import (
	"bytes"
	"context"
)

const (
	// piece is how much of memory is searched at once, maxNames how many names of devices are looked at.
	piece, maxNames = 1 << 20, 1 << 12
	// maxDisks bounds the devices.
	maxDisks = 64
)

// search finds zram devices by their name, in all of the kernel's memory.
func (s *Swap) search(ctx context.Context) (disks []*disk, err error) {
	seen := map[uint64]bool{} // by table: memory may be shown twice
	buf := make([]byte, piece+maxName)
	names, left := 0, 2*s.Physical.Size()
	for _, seg := range s.Memory.Segments() {
		for at := uint64(0); at < seg.Size() && left >= piece; at += piece {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			left -= piece
			for i := range named(buf[:s.Memory.Read(seg.Addr+at, buf)]) {
				if names++; names > maxNames || len(disks) == maxDisks {
					return disks, nil
				}
				if d := s.diskAt(seg.Addr + at + uint64(i) - nameAt); d != nil && !seen[d.table] {
					seen[d.table] = true
					disks = append(disks, d)
				}
			}
		}
	}
	if err := s.work.Err(); err != nil {
		return nil, err
	}
	if len(disks) == 0 {
		return nil, ErrNone
	}
	return disks, nil
}

// named are the offsets at which a name of a device may stand.
func named(data []byte) func(yield func(int) bool) {
	return func(yield func(int) bool) {
		for at := 0; ; at++ {
			i := bytes.Index(data[at:], []byte(prefix))
			if i < 0 {
				return
			}
			if at += i; at%4 == nameAt%4 && !yield(at) {
				return
			}
		}
	}
}
