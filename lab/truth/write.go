package truth

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"

	"github.com/backsight/backsight/cpu"
)

// Snapshot is a line of the snapshot format.
type Snapshot struct {
	Arch   string         `json:"arch"`
	Endian string         `json:"endian"`
	ABI    string         `json:"abi,omitempty"`
	Regs   map[string]Hex `json:"regs"`
	Memory []Segment      `json:"memory"`
}

// Segment is memory of a snapshot.
type Segment struct {
	Base  Hex    `json:"base"`
	Bytes []byte `json:"bytes"` // base64, as encoding/json has it
}

// NewSnapshot is a snapshot of arch without registers and memory.
func NewSnapshot(arch *cpu.Arch) *Snapshot {
	s := &Snapshot{Arch: arch.Name, ABI: arch.ABI, Endian: "little", Regs: map[string]Hex{}}
	if arch.BigEndian {
		s.Endian = "big"
	}
	return s
}

// Write writes what was recorded as the two files of a case in dir.
func Write(dir string, snaps []*Snapshot, answers []Answer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return errors.Join(writeLines(filepath.Join(dir, "snaps.jsonl.gz"), snaps), writeLines(filepath.Join(dir, "truth.jsonl.gz"), answers))
}

func writeLines[T any](path string, lines []T) error {
	return zip(path, func(w io.Writer) error {
		e := json.NewEncoder(w)
		for i := range lines {
			if err := e.Encode(lines[i]); err != nil {
				return err
			}
		}
		return nil
	})
}

// Compress writes the file at path to the file at to, which ends in .gz.
func Compress(path, to string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer in.Close()
	return zip(to, func(w io.Writer) error {
		_, err := io.Copy(w, in)
		return err
	})
}

// zip makes a .gz file of what fill writes.
func zip(path string, fill func(io.Writer) error) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	if err := fill(z); err != nil {
		return err
	}
	return z.Close()
}
