package firmware

import (
	"bytes"
	"fmt"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/hexfile"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/target"
)

// AddRAM adds the memory of the files that the user named to b. A file of plain bytes lies at
// the target address that the user stated. Intel HEX, S-records, TI-TXT and ELF cores, as
// debugging probes write them, have addresses of their own, to which a stated address is added.
// The issues say which files could not be used, and why.
func AddRAM(b *target.Builder, ram *input.RAM) (issues []target.Issue) {
	if ram == nil {
		return nil
	}
	for i := range ram.Regions {
		r := &ram.Regions[i]
		runs, texts := runsOf(r)
		for _, run := range runs {
			b.Add(r.Addr+run.Addr, run.Data, 0, target.PermUnknown)
		}
		for _, text := range texts {
			issues = append(issues, target.Issue{Kind: target.IssueCapture, Subject: r.Name, Text: r.Name + ": " + text})
		}
	}
	return issues
}

// runsOf is the content of a file, by its format: all of it in memory, for searches go through a microcontroller's.
func runsOf(r *input.Region) (runs []hexfile.Run, issues []string) {
	data := r.Pages.Bytes(0, r.Pages.Size())
	switch {
	case bytes.HasPrefix(data, []byte("\x7fELF")):
		return loaded(data)
	case hexfile.Sniff(data[:min(len(data), 512)]):
		m, err := hexfile.Parse(data)
		if err != nil {
			return nil, append(issues, err.Error()+"; not used")
		}
		return m.Runs, m.Issues
	case !r.Placed:
		return nil, append(issues, "where the memory lies is not stated (FILE@ADDR); not used")
	}
	return []hexfile.Run{{Data: data}}, nil
}

// loaded are the loaded segments of an ELF file, the form in which OpenOCD and pyOCD dump
// memory.
func loaded(data []byte) (runs []hexfile.Run, issues []string) {
	segments, err := elf.SegmentsOf(&image.File{Data: data})
	if err != nil {
		return nil, append(issues, err.Error()+"; not used")
	}
	for i, s := range segments {
		switch {
		case len(s.Data) == 0:
			issues = append(issues, fmt.Sprintf("loaded segment %d lies behind the end of the file; left out", i))
			continue
		case uint64(len(s.Data)) < s.FileSize:
			issues = append(issues, fmt.Sprintf("loaded segment %d is cut short, at %#x", i, s.Addr+uint64(len(s.Data))))
		}
		runs = append(runs, hexfile.Run{Addr: s.Addr, Data: s.Data})
	}
	return runs, issues
}
