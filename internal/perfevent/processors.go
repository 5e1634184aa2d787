//go:build linux

package perfevent

import (
	"runtime"
	"strconv"
	"strings"
)

// maxProcessors is the most that Linux has (CONFIG_NR_CPUS).
const maxProcessors = 1 << 13

// processors are the numbers in a list of Linux' (0-3,5), or the first ones, as many as this process may run on, where that is none.
func processors(list string) (numbers []int) {
	for part := range strings.SplitSeq(strings.TrimSpace(list), ",") {
		first, last, several := strings.Cut(part, "-")
		if !several {
			last = first
		}
		lo, err := strconv.Atoi(first)
		hi, wrong := strconv.Atoi(last)
		if err != nil || wrong != nil || hi >= maxProcessors {
			numbers = nil
			break
		}
		for n := lo; n <= hi; n++ {
			numbers = append(numbers, n)
		}
	}
	if numbers == nil {
		for n := range runtime.NumCPU() {
			numbers = append(numbers, n)
		}
	}
	return numbers
}
