package perfdata

import (
	"bytes"
	"math/bits"

	"github.com/backsight/backsight/internal/bin"
)

// section is where something lies in the file.
type section struct{ off, size uint64 }

func readSection(in *bin.Reader) section { return section{in.U64(), in.U64()} }

// of are the section's bytes, as many as there are.
func (s section) of(all []byte) []byte {
	if s.off >= uint64(len(all)) {
		return nil
	}
	return all[s.off:][:min(s.size, uint64(len(all))-s.off)]
}

// header reads what a file has in front of its events and behind them, and returns where the events are.
func (r *recording) header(all []byte) (data section) {
	in := bin.NewAt(all, pipeHeader, r.big)
	size := in.U64()
	attrs := readSection(&in)
	data = readSection(&in)
	readSection(&in) // event types, of old kernels
	r.attributes(all, attrs.of(all), size)
	if data.size == 0 && data.off < uint64(len(all)) { // perf writes the size at the end, and the features
		r.issue("perf record was ended before it could finish the recording: what it says of the machine and of build IDs is missing")
		return section{data.off, uint64(len(all)) - data.off}
	}
	at := bin.NewAt(all, data.off+min(data.size, ^data.off), r.big)
	for word := range uint64(featureBits / 64) {
		set := bin.NewAt(all, fileHeader-featureBits/8+8*word, r.big)
		for has := set.U64(); has != 0; has &= has - 1 {
			s := readSection(&at)
			if at.Err() != nil || s.off > uint64(len(all)) || s.size > uint64(len(all))-s.off {
				r.cut = true
				return data
			}
			r.feature(64*word+uint64(bits.TrailingZeros64(has)), s.of(all))
		}
	}
	return data
}

// attributes reads the section of attributes: of each event that was recorded perf_event_attr, and which IDs it has.
func (r *recording) attributes(all, list []byte, size uint64) {
	const ids = 16 // the section of IDs behind each attribute
	for size > ids && uint64(len(list)) >= size && len(r.attrs.list) < maxAttributes {
		in := bin.NewAt(list, size-ids, r.big)
		where := readSection(&in)
		r.attrs.add(readLayout(list[:size-ids], r.big), where.of(all), r.big)
		list = list[size:]
	}
}

// Features that are of use (tools/perf/util/header.h).
const featureBuildID, featureRelease, featureArch, featureEvents, featureDirectory = 2, 4, 6, 12, 24

// feature reads what the header says besides.
func (r *recording) feature(number uint64, data []byte) {
	in := bin.New(data, r.big)
	switch number {
	case featureArch:
		r.regs = registers{}
		r.machine = string(bytes.TrimRight(in.Bytes(uint64(in.U32())), "\x00"))
	case featureRelease:
		r.release = string(bytes.TrimRight(in.Bytes(uint64(in.U32())), "\x00"))
	case featureEvents:
		r.eventNames(&in)
	case featureFile:
		r.files = readFiles(data, r.big, readFile)
	case featureFile2:
		r.files = readFiles(data, r.big, readFileMessage)
	case featureDirectory:
		r.directory = true
	case featureBuildID:
		for n := 0; n < maxBuildIDs && in.Len() >= eventHeader; n++ {
			e := readEvent(&in)
			if e.body == nil {
				return
			}
			r.buildID(&e)
		}
	}
}

// The bit of a build ID's event that says how long the ID is; the longest is SHA-1's.
const buildIDSized, sha1 = 1 << 15, 20

// maxBuildIDs bounds the files whose build IDs are kept.
const maxBuildIDs = 1 << 16

// buildID reads the build ID of a file.
func (r *recording) buildID(e *event) {
	in := bin.New(e.body, r.big)
	in.Skip(4) // process
	id := in.Bytes(sha1)
	n := in.U8()
	in.Skip(3)
	if e.misc&buildIDSized != 0 && n <= sha1 && id != nil {
		id = id[:n]
	}
	name := in.CString()
	if in.Err() == nil && len(r.ids) < maxBuildIDs {
		r.ids[name] = bytes.Clone(id)
	}
}
