package corrupt

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/lab/truth"
	"github.com/backsight/backsight/target"
)

// object is one of JSON.
type object = map[string]any

// ofSnapshot writes a snapshot as JSON: registers, the begin of the stacks, binaries.
func ofSnapshot(name string, snap *target.Snapshot) (Seed, error) {
	s := Seed{Name: name, Files: []File{{Name: captureName}}}
	head := truth.NewSnapshot(snap.Arch)
	var threads, memory, images []object
	for i := range snap.Threads {
		t := &snap.Threads[i]
		threads = append(threads, object{"id": t.ID, "name": t.Name, "crashed": t.Crashed, "regs": registers(snap.Arch, &t.Regs)})
		sp, _ := t.Regs.Lookup(snap.Arch.SP)
		stack := snap.Memory.Bytes(sp)
		memory = append(memory, object{"base": truth.Hex(sp), "bytes": stack[:min(len(stack), stackMost)]})
	}
	for _, m := range snap.Modules {
		if m.Image == nil || !filepath.IsAbs(m.Image.Path) { // the vDSO is in the core
			continue
		}
		path, err := s.addProgram(m.Image.Path, programMost)
		if err != nil {
			return s, err
		}
		images = append(images, object{"path": path, "bias": truth.Hex(m.Bias)})
	}
	data, err := json.Marshal(object{"arch": head.Arch, "abi": head.ABI, "endian": head.Endian, "threads": threads, "memory": memory, "images": images})
	s.Files[0].Data = data
	return s, err
}

// registers are those that are known, by their names.
func registers(arch *cpu.Arch, regs *cpu.Registers) map[string]truth.Hex {
	all := map[string]truth.Hex{}
	for i := range arch.Regs {
		if v, ok := regs.Lookup(cpu.Reg(i)); ok {
			all[arch.Regs[i].Names[0]] = truth.Hex(v)
		}
	}
	return all
}

// addProgram adds a binary to the seed, to be corrupted unless it is too large, and
// returns the name that the capture has for it.
func (s *Seed) addProgram(path string, most int) (string, error) {
	name := filepath.Base(path)
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	if len(data) <= most {
		s.Files = append(s.Files, File{name, data})
		return name, nil
	}
	if s.Links == nil {
		s.Links = map[string]string{}
	}
	s.Links[name] = path
	return name, nil
}

// snapshotsEach is how many captures of a case of recorded truth become seeds.
const snapshotsEach = 2

// ofLines makes seeds of some of a case's captures; with the first the program is
// corrupted as well.
func ofLines(name string, text []byte, program string) (seeds []Seed, err error) {
	lines := bytes.Split(bytes.TrimSpace(text), []byte("\n"))
	for i := range min(snapshotsEach, len(lines)) {
		s := Seed{Name: name, Files: []File{{Name: captureName}}}
		capture, most := object{}, 0
		if err := json.Unmarshal(lines[i*len(lines)/snapshotsEach], &capture); err != nil {
			return nil, err
		}
		if i == 0 {
			most = coreMost
		}
		path, err := s.addProgram(program, most)
		if err != nil {
			return nil, err
		}
		capture["images"] = []object{{"path": path, "bias": truth.Hex(0)}}
		if s.Files[0].Data, err = json.Marshal(capture); err != nil {
			return nil, err
		}
		seeds = append(seeds, s)
	}
	return seeds, nil
}
