package ehabi

import (
	"bufio"
	"bytes"
	"fmt"
	"maps"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/internal/cpu/arm"
	"github.com/backsight/backsight/internal/image/elf"
	"github.com/backsight/backsight/internal/synth/recorded"
	"github.com/backsight/backsight/unwind"
)

// TestReadelf compares every entry of some programs and libraries with what
// readelf -u prints. It does not decode entries of other personality routines.
func TestReadelf(t *testing.T) {
	readelf, err := exec.LookPath("arm-linux-gnueabihf-readelf")
	if err != nil {
		t.Skip("no arm-linux-gnueabihf-readelf")
	}
	files := slices.Sorted(maps.Values(recorded.Programs(t, "arm*/*-O2", "stripped")))
	for _, lib := range []string{"libc.so.6", "libstdc++.so.6"} {
		out, err := exec.Command("arm-linux-gnueabihf-gcc", "-print-file-name="+lib).Output()
		if path := strings.TrimSpace(string(out)); err == nil && filepath.IsAbs(path) {
			files = append(files, path)
		}
	}
	for _, path := range files {
		img, err := elf.Open(path, image.Options{Archs: arm.Archs(), NoDebugFiles: true})
		if err != nil {
			t.Error(err)
			continue
		}
		out, err := exec.Command(readelf, "-uW", path).Output()
		if err != nil {
			t.Error(path, err)
		}
		n := 0
		for _, e := range listing(out) {
			if e.known && compare(t, img, &e) {
				n++
			}
		}
		t.Log(filepath.Base(path), n, "entries")
		img.Close()
	}
}

func compare(t *testing.T, img *image.Image, e *entry) bool {
	t.Helper()
	got, v := ask(img, e.function)
	want, ok := e.rule()
	switch {
	case !ok:
		return false
	case v != unwind.Found || got != want:
		t.Errorf("%s: %#x: %v %s, want %s", img.Path, e.function, v, got, want)
	}
	return true
}

// entry is one function of a listing.
type entry struct {
	function uint64
	steps    []string
	known    bool // the bytecodes are listed
}

var (
	headLine = regexp.MustCompile(`^(0x[0-9a-f]+)(?: <.*>)?: `)
	stepLine = regexp.MustCompile(`^  0x[0-9a-f ]*?(?:0x[0-9a-f]{2} )*\s*(pop .*|vsp = .*|finish)$`)
	vspStep  = regexp.MustCompile(`vsp = vsp ([+-]) (\d+)`)
	regStep  = regexp.MustCompile(`vsp = r(\d+)`)
)

func listing(out []byte) (entries []entry) {
	for s := bufio.NewScanner(bytes.NewReader(out)); s.Scan(); {
		line := s.Text()
		if m := headLine.FindStringSubmatch(line); m != nil {
			fn, _ := strconv.ParseUint(m[1], 0, 64)
			entries = append(entries, entry{function: fn})
		} else if n := len(entries); n > 0 && strings.Contains(line, "Compact model index") {
			entries[n-1].known = true
		} else if m := stepLine.FindStringSubmatch(line); m != nil && n > 0 {
			entries[n-1].steps = append(entries[n-1].steps, m[1])
		}
	}
	return entries
}

// rule carries the steps out with text and numbers only.
func (e *entry) rule() (string, bool) {
	base, vsp := "sp", 0
	slots := map[int]int{}
	for _, s := range e.steps {
		if m := vspStep.FindStringSubmatch(s); m != nil {
			n, _ := strconv.Atoi(m[1] + m[2])
			vsp += n
		} else if m := regStep.FindStringSubmatch(s); m != nil {
			if len(slots) != 0 {
				return "", false
			}
			base, vsp = "r"+m[1], 0
		} else if list, ok := strings.CutPrefix(s, "pop {"); ok {
			for _, r := range strings.Split(strings.TrimSuffix(list, "}"), ", ") {
				if r[0] == 'D' {
					vsp += 8 * doubles(r)
					continue
				}
				n, _ := strconv.Atoi(r[1:])
				slots[n] = vsp
				vsp += 4
			}
		}
	}
	if len(slots) == 16 {
		return "", false // a signal context
	}
	text := "CFA=" + base
	if vsp != 0 {
		text += fmt.Sprintf("%+d", vsp)
	}
	if at, ok := slots[14]; ok {
		text += fmt.Sprintf(" RA=[CFA%+d]", at-vsp)
	} else {
		text += " RA=lr"
	}
	for n := range 13 {
		if at, ok := slots[n]; ok {
			text += fmt.Sprintf(" r%d=[CFA%+d]", n, at-vsp)
		}
	}
	return text, true
}

// doubles counts the registers of "D8" or "D8-D11".
func doubles(r string) int {
	var first, last int
	if n, _ := fmt.Sscanf(r, "D%d-D%d", &first, &last); n == 2 {
		return last - first + 1
	}
	return 1
}
