//go:build small

package input

// compressions are what every system can make.
func compressions() []compression { return []compression{{"\x1f\x8b", openGzip}} }
