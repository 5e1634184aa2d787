package cfi_test

import (
	"github.com/backsight/backsight/cpu"
	"github.com/backsight/backsight/image"
)

// noSymbols is the rest of a container that has sections only.
type noSymbols struct{}

func (noSymbols) SymbolAt(uint64) (image.Symbol, bool)          { return image.Symbol{}, false }
func (noSymbols) SymbolNamed(string) (image.Symbol, bool)       { return image.Symbol{}, false }
func (noSymbols) Functions(func(uint64, cpu.Mode, uint64) bool) {}
func (noSymbols) Close() error                                  { return nil }

// sections is a container made of named sections.
type sections struct {
	noSymbols
	list []image.Section
}

func (c sections) Section(name string) (image.Section, bool) {
	for _, s := range c.list {
		if s.Name == name {
			return s, true
		}
	}
	return image.Section{}, false
}
