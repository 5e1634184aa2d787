// Package espcore reads the core dumps of ESP-IDF, whose forms all have an ELF core file in them:
//
//	a partition of the flash    header of 12, 20 or 24 bytes, ELF, checksum; components/espcoredump/include/esp_core_dump_types.h
//	a log                       the same as lines of base64, with lines of others between
//	the ELF file                as esp-coredump writes it
//
// A task is a note NT_PRSTATUS, whose process ID is the address of the task's control block. On chips with Xtensa the callers of a
// task's place are listed by the windows that the device wrote to the stack.
package espcore

import (
	"context"

	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/target"
)

// Format describes this package to input.Open: a partition, or an ELF core.
func Format() input.Format {
	return input.Format{Name: "espcore", Sniff: sniff, Open: open}
}

func sniff(head []byte) bool {
	if _, at, ok := headerOf(head); ok && at+elfHead <= len(head) {
		return isELF(head[at:])
	}
	return isELF(head) && noteOfESP(head)
}

func open(ctx context.Context, c *input.Capture, env *input.Env) (input.Stream, error) {
	data, broken := c.Bytes(ctx)
	if data == nil {
		return nil, broken
	}
	d, why := read(data)
	if why != "" {
		return nil, &input.Error{Path: c.Name, Offset: 0, Reason: why}
	}
	snap, why := d.snapshot(env)
	if why != "" {
		return nil, &input.Error{Path: c.Name, Offset: 0, Reason: why}
	}
	if broken != nil {
		snap.Issues = append(snap.Issues, target.Issue{Kind: target.IssueCapture, Subject: c.Name, Text: broken.Error()})
	}
	return input.One(snap), nil
}
