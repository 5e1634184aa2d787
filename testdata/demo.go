// Package testdata has some of these captures for a demonstration: see README.md.
package testdata

import "embed"

// Demo has captures of programs as they crashed, and the programs in the folders modules: the files of devices.
//
//go:embed mips-deref/core.gz mips-deref/modules/usr x86_64-threads/core.gz x86_64-threads/modules/usr/bin
//go:embed aarch64-signal/core.gz aarch64-signal/modules/usr macos-core/core.gz
var Demo embed.FS
