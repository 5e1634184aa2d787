package main

import (
	"context"
	"flag"
	"fmt"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"

	"github.com/backsight/backsight/lab/hostile"
)

// runMemory prints the peak memory of bt over captures, a line for each folder.
func runMemory(args []string) error {
	fs := flag.NewFlagSet("memory", flag.ExitOnError)
	command := fs.String("backsight", "backsight", "the command")
	sysroot := fs.String("sysroot", "", "the sysroot of all captures")
	if err := fs.Parse(args); err != nil {
		return err
	}
	folders := make(map[string][]peak)
	for _, path := range fs.Args() {
		st, err := os.Stat(path)
		if err != nil {
			return err
		}
		bt := []string{"bt"}
		if *sysroot != "" {
			bt = append(bt, "--sysroot", *sysroot)
		}
		cost, err := hostile.Measure(context.Background(), ".", st.Size(), math.MaxInt64, *command, append(bt, path)...)
		if err != nil {
			return err
		}
		dir := filepath.Dir(path)
		folders[dir] = append(folders[dir], peak{path, cost})
	}
	fmt.Println("| folder | captures | largest, MB | median of peaks, MB | highest peak, MB | of |\n|---|---|---|---|---|---|")
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		all := folders[dir]
		largest := slices.MaxFunc(all, func(a, b peak) int { return int(a.cost.Input - b.cost.Input) })
		slices.SortFunc(all, func(a, b peak) int { return int(a.cost.Memory - b.cost.Memory) })
		last := all[len(all)-1]
		fmt.Printf("| %s | %d | %.1f | %d | %d | %s |\n", dir, len(all), float64(largest.cost.Input)/(1<<20), all[len(all)/2].cost.Memory>>20, last.cost.Memory>>20, filepath.Base(last.path))
	}
	return nil
}

// peak is what bt cost over a capture.
type peak struct {
	path string
	cost hostile.Cost
}
