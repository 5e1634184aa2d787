package perfdata

import (
	"errors"
	"io"
	"iter"

	"github.com/backsight/backsight/internal/bin"
	"github.com/backsight/backsight/internal/budget"
	"github.com/klauspost/compress/zstd"
)

// maxUnpacked bounds what is unpacked of one event: perf packs half a megabyte at a time. maxWindow is how far back the packed
// stream refers, at most.
const maxUnpacked, maxWindow = 8 << 20, 8 << 20

// What packed events may become, in bytes, each event perUnpacked more for the work that it makes: stacks shrink to a fortieth, those
// of zeros to a thousandth.
const unpackedFloor, unpackedPerByte, perUnpacked = 256 << 20, 1 << 8, 1 << 10

var errTooLarge = errors.New("more than an event holds")

// unpacker unpacks the stream of zstd whose pieces are the packed events. perf flushes the stream behind each, but does not end
// it: the decoder runs as a coroutine, which gives back control where it wants bytes that the next event has.
type unpacker struct {
	more func() (struct{}, bool) // goes on unpacking until in is used up
	stop func()
	in   []byte
	out  []byte
	room budget.Budget
	err  error // why nothing more is unpacked
}

// unpack unpacks the next piece, until the one after it. What is damaged, or too much, ends the stream.
func (u *unpacker) unpack(data []byte) ([]byte, error) {
	if u.more == nil {
		u.more, u.stop = iter.Pull(u.run)
		u.room = budget.New("unpacked bytes", unpackedFloor, 0)
	}
	u.room.Add(unpackedPerByte * uint64(len(data)))
	u.in, u.out = data, u.out[:0]
	u.more()
	return u.out, u.err
}

func (u *unpacker) run(yield func(struct{}) bool) {
	z, err := zstd.NewReader(&piecewise{u, yield}, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
	if err == nil {
		defer z.Close()
		_, err = z.WriteTo(u) // what came before an error was unpacked
	}
	u.err = err
}

// Write keeps what is unpacked.
func (u *unpacker) Write(b []byte) (int, error) {
	if len(u.out)+len(b) > maxUnpacked {
		return 0, errTooLarge
	}
	if !u.room.Draw(len(b)) {
		return 0, u.room.Err()
	}
	u.out = append(u.out, b...)
	return len(b), nil
}

func (u *unpacker) close() {
	if u.stop != nil {
		u.stop()
	}
}

// piecewise is the packed stream as the decoder reads it.
type piecewise struct {
	u     *unpacker
	yield func(struct{}) bool
}

func (p *piecewise) Read(b []byte) (int, error) {
	for len(p.u.in) == 0 {
		if !p.yield(struct{}{}) {
			return 0, io.EOF
		}
	}
	n := copy(b, p.u.in)
	p.u.in = p.u.in[n:]
	return n, nil
}

// packedBytes are the packed bytes of an event; of the newer kind it says how many they are.
func packedBytes(ev *event, big bool) []byte {
	if ev.kind == eventCompressed {
		return ev.body
	}
	in := bin.New(ev.body, big)
	return in.Bytes(min(in.U64(), uint64(in.Len())))
}
