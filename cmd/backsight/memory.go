//go:build !small

package main

import (
	"os"

	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/input"
	"github.com/backsight/backsight/internal/input/firmware"
	"github.com/spf13/pflag"
)

func (m *memoryFlags) add(f *pflag.FlagSet) {
	f.StringArrayVar(&m.ram, "ram", nil, "memory `FILE[@ADDR]` as the processor sees it untranslated, beside the capture or alone; repeatable")
	f.StringVar(&m.regs, "regs", "", "`FILE` with registers as a debugger or a probe prints them")
}

// check finds files that are not there, and a file of registers that has none: captures that have memory and
// registers of their own do not ask for them. A pipe is not looked into, for it can be read once.
func (m *memoryFlags) check(archs cpu.Set) error {
	for _, name := range m.ram {
		path := input.ParseNamedImage(name).Path
		if _, err := os.Stat(path); err != nil {
			return &failure{exitNone, fileError(path, err)}
		}
	}
	if m.regs == "" {
		return nil
	}
	info, err := os.Stat(m.regs)
	if err != nil {
		return &failure{exitNone, fileError(m.regs, err)}
	}
	if info.Mode().IsRegular() {
		if _, err := firmware.ReadRegisters(&input.Env{Archs: archs, Regs: m.regs}); err != nil {
			return &failure{exitNone, err}
		}
	}
	return nil
}
