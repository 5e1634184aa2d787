package record

import (
	"compress/gzip"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/lab/truth"
)

// snapshot is a line of the snapshot format.
type snapshot struct {
	Arch   string               `json:"arch"`
	Endian string               `json:"endian"`
	ABI    string               `json:"abi,omitempty"`
	Regs   map[string]truth.Hex `json:"regs"`
	Memory []segment            `json:"memory"`
}

type segment struct {
	Base  truth.Hex `json:"base"`
	Bytes []byte    `json:"bytes"` // base64, as encoding/json has it
}

func newSnapshot(arch *cpu.Arch, regs *cpu.Registers) *snapshot {
	s := &snapshot{Arch: arch.Name, ABI: arch.ABI, Endian: "little", Regs: map[string]truth.Hex{}}
	if arch.BigEndian {
		s.Endian = "big"
	}
	for set := regs.Known; set != 0; set = set.Without(set.First()) {
		s.Regs[arch.RegName(set.First())] = truth.Hex(regs.Val[set.First()])
	}
	return s
}

// writeCase writes what was recorded as the two files of a case.
func writeCase(dir string, snaps []*snapshot, answers []truth.Answer) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return errors.Join(writeLines(filepath.Join(dir, "snaps.jsonl.gz"), snaps), writeLines(filepath.Join(dir, "truth.jsonl.gz"), answers))
}

func writeLines[T any](path string, lines []T) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	z, err := gzip.NewWriterLevel(f, gzip.BestCompression)
	if err != nil {
		return err
	}
	e := json.NewEncoder(z)
	for i := range lines {
		if err := e.Encode(lines[i]); err != nil {
			return err
		}
	}
	return z.Close()
}
