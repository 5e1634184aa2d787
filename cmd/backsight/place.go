//go:build !small

package main

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

// place finds the image address that words as bt prints them stand for: an address, SYMBOL[+OFFSET], or the binary's
// name with an offset; and the mode of the code there, by bit 0 of the address, else by the function that has the address.
func place(img *image.Image, where string, bias uint64) (pc uint64, mode cpu.Mode, err error) {
	name, offset := where, uint64(0)
	s, named := symbolNamed(img, where)
	function, plus, has := cutPlus(where)
	if has = has && !named; has {
		name = function
		offset, err = strconv.ParseUint(plus, 0, 64)
		s, named = symbolNamed(img, name)
	}
	v, notNumber := address(where)
	switch {
	case named && err != nil:
		return 0, 0, fmt.Errorf("PC %q: the offset is not a number", where)
	case named && s.Size > 0 && offset >= s.Size:
		return 0, 0, fmt.Errorf("PC %q: %s has %#x bytes", where, name, s.Size)
	case named:
		return s.Addr + offset, s.Mode, nil
	case has && err == nil && name == target.BaseName(img.Path):
		lo, _ := img.Segments.Bounds()
		v, bias = lo+offset, 0
	case notNumber:
		return 0, 0, fmt.Errorf("PC %q is neither an address nor a symbol of %s%s", where, img.Path, alike(img, name))
	}
	pc, mode = img.Arch.SplitCode(v - bias)
	if s, ok := img.Symbols.At(pc); ok && mode == 0 {
		mode = s.Mode
	}
	if img.Segments.Code(pc) == nil {
		return 0, 0, &failure{exitNone, fmt.Errorf("%s: no code at %#x%s", img.Path, v, biased(img, bias))}
	}
	return pc, mode, nil
}

// biased is a hint where an address of a running program may have been meant, but no load bias was given.
func biased(img *image.Image, bias uint64) string {
	if bias != 0 {
		return ""
	}
	lo, hi := img.Segments.Bounds()
	return fmt.Sprintf("; it lies from %#x to %#x. An address of a program that runs needs the load bias: %s@ADDR", lo, hi, img.Path)
}

func address(where string) (v uint64, wrong bool) {
	v, err := strconv.ParseUint(where, 0, 64)
	if err != nil {
		v, err = strconv.ParseUint(where, 16, 64)
	}
	return v, err != nil
}

// mostNames bounds the functions whose names are looked through.
const mostNames = 1 << 20

// symbolNamed is the function with a name as it is in the file, or as bt prints it.
func symbolNamed(img *image.Image, name string) (found image.Symbol, ok bool) {
	if found, ok = img.Symbols.Named(name); ok || !strings.ContainsAny(name, ":(") {
		return found, ok
	}
	names(img, func(s image.Symbol) bool {
		readable := symbol.Demangled(s.Name)
		if ok = readable == name || strings.HasPrefix(readable, name+"("); ok {
			found = s
		}
		return !ok
	})
	return found, ok
}

// names calls yield for the functions of an image, up to so many, until yield returns false.
func names(img *image.Image, yield func(image.Symbol) bool) {
	n := 0
	img.Symbols.Functions(func(addr uint64, _ cpu.Mode, _ uint64) bool {
		n++
		s, ok := img.Symbols.At(addr)
		return n <= mostNames && (!ok || yield(s))
	})
}

// alike is a hint at a function whose name differs from a given one in one place, by two letters at most: "mian" is main.
func alike(img *image.Image, name string) (hint string) {
	names(img, func(s image.Symbol) bool {
		if d := differ(s.Name, name); d <= 2 && 2*d <= len(name) {
			hint = fmt.Sprintf("\nDid you mean %s?", s.Name)
		}
		return hint == ""
	})
	return hint
}

// differ is how many letters two words have between what they begin and end with alike.
func differ(a, b string) int {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	for len(a) > 0 && len(b) > 0 && a[len(a)-1] == b[len(b)-1] {
		a, b = a[:len(a)-1], b[:len(b)-1]
	}
	return max(len(a), len(b))
}
