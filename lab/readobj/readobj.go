// Package readobj compares what Backsight reads of a PE file's unwind information with what llvm-readobj --unwind writes of it:
//
//	RUNTIME_FUNCTION ─► internal/unwind/seh ─► notes of explain ─┐
//	                    llvm-readobj ─► text ─► the same words ──┴─► functions that differ
package readobj

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/pdata"
	"github.com/backsight/backsight/internal/stackwalk"
	"github.com/backsight/backsight/internal/unwind/seh"
)

// Compare counts the functions of a text, and lists those that the image's tables tell otherwise.
func Compare(img *image.Image, text io.Reader) (functions int, differ []string, err error) {
	entries, err := read(text)
	for i := range entries {
		want, got := entries[i].notes(), notes(img, entries[i].lo())
		if !slices.EqualFunc(want, got, same) {
			differ = append(differ, fmt.Sprintf("%s\n  llvm-readobj:\n    %s\n", strings.Join(got, "\n    "), strings.Join(want, "\n    ")))
		}
	}
	listed := 0
	pdata.Each(img, func(pdata.Function) bool {
		listed++
		return true
	})
	if listed != len(entries) {
		differ = append(differ, fmt.Sprintf("%d functions\n  llvm-readobj: %d\n", listed, len(entries)))
	}
	return len(entries), differ, err
}

// notes are what explain says of the entry of a function. Of a part the whole is not in the text; of a packed function the epilogue.
func notes(img *image.Image, lo uint64) (lines []string) {
	packed := false
	for _, line := range (seh.Source{}).Notes(&stackwalk.Query{Image: img, Arch: img.Arch, PC: lo}) {
		line, _, _ = strings.Cut(line, ", part of")
		packed = packed || strings.HasPrefix(line, "packed")
		if !packed || !strings.HasPrefix(line, "epilogue") {
			lines = append(lines, line)
		}
	}
	return lines
}

// same compares two lines. Where the only epilogue is, follows from its length, which the text does not say.
func same(want, got string) bool {
	if codes, ok := strings.CutPrefix(want, "epilogue: "); ok {
		_, got, _ = strings.Cut(got, ": ")
		want = codes
	}
	return want == got
}
