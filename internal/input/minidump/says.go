package minidump

import (
	"fmt"
	"strings"
	"unicode/utf16"

	"github.com/backsight/backsight/internal/bin"
)

// Types of the streams that say why a program stopped, in words.
const (
	crashpadInfo  = 0x4350_0001
	assertionInfo = 0x4767_0002
)

// says is what a dump says of the cause, a line each: the assertion that failed, and what libraries had left for crash reporters
// ("abort() called", dyld's errors).
func (d *dump) says() string {
	return strings.Join(append(d.assertion(), d.annotations()...), "\n")
}

// assertion is the stream of Breakpad's handlers for failed assertions: three texts of UTF-16, then a line.
func (d *dump) assertion() []string {
	const size = 128
	r := bin.New(d.stream(assertionInfo), d.big)
	var texts [3]string
	for i := range texts {
		var units [size]uint16
		for k := range units {
			units[k] = r.U16()
		}
		text, _, _ := strings.Cut(string(utf16.Decode(units[:])), "\x00")
		texts[i] = strings.ReplaceAll(text, "\n", " ")
	}
	line := r.U32()
	if r.Err() != nil || texts[0] == "" {
		return nil
	}
	return []string{fmt.Sprintf("assertion failed: %s, in %s, %s:%d", texts[0], texts[1], texts[2], line)}
}

// maxAnnotations bounds the messages of a dump.
const maxAnnotations = 64

// annotations are the messages of modules in Crashpad's stream (Crashpad, minidump_extensions.h).
//
//	MinidumpCrashpadInfo ─► a list of modules' information ─► a list of messages
func (d *dump) annotations() (lines []string) {
	r := bin.New(d.stream(crashpadInfo), d.big)
	r.Skip(44) // version, IDs of the report and the client, annotations of the process
	modules := bin.New(d.at(readLocation(&r)), d.big)
	for n := min(modules.U32(), maxModules); n > 0 && modules.Err() == nil; n-- {
		modules.Skip(4) // which module
		info := bin.New(d.at(readLocation(&modules)), d.big)
		info.Skip(4)
		list := bin.New(d.at(readLocation(&info)), d.big)
		for k := min(list.U32(), maxAnnotations); k > 0 && list.Err() == nil && len(lines) < maxAnnotations; k-- {
			if text := d.utf8(list.U32()); text != "" {
				lines = append(lines, strings.ReplaceAll(strings.TrimSpace(text), "\n", " "))
			}
		}
	}
	return lines
}

// utf8 is the MinidumpUTF8String at an offset: a number of bytes, then these.
func (d *dump) utf8(rva uint32) string {
	r := bin.NewAt(d.data, uint64(rva), d.big)
	n := r.U32()
	b := r.Bytes(uint64(bin.Limit(uint64(n), min(r.Len(), maxString))))
	if rva == 0 || r.Err() != nil || !d.room.names.Draw(len(b)) {
		return ""
	}
	return strings.ToValidUTF8(string(b), "\ufffd")
}
