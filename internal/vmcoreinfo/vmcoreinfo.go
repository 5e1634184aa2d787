// Package vmcoreinfo reads VMCOREINFO, the text in which a Linux kernel says for dump tools
// which kernel it is, and where some of its symbols lie (Documentation/admin-guide/kdump/
// vmcoreinfo.rst). A dump has it in a note; it lies in memory in any case.
package vmcoreinfo

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// Info is the text, by key: "OSRELEASE", "SYMBOL(_stext)", "NUMBER(VA_BITS)".
type Info map[string]string

// maxText bounds the text: a page, in which the kernel writes it (VMCOREINFO_BYTES), of
// 64 KB at most.
const maxText = 64 << 10

// Key begins the text: the kernel's release.
const Key = "OSRELEASE="

// Parse reads lines KEY=VALUE up to the first byte that is no text. nil where the data does
// not begin with a release: the kernel holds the format "OSRELEASE=%s", too.
func Parse(data []byte) Info {
	data = data[:min(len(data), maxText)]
	if n := bytes.IndexFunc(data, func(r rune) bool { return r != '\n' && (r < ' ' || r > '~') }); n >= 0 {
		data = data[:n]
	}
	if !bytes.HasPrefix(data, []byte(Key)) || len(data) == len(Key) || data[len(Key)] < '0' || data[len(Key)] > '9' {
		return nil
	}
	info := make(Info)
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), "=")
		if _, twice := info[key]; ok && !twice {
			info[key] = value
		}
	}
	return info
}

// Release is what uname -r prints.
func (i Info) Release() string { return i["OSRELEASE"] }

// CrashTime is when the kernel crashed, "" where it did not.
func (i Info) CrashTime() string {
	seconds, err := strconv.ParseInt(i["CRASHTIME"], 10, 64)
	if err != nil || seconds <= 0 {
		return ""
	}
	return time.Unix(seconds, 0).UTC().Format(time.RFC3339)
}

// Symbol is the address of a symbol.
func (i Info) Symbol(name string) (uint64, bool) { return hex(i["SYMBOL("+name+")"]) }

// Symbols calls yield for every address that the text gives.
func (i Info) Symbols(yield func(name string, addr uint64)) {
	for key, value := range i {
		name, ok := strings.CutPrefix(key, "SYMBOL(")
		if addr, number := hex(value); ok && number {
			yield(strings.TrimSuffix(name, ")"), addr)
		}
	}
}

// Number is a NUMBER: decimal, or hexadecimal with 0x.
func (i Info) Number(name string) (uint64, bool) { return number(i["NUMBER("+name+")"]) }

// Offset is the offset of a field, such as "list_head.prev".
func (i Info) Offset(field string) (uint64, bool) { return number(i["OFFSET("+field+")"]) }

// Size is the size of a structure.
func (i Info) Size(name string) (uint64, bool) { return number(i["SIZE("+name+")"]) }

// Has tells whether a configuration option is set: "CONFIG_ARM_LPAE=y".
func (i Info) Has(config string) bool { return i["CONFIG_"+config] == "y" }

// KernelOffset is by how much the kernel was moved from where it is linked (KASLR).
func (i Info) KernelOffset() (uint64, bool) { return hex(i["KERNELOFFSET"]) }

// PageSize is PAGESIZE, 4096 where it is missing or absurd.
func (i Info) PageSize() uint64 {
	if v, ok := number(i["PAGESIZE"]); ok && v&(v-1) == 0 && v >= 4096 && v <= 64<<10 {
		return v
	}
	return 4096
}

func hex(s string) (uint64, bool) {
	v, err := strconv.ParseUint(s, 16, 64)
	return v, err == nil
}

func number(s string) (uint64, bool) {
	v, err := strconv.ParseUint(s, 0, 64)
	if err != nil {
		signed, err := strconv.ParseInt(s, 0, 64)
		return uint64(signed), err == nil
	}
	return v, true
}
