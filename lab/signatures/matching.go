package signatures

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/backsight/backsight"
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/code/matching"
	"github.com/backsight/backsight/internal/study"
	"github.com/backsight/backsight/symbol"
	"github.com/backsight/backsight/target"
)

// matched counts what was said of two builds, and what of that is right.
type matched struct {
	pairs, said, right    int // functions of both builds; said to be the same; and are
	places, found, onLine int // return addresses in functions of both builds; found; and on the line of the source
}

func (m *matched) add(o matched) {
	m.pairs, m.said, m.right = m.pairs+o.pairs, m.said+o.said, m.right+o.right
	m.places, m.found, m.onLine = m.places+o.places, m.found+o.found, m.onLine+o.onLine
}

// Matching builds the programs in dir as builds say and matches the functions of each build with those of the first, all of them
// stripped. What is right the symbols and the lines say that were stripped.
func Matching(ctx context.Context, sources []string, dir string) (string, error) {
	files := backsight.NewFiles(input.FileOptions{})
	defer files.Close()
	sums := make([]matched, len(builds))
	for _, source := range sources {
		var first [2]*image.Image
		for i := range builds {
			pair, err := stripped(ctx, files, &builds[i], source, filepath.Join(dir, fmt.Sprintf("%s.%d", filepath.Base(source), i)))
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: %v\n", builds[i].Name, err)
				continue
			}
			if i == 0 {
				first = pair
			}
			if first[0] == nil {
				break
			}
			m, err := compare(ctx, first, pair)
			if err != nil {
				return "", err
			}
			sums[i].add(m)
		}
	}
	return matchingTable(sums), nil
}

// stripped builds a program twice, with symbols and stripped. Each build has a build ID of its own, or equal ones would be matched by that.
func stripped(ctx context.Context, files *input.Files, b *Build, source, exe string) (pair [2]*image.Image, err error) {
	plain := *b
	plain.Flags, plain.Strip = append([]string{"-g", "-Wl,--build-id=none"}, b.Flags...), false
	if err := plain.build(ctx, source, exe); err != nil {
		return pair, err
	}
	if out, err := exec.CommandContext(ctx, "strip", "-o", exe+".stripped", exe).CombinedOutput(); err != nil {
		return pair, fmt.Errorf("%w: %s", err, out)
	}
	for i, path := range []string{exe, exe + ".stripped"} {
		if pair[i], err = files.Open(path); err != nil {
			return pair, err
		}
	}
	return pair, nil
}

// compare matches two stripped builds.
func compare(ctx context.Context, old, new [2]*image.Image) (sum matched, err error) {
	m, err := study.MatchBuilds(ctx, old[1], new[1])
	if err != nil {
		return sum, err
	}
	oldNames, newNames := functions(old[0]), functions(new[0])
	inNew := map[string]bool{}
	for _, name := range newNames {
		inNew[name] = true
	}
	for _, name := range oldNames {
		if inNew[name] {
			sum.pairs++
		}
	}
	for _, p := range m.Pairs() {
		if p.Old == nil || oldNames[p.Old.Entry] == "" {
			continue
		}
		if p.New != nil && newNames[p.New.Entry] != "" {
			sum.said++
			sum.right += int(one(oldNames[p.Old.Entry] == newNames[p.New.Entry]))
		}
		if inNew[oldNames[p.Old.Entry]] {
			sum.look(m, p.Old, old[0], new[0])
		}
	}
	return sum, nil
}

// look asks where the return addresses of an old function are in the new build.
func (s *matched) look(m *matching.Match, f *matching.Function, old, new *image.Image) {
	list := m.Old.Places(f)
	for i := range list[:max(len(list), 1)-1] {
		if uint32(list[i].Kind) != uint32(cpu.OpCall) {
			continue
		}
		s.places++
		ra := list[i+1].PC
		if found, ok := m.Find(ra); ok && found.Same {
			s.found++
			s.onLine += int(one(line(old, ra-1) == line(new, found.PC-1)))
		}
	}
}

// functions are the names of an image's functions by where they begin; those that two have are left out.
func functions(img *image.Image) map[uint64]string {
	count, names := map[string]int{}, map[uint64]string{}
	img.Symbols.Functions(func(addr uint64, _ cpu.Mode, size uint64) bool {
		if s, ok := img.Symbols.At(addr); ok && s.Addr == addr && size > 0 {
			count[s.Name]++
			names[addr] = s.Name
		}
		return true
	})
	for addr, name := range names {
		if count[name] > 1 {
			delete(names, addr)
		}
	}
	return names
}

// line is the line of the function's source that an image address is of, and which functions were inlined there. Their own lines do not
// count: another release of a compiler has other headers.
func line(img *image.Image, pc uint64) string {
	var names symbol.Symbolizer
	l := names.Lookup(target.NewModule(img.Path, img, 0), pc)
	at := fmt.Sprintf("%s:%d", l.File, l.Line)
	for i := range l.Inlines {
		at = l.Inlines[i].Function + " in " + at
	}
	return at
}

func matchingTable(sums []matched) string {
	var b strings.Builder
	b.WriteString("| build | functions of both | precision | recall | return addresses | found by the same instructions | of these on the same line |\n|---|---|---|---|---|---|---|\n")
	for i, s := range sums {
		fmt.Fprintf(&b, "| %s | %d | %.3f | %.3f | %d | %.2f | %.3f |\n", strings.TrimSuffix(builds[i].Name, ", stripped"), s.pairs,
			float64(s.right)/float64(max(s.said, 1)), float64(s.right)/float64(max(s.pairs, 1)), s.places,
			float64(s.found)/float64(max(s.places, 1)), float64(s.onLine)/float64(max(s.found, 1)))
	}
	return b.String()
}
